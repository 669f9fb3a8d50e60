// Creates and opens the signing keys of endpoints, which the database holds encrypted.
import { createSecretKey, type KeyObject } from 'node:crypto';
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
  type RetiredKeys,
} from '../../platform/index.ts';

const keyBytes = 32;
const seedBytes = 32;
/** How long the previous keys also sign after a rotation. */
export const rotationOverlapMs = dayMs;

export type SealedKeys = RetiredKeys & {
  readonly endpointId: string;
  readonly keysSealed: Buffer;
};

export type SigningKeys = {
  /** As key objects, because a signature with them takes a fifth of the time. */
  readonly keys: readonly KeyObject[];
  readonly privateKeys: readonly KeyObject[];
  /** Epoch milliseconds from which the keys must be opened again. */
  readonly until: number;
};

export type EndpointKeys = {
  make(endpointId: string): { sealed: Buffer; secret: string; publicKey: string };
  open(row: SealedKeys): SigningKeys;
};

const encryptionContextOf = (endpointId: string) => `webhook endpoint ${endpointId}`;

/** @example const keys = createEndpointKeys({ masterKey, ids, clock }); */
export function createEndpointKeys(deps: {
  masterKey: Buffer;
  ids: Pick<Ids, 'secret'>;
  clock: Clock;
}): EndpointKeys {
  const sealingKey = deriveKey(deps.masterKey, 'webhook signing keys');
  return {
    make(endpointId) {
      const all = Buffer.from(deps.ids.secret(keyBytes + seedBytes), 'base64url');
      return {
        sealed: encryptBytes(sealingKey, all, encryptionContextOf(endpointId)),
        secret: formatWebhookSecret(all.subarray(0, keyBytes)),
        publicKey: createWebhookKeyPair(all.subarray(keyBytes)).publicKey,
      };
    },
    open(row) {
      const retired = listKeysStillSigning(row, deps.clock.now());
      const opened = [row.keysSealed, ...retired.map(({ sealed }) => sealed)].map((sealed) =>
        decryptBytes(sealingKey, sealed, encryptionContextOf(row.endpointId)),
      );
      return {
        keys: opened.map((all) => createSecretKey(all.subarray(0, keyBytes))),
        privateKeys: opened.map((all) => createWebhookKeyPair(all.subarray(keyBytes)).privateKey),
        until: Math.min(...retired.map(({ until }) => until)),
      };
    },
  };
}
