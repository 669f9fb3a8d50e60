// The types of applications, which are the OAuth clients of a user domain.
import type { Permission, RoleName } from '@switchyard/contract';
import type { EntityType, SigningAlgorithm, Status } from '../realms-and-keys/realm.ts';

/** Without an approval, an application with rights to payments gets no token. */
export type ApplicationStatus = Status | 'PendingApproval';

export type SecurityFlow = 'AuthorizationCode' | 'ClientCredentials' | 'Password';

export type ApplicationType = 'Application' | 'CloudApiApplication';

/** What `error` says in the callback of a failed sign-in: RFC 6749's word, or the HTTP error code. */
export type CallbackError = 'Rfc6749' | 'HttpCode';

/** `typ` in the header of an access token; `at+jwt` is that of RFC 9068, 2.1. */
export type AccessTokenType = 'JWT' | 'at+jwt';

export type Application = {
  readonly organizationId: string;
  readonly clientId: string;
  /** `sub` of the tokens that the application gets for itself. */
  readonly serviceAccountId: string;
  readonly name: string;
  readonly description?: string | undefined;
  readonly type: ApplicationType;
  readonly entityType: EntityType;
  /** The organisation (tenant) or the merchant that it acts for. */
  readonly entityId: string;
  /** Its tokens are good for this store alone. */
  readonly storeId?: string | undefined;
  readonly roles: readonly RoleName[];
  readonly permissions: readonly Permission[];
  readonly securityFlows: readonly SecurityFlow[];
  readonly redirectUris: readonly string[];
  readonly webOrigins: readonly string[];
  /** Names of services that it was made for. */
  readonly services: readonly string[];
  readonly callbackError: CallbackError;
  readonly accessTokenSeconds?: number | undefined;
  /** Left out: RS256 for users, ES256 for itself and for devices. */
  readonly accessTokenAlgorithm?: SigningAlgorithm | undefined;
  readonly accessTokenType: AccessTokenType;
  /** SHA-256 of the secret; a public client has none. */
  readonly secretHash?: Buffer | undefined;
  readonly status: ApplicationStatus;
};

/** An application with what its row tells of its history. */
export type ApplicationRecord = Application & {
  readonly version: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly secretChangedAt?: number | undefined;
};

/** With the time when it last got a token or sent one, to within a minute. */
export type ApplicationWithLastUse = ApplicationRecord & {
  readonly lastUsedAt?: number | undefined;
};
