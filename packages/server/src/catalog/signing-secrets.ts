// The keys that calls to providers are signed with: sealed in the database, shown once.
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
} from '../platform/index.ts';
import type { SecretRow } from './service-store.ts';

const keyBytes = 32;
/** How long calls carry the signature of the old key too. */
export const overlapMs = 86_400_000;

const placeOf = (serviceId: string) => `catalogue service ${serviceId}`;

/** What a provider is handed: the secret to check `v1` with, or the public key for `v1a`. */
export type HandedOut = { readonly signingSecret: string; readonly verificationKey: string };

export type Signers = {
  readonly keys: readonly Buffer[];
  readonly privateKeys: readonly KeyObject[];
};

export type SigningSecrets = {
  make(serviceId: string): HandedOut & { readonly sealed: Buffer };
  /** The key, and those before it as long as they sign too. */
  open(serviceId: string, row: SecretRow): Buffer[];
  /** What signs with a key and, for providers that keep no secret, with the pair that goes with it. */
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
  /** Of the secret and a key of ours: whoever holds the secret cannot sign with the pair. */
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
