/** The secret of `webhooks listen`, created once for each profile, and the signatures of forwarded events. */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  sign,
} from 'node:crypto';
import { join } from 'node:path';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';
import {
  configFolder,
  createPrivateFile,
  readPrivateFile,
  writePrivateFile,
} from '../session/private-files.ts';
import type { Profile } from '../session/profiles.ts';

const secretBytes = 32;
const secretPattern = /^whsec_[A-Za-z0-9+/]{43}=$/;
/** The DER bytes before the 32 bytes of an Ed25519 key (RFC 8410). */
const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** @example const secret = loadWebhookSecret(environment, profile); */
export function loadWebhookSecret(
  environment: Pick<RuntimeEnvironment, 'env'>,
  profile: Profile,
): string {
  const { url, userDomainId, clientId } = profile;
  const name = createHash('sha256').update(JSON.stringify([url, userDomainId, clientId]));
  const file = join(
    configFolder(environment),
    'webhook-secrets',
    name.digest('base64url').slice(0, 24),
  );
  const readSecret = () => {
    const text = readPrivateFile(file)?.trim() ?? '';
    return secretPattern.test(text) ? text : undefined;
  };
  const newSecret = `whsec_${randomBytes(secretBytes).toString('base64')}`;
  // If two processes start at the same time, both use the secret of the first.
  return (
    readSecret() ??
    (createPrivateFile(file, `${newSecret}\n`)
      ? newSecret
      : (readSecret() ?? overwriteSecret(file, newSecret)))
  );
}

/** Replaces a file that does not contain a valid secret. */
function overwriteSecret(file: string, newSecret: string): string {
  writePrivateFile(file, `${newSecret}\n`);
  return newSecret;
}

export type WebhookSigner = {
  /** Verifies the signatures `v1a`. */
  readonly publicKey: string;
  headers(id: string, body: string, nowMs: number): Record<string, string>;
};

/** Signs as the platform does: Standard Webhooks 1.0, `v1` and `v1a`. */
export function createWebhookSigner(secret: string): WebhookSigner {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const seed = createHmac('sha256', key).update('v1a').digest();
  const der = Buffer.concat([ed25519Prefix, seed]);
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
