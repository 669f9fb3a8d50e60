// The types of user domains, which OAuth calls realms, and of their signing keys.
import type { KeyObject } from 'node:crypto';
import type { JWK } from 'jose';

export type Status = 'Enabled' | 'Disabled';
export type EntityType = 'tenant' | 'merchant';

export type UserDomain = {
  readonly userDomainId: string;
  readonly organizationId: string;
  readonly status: Status;
};

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

/** The access tokens and refresh-token families that were revoked before their expiry. */
export type RevocationList = {
  /** Identifiers of access tokens and of refresh-token families. */
  readonly ids: ReadonlySet<string>;
  /** The list is complete for tokens that expire later than this. Epoch milliseconds; 0: complete. */
  readonly unlistedUntil: number;
  readonly hasUnlistedFamilies: boolean;
};

export type Realm = UserDomain & {
  readonly issuer: string;
  /** Every key that still verifies, by its id. */
  readonly keys: ReadonlyMap<string, RealmKey>;
  readonly signing: Readonly<Record<SigningAlgorithm, RealmKey>>;
  /** The HMAC key of refresh tokens; no JWKS contains it. */
  readonly refreshKey: KeyObject;
  readonly revoked: RevocationList;
};
