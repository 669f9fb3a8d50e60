/** The secret with which events are signed that are forwarded to this machine: made once for each profile. */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  sign,
} from 'node:crypto';
import { join } from 'node:path';
import type { World } from '../runtime/runtime-environment.ts';
import { configFolder, keepFirst, readPrivate, writePrivate } from '../session/private-files.ts';
import type { Profile } from '../session/profiles.ts';

const secretBytes = 32;
const secretForm = /^whsec_[A-Za-z0-9+/]{43}=$/;
/** RFC 8410: what stands before the 32 bytes of an Ed25519 key. */
const ed25519Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** @example const secret = webhookSecret(world, profile); */
export function webhookSecret(world: Pick<World, 'env'>, profile: Profile): string {
  const { url, userDomainId, clientId } = profile;
  const name = createHash('sha256').update(JSON.stringify([url, userDomainId, clientId]));
  const file = join(configFolder(world), 'webhook-secrets', name.digest('base64url').slice(0, 24));
  const kept = () => {
    const text = readPrivate(file)?.trim() ?? '';
    return secretForm.test(text) ? text : undefined;
  };
  const made = `whsec_${randomBytes(secretBytes).toString('base64')}`;
  // Of two that begin at once one is first, and both go by what it has made.
  return kept() ?? (keepFirst(file, `${made}\n`) ? made : (kept() ?? replace(file, made)));
}

/** What is there is no secret, such as half of one. */
function replace(file: string, made: string): string {
  writePrivate(file, `${made}\n`);
  return made;
}

export type WebhookSigner = {
  /** Of the signatures `v1a`. */
  readonly publicKey: string;
  headers(id: string, body: string, nowMs: number): Record<string, string>;
};

/** Signs as the platform does: Standard Webhooks 1.0, `v1` and `v1a`. */
export function createWebhookSigner(secret: string): WebhookSigner {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const seed = createHmac('sha256', key).update('v1a').digest();
  const der = Buffer.concat([ed25519Head, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return {
    publicKey: `whpk_${Buffer.from(x, 'base64url').toString('base64')}`,
    headers(id, body, nowMs) {
      const timestamp = String(Math.floor(nowMs / 1000));
      const signed = Buffer.from(`${id}.${timestamp}.${body}`);
      const v1 = createHmac('sha256', key).update(signed).digest('base64');
      const v1a = sign(null, signed, privateKey).toString('base64');
      return {
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${v1} v1a,${v1a}`,
      };
    },
  };
}
