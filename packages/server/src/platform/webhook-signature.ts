// Signs what the platform sends to others, after Standard Webhooks 1.0: symmetric, `v1`.
import { createHmac } from 'node:crypto';

/** Secrets are handed out in this form; the key is what stands behind the prefix, in base64. */
const secretPrefix = 'whsec_';
const keyBytesMin = 24;
const keyBytesMax = 64;

export type SignedMessage = {
  /** The same over all tries: receivers tell repetitions by it. */
  readonly id: string;
  /** Of this try, epoch milliseconds. */
  readonly at: number;
  readonly body: string;
  /** While a secret is changed, the old and the new one sign side by side. */
  readonly keys: readonly Buffer[];
};

/** @example const text = webhookSecret(randomKey); // whsec_… */
export function webhookSecret(key: Buffer): string {
  if (key.length < keyBytesMin || key.length > keyBytesMax) {
    throw new RangeError(`a signing key has ${keyBytesMin} to ${keyBytesMax} bytes`);
  }
  return `${secretPrefix}${key.toString('base64')}`;
}

export function webhookHeaders({ id, at, body, keys }: SignedMessage): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = keys.map(
    (key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
