// Creates and opens the keys that sign calls to providers: encrypted at rest, shown only once.
import { createHmac, type KeyObject } from 'node:crypto';
import {
  type Clock,
  createWebhookKeyPair,
  decryptBytes,
  deriveKey,
  encryptBytes,
  formatWebhookSecret,
  type Ids,
  listActiveRetiredKeys,
} from '../../platform/index.ts';
import type { SecretRow } from './service-sql.ts';

const keyBytes = 32;
/** For this time, calls carry the signature of the old key too. */
export const overlapMs = 86_400_000;

const placeOf = (serviceId: string) => `catalogue service ${serviceId}`;

/** A provider receives the secret that checks `v1` and the public key that checks `v1a`. */
export type HandedOut = { readonly signingSecret: string; readonly verificationKey: string };

export type Signers = {
  readonly keys: readonly Buffer[];
  readonly privateKeys: readonly KeyObject[];
};

export type SigningSecrets = {
  make(serviceId: string): HandedOut & { readonly sealed: Buffer };
  /** The current key, and older keys until they expire. */
  open(serviceId: string, row: SecretRow): Buffer[];
  /** Returns the keys with their Ed25519 private keys, for providers that store no secret. */
  signers(keys: readonly Buffer[]): Signers;
};

/** @example const secrets = createSigningSecrets({ masterKey, ids, clock }); */
export function createSigningSecrets(deps: {
  masterKey: Buffer;
  ids: Pick<Ids, 'secret'>;
  clock: Clock;
}): SigningSecrets {
  const sealingKey = deriveKey(deps.masterKey, 'catalogue signing keys');
  const pairingKey = deriveKey(deps.masterKey, 'catalogue verification keys');
  /**
   * The pair also depends on a key of the server, so the holder of the secret cannot sign with it.
   */
  const pairOf = (key: Buffer) =>
    createWebhookKeyPair(createHmac('sha256', pairingKey).update(key).digest());
  return {
    make(serviceId) {
      const key = Buffer.from(deps.ids.secret(keyBytes), 'base64url');
      return {
        sealed: encryptBytes(sealingKey, key, placeOf(serviceId)),
        signingSecret: formatWebhookSecret(key),
        verificationKey: pairOf(key).publicKey,
      };
    },
    open(serviceId, row) {
      const retired = listActiveRetiredKeys(row, deps.clock.now()).map(({ sealed }) => sealed);
      return [row.secret_sealed, ...retired].map((each) =>
        decryptBytes(sealingKey, each, placeOf(serviceId)),
      );
    },
    signers: (keys) => ({ keys, privateKeys: keys.map((key) => pairOf(key).privateKey) }),
  };
}
