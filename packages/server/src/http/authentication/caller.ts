// The authenticated caller of a request, from a verified access token or session.
import type { Permission } from '@switchyard/contract';

export type Caller = {
  readonly subject: string;
  readonly clientId: string;
  /** The user of the token; absent for a token of client credentials. */
  readonly userId?: string;
  /** The user domain; empty when the organisation has none. */
  readonly realm: string;
  readonly organizationId: string;
  /** The caller's own organisation, when the request acts on behalf of an organisation below it. */
  readonly homeOrganizationId?: string;
  readonly entityType: 'tenant' | 'merchant';
  readonly entityId: string;
  readonly merchantId?: string;
  readonly storeId?: string;
  /** The logical device of the token. */
  readonly deviceId?: string;
  readonly permissions: ReadonlySet<Permission>;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly tokenId: string;
  /** The identifier of the realm key that signed the token. */
  readonly keyId?: string;
  /** For a token of a user: its sign-in, and the time of issue in epoch milliseconds. */
  readonly signInId?: string;
  readonly issuedAt?: number;
  /** The key of rate limits, when it is not the client: a user of the portal. */
  readonly limitKey?: string;
};

/** The merchant whose data a caller sees; undefined when the caller sees the whole organisation. */
export const merchantOf = ({ entityType, entityId, merchantId }: Caller): string | undefined =>
  entityType === 'merchant' ? entityId : merchantId;

/** The key of a client in rate limits: a client id is unique within its organisation only. */
export const clientKeyOf = ({
  organizationId,
  clientId,
}: Pick<Caller, 'organizationId' | 'clientId'>): string => `${organizationId}/${clientId}`;

/** The client certificate of the connection, for tokens that are bound to one (RFC 8705). */
export type PresentedCertificate = {
  /** Undefined when the connection has no certificate or an invalid one. */
  thumbprint(): string | undefined | Promise<string | undefined>;
};

/** @throws ProblemError token_invalid, token_expired */
export type VerifyToken = {
  (token: string, presented: PresentedCertificate): Promise<Caller>;
  /** Verifies the same token repeatedly. */
  readonly prepare?: (token: string) => (presented: PresentedCertificate) => Promise<Caller>;
  /** Whether this process has verified the token before, which costs nothing to check. */
  readonly isVerified?: (token: string) => boolean;
};
