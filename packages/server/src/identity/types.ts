// The nouns of identity: user domains, applications, signing keys.
import type { KeyObject } from 'node:crypto';
import type { Permission, RoleName } from '@switchyard/contract';
import type { JWK } from 'jose';

export type Status = 'Enabled' | 'Disabled';
/** Without an approval, an application with rights to payments gets no token. */
export type ApplicationStatus = Status | 'PendingApproval';

export type UserDomain = {
  readonly userDomainId: string;
  readonly organizationId: string;
  readonly status: Status;
};

export type EntityType = 'tenant' | 'merchant';
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
export type UsedApplication = ApplicationRecord & { readonly lastUsedAt?: number | undefined };

export type SigningAlgorithm = 'ES256' | 'RS256';

export type SealedKey = {
  readonly keyId: string;
  readonly algorithm: SigningAlgorithm;
  readonly privateSealed: Buffer;
  /** Epoch milliseconds. */
  readonly activeFrom: number;
  readonly retireAt?: number;
};

export type RealmKey = {
  readonly keyId: string;
  readonly algorithm: SigningAlgorithm;
  readonly activeFrom: number;
  readonly privateJwk: JWK;
  readonly publicKey: KeyObject;
};

/** What ended before its time, as far as a list of it goes. */
export type Revoked = {
  /** Of access tokens, and of the sign-ins that they come from. */
  readonly ids: ReadonlySet<string>;
  /** A token that ends later is in the list where it was revoked. Epoch milliseconds; 0 where all are. */
  readonly unlistedUntil: number;
  readonly hasUnlistedFamilies: boolean;
};

export type Realm = UserDomain & {
  readonly issuer: string;
  /** Every key that still verifies, by its id. */
  readonly keys: ReadonlyMap<string, RealmKey>;
  readonly signing: Readonly<Record<SigningAlgorithm, RealmKey>>;
  /** Of its refresh tokens; in no JWKS. */
  readonly refreshKey: KeyObject;
  readonly revoked: Revoked;
};

/** The members of the hardware are there together, and missing where the place is empty. */
export type FoundDevice = {
  readonly logicalDeviceId: string;
  readonly storeId: string;
  readonly merchantId: string;
  readonly physicalDeviceId?: string;
  readonly serialNumber?: string;
  readonly make?: string;
  readonly model?: string;
  readonly family?: string;
};

/** Provisioning's: undefined where the device is unknown, another merchant's, or disabled. */
export type FindDevice = (
  organizationId: string,
  merchantId: string | undefined,
  nameOrId: string,
) => Promise<FoundDevice | undefined>;
