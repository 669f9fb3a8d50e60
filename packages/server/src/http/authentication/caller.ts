// Who stands behind a request: the facts of a verified access token.
import type { Permission } from '@switchyard/contract';

export type Caller = {
  readonly subject: string;
  readonly clientId: string;
  /** The user, where the token was given to one; without it the application acts for itself. */
  readonly userId?: string;
  /** The user domain; empty where the organisation that is acted in has none. */
  readonly realm: string;
  readonly organizationId: string;
  /** The caller's own organisation, where the request acts in one below it. */
  readonly homeOrganizationId?: string;
  readonly entityType: 'tenant' | 'merchant';
  readonly entityId: string;
  readonly merchantId?: string;
  readonly storeId?: string;
  /** The logical device that the token was given to. */
  readonly deviceId?: string;
  readonly permissions: ReadonlySet<Permission>;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly tokenId: string;
  /** The key of the realm that signed the token. */
  readonly keyId?: string;
  /** Of a person's token: the sign-in that it comes from, and when it was given, in epoch milliseconds. */
  readonly signInId?: string;
  readonly issuedAt?: number;
  /** Whom limits count, where that is not the client: a person of the portal. */
  readonly limitKey?: string;
};

/** The merchant whose data a caller sees; undefined where it sees those of the whole organisation. */
export const merchantOf = ({ entityType, entityId, merchantId }: Caller): string | undefined =>
  entityType === 'merchant' ? entityId : merchantId;

/** By which a client is counted: its identifier is unique within its organisation alone. */
export const clientKeyOf = ({
  organizationId,
  clientId,
}: Pick<Caller, 'organizationId' | 'clientId'>): string => `${organizationId}/${clientId}`;

/** What the connection itself proves, for tokens that are bound to a certificate (RFC 8705). */
export type PresentedCertificate = {
  /** Nothing where no certificate was shown, or one that is not good now. */
  thumbprint(): string | undefined | Promise<string | undefined>;
};

/** Throws a Refusal `token_invalid` or `token_expired`. */
export type VerifyToken = {
  (token: string, presented: PresentedCertificate): Promise<Caller>;
  /** The same for who asks about one token again and again. */
  readonly prepare?: (token: string) => (presented: PresentedCertificate) => Promise<Caller>;
  /** Whether it was found good here: whose it is costs nothing. */
  readonly isVerified?: (token: string) => boolean;
};
