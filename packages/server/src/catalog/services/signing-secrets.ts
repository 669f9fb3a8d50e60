// Creates and opens the keys that sign calls to providers: encrypted at rest, shown only once.
import { createHmac, type KeyObject } from 'node:crypto';
import {
  type Clock,
  createWebhookKeyPair,
  dayMs,
  decryptBytes,
  deriveKey,
  encryptBytes,
  formatWebhookSecret,
  type Ids,
  listKeysStillSigning,
} from '../../platform/index.ts';
import type { SigningSecretRecord } from './service-sql.ts';

const keyBytes = 32;
/** For this time, calls carry the signature of the old key too. */
export const secretOverlapMs = dayMs;

const additionalData = (serviceId: string) => `catalogue service ${serviceId}`;

/** A provider receives the secret that checks `v1` and the public key that checks `v1a`. */
export type SigningCredentials = {
  readonly signingSecret: string;
  readonly verificationKey: string;
};

export type SigningKeys = {
  readonly keys: readonly Buffer[];
  readonly privateKeys: readonly KeyObject[];
};

export type SigningSecrets = {
  create(serviceId: string): SigningCredentials & { readonly sealed: Buffer };
  /** The current key, and older keys until they expire. */
  decrypt(serviceId: string, row: SigningSecretRecord): Buffer[];
  /** Returns the keys with their Ed25519 private keys, for providers that store no secret. */
  toSigningKeys(keys: readonly Buffer[]): SigningKeys;
};

/** @example const signingSecrets = createSigningSecrets({ masterKey, ids, clock }); */
export function createSigningSecrets(deps: {
  masterKey: Buffer;
  ids: Pick<Ids, 'secret'>;
  clock: Clock;
}): SigningSecrets {
  const encryptionKey = deriveKey(deps.masterKey, 'catalogue signing keys');
  const keyPairSecret = deriveKey(deps.masterKey, 'catalogue verification keys');
  /**
   * The pair also depends on a key of the server, so the holder of the secret cannot sign with it.
   */
  const deriveKeyPair = (key: Buffer) =>
    createWebhookKeyPair(createHmac('sha256', keyPairSecret).update(key).digest());
  return {
    create(serviceId) {
      const key = Buffer.from(deps.ids.secret(keyBytes), 'base64url');
      return {
        sealed: encryptBytes(encryptionKey, key, additionalData(serviceId)),
        signingSecret: formatWebhookSecret(key),
        verificationKey: deriveKeyPair(key).publicKey,
      };
    },
    decrypt(serviceId, row) {
      const retired = listKeysStillSigning(row, deps.clock.now()).map(({ sealed }) => sealed);
      return [row.secretSealed, ...retired].map((each) =>
        decryptBytes(encryptionKey, each, additionalData(serviceId)),
      );
    },
    toSigningKeys: (keys) => ({
      keys,
      privateKeys: keys.map((key) => deriveKeyPair(key).privateKey),
    }),
  };
}
