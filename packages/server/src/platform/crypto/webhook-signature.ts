// Signs what the platform sends to others, after Standard Webhooks 1.0: symmetric, `v1`, and by a key pair, `v1a`.
import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';

/** Secrets are handed out in this form; the key is what stands behind the prefix, in base64. */
const secretPrefix = 'whsec_';
const publicKeyPrefix = 'whpk_';
/** What stands before the 32 bytes of an Ed25519 key in PKCS#8 (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const minKeyBytes = 24;
const maxKeyBytes = 64;

export type SignedMessage = {
  /** The same over all tries: receivers tell repetitions by it. */
  readonly id: string;
  /** Of this try, epoch milliseconds. */
  readonly sentAt: number;
  readonly body: string;
  /** While a secret is changed, the old and the new one sign side by side. */
  readonly keys: readonly (Buffer | KeyObject)[];
  /** Ed25519, for receivers that keep no secret. */
  readonly privateKeys?: readonly KeyObject[];
};

/** @example const { privateKey, publicKey } = webhookKeyPair(seed); // whpk_… */
export function createWebhookKeyPair(seed: Buffer): { privateKey: KeyObject; publicKey: string } {
  const der = Buffer.concat([pkcs8Prefix, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const publicKey = Buffer.from(x, 'base64url').toString('base64');
  return { privateKey, publicKey: publicKeyPrefix + publicKey };
}

/** @example const text = webhookSecret(randomKey); // whsec_… */
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
