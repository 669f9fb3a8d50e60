// The types of applications, which are the OAuth clients of a user domain.
import type { Permission, RoleName } from '@switchyard/contract';
import type { EntityType, SigningAlgorithm, Status } from '../realms-and-keys/realm-types.ts';

/** `PendingApproval`: an application with rights to payments gets no token before the approval. */
export type ApplicationStatus = Status | 'PendingApproval';

export type SecurityFlow = 'AuthorizationCode' | 'ClientCredentials' | 'Password';

export type ApplicationType = 'Application' | 'CloudApiApplication';

/** The `error` parameter of a failed callback: the error code of RFC 6749, or the HTTP status. */
export type CallbackErrorFormat = 'Rfc6749' | 'HttpCode';

/** The `typ` header of an access token; `at+jwt` is defined by RFC 9068, 2.1. */
export type AccessTokenType = 'JWT' | 'at+jwt';

export type Application = {
  readonly organizationId: string;
  readonly clientId: string;
  /** The `sub` of the tokens that the application gets for itself. */
  readonly serviceAccountId: string;
  readonly name: string;
  readonly description?: string | undefined;
  readonly type: ApplicationType;
  readonly entityType: EntityType;
  /** The organisation (tenant) or the merchant for which it acts. */
  readonly entityId: string;
  /** Restricts its tokens to this store. */
  readonly storeId?: string | undefined;
  readonly roles: readonly RoleName[];
  readonly permissions: readonly Permission[];
  readonly securityFlows: readonly SecurityFlow[];
  readonly redirectUris: readonly string[];
  readonly webOrigins: readonly string[];
  /** Names of the services that it uses. */
  readonly services: readonly string[];
  readonly callbackError: CallbackErrorFormat;
  readonly accessTokenSeconds?: number | undefined;
  /** Default: RS256 for users, ES256 for the application itself and for devices. */
  readonly accessTokenAlgorithm?: SigningAlgorithm | undefined;
  readonly accessTokenType: AccessTokenType;
  /** SHA-256 of the client secret; missing for a public client. */
  readonly secretHash?: Buffer | undefined;
  readonly status: ApplicationStatus;
};

/** An application with the version and timestamps of its row. */
export type ApplicationRecord = Application & {
  readonly version: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly secretChangedAt?: number | undefined;
};

/** With the time of its last token request or API call, to within a minute. */
export type ApplicationWithLastUse = ApplicationRecord & {
  readonly lastUsedAt?: number | undefined;
};
