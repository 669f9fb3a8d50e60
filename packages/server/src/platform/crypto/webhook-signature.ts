// Signs webhooks by Standard Webhooks 1.0: `v1` with a shared secret, `v1a` with a key pair.
import { createHmac, type KeyObject, sign } from 'node:crypto';
import { createEd25519KeyPair } from './signing-key.ts';

/** The prefix of a secret in its published form. The key follows in base64. */
const secretPrefix = 'whsec_';
const publicKeyPrefix = 'whpk_';
const minKeyBytes = 24;
const maxKeyBytes = 64;

export type SignedMessage = {
  /** The same for every attempt, so that receivers recognise repetitions. */
  readonly id: string;
  /** The time of this attempt, epoch milliseconds. */
  readonly sentAt: number;
  readonly body: string;
  /** During a rotation of the secret, the old and the new secret both sign. */
  readonly keys: readonly (Buffer | KeyObject)[];
  /** Ed25519 keys, for receivers that store no secret. */
  readonly privateKeys?: readonly KeyObject[];
};

/** @example const { privateKey, publicKey } = createWebhookKeyPair(seed); // whpk_… */
export function createWebhookKeyPair(seed: Buffer): { privateKey: KeyObject; publicKey: string } {
  const { privateKey, x } = createEd25519KeyPair(seed);
  const publicKey = Buffer.from(x, 'base64url').toString('base64');
  return { privateKey, publicKey: publicKeyPrefix + publicKey };
}

/** @example const text = formatWebhookSecret(randomKey); // whsec_… */
export function formatWebhookSecret(key: Buffer): string {
  if (key.length < minKeyBytes || key.length > maxKeyBytes) {
    throw new RangeError(`a signing key has ${minKeyBytes} to ${maxKeyBytes} bytes`);
  }
  return `${secretPrefix}${key.toString('base64')}`;
}

export function createWebhookHeaders(message: SignedMessage): Record<string, string> {
  const { id, sentAt, body, keys, privateKeys = [] } = message;
  const timestamp = String(Math.floor(sentAt / 1000));
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = keys.map(
    (key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
  );
  const text = privateKeys.length > 0 ? Buffer.from(signed) : Buffer.alloc(0);
  const asymmetric = privateKeys.map((key) => `v1a,${sign(null, text, key).toString('base64')}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': [...signatures, ...asymmetric].join(' '),
  };
}
