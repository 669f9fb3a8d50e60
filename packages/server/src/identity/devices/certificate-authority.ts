// The certificate authority for devices: created on first use, its private key encrypted with the
// master key.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  type Clock,
  dayMs,
  decryptBytes,
  deriveKey,
  encryptBytes,
  hourMs,
  isoDay,
  parseCertificates,
} from '../../platform/index.ts';
import type { DeviceCertificateStore } from './device-certificate-sql.ts';

/**
 * Longer than the life of a terminal; a new authority would require new certificates for all
 * devices.
 */
const authorityLifetimeDays = 7305;
/** Tolerance for the clocks of verifiers. */
const backdatingMs = hourMs;

export type SigningAuthority = {
  /** PEM. */
  readonly certificate: string;
  readonly privateKey: KeyObject;
};

export type DeviceAuthorities = {
  /** The authority of the platform, which signs. */
  findSigner(): Promise<SigningAuthority>;
  /** All trusted authorities: the platform's and those of the operator. */
  trustedAuthorities(): Promise<readonly X509Certificate[]>;
  /** The authorities of the operator, which issue certificates outside the platform. */
  operatorAuthorities(): Promise<readonly X509Certificate[]>;
};

type Deps = {
  readonly store: Pick<DeviceCertificateStore, 'findAuthority' | 'insertAuthority'>;
  readonly clock: Clock;
  readonly masterKey: Buffer;
  /** A file with PEM certificates of the operator's device authorities. */
  readonly authorityFile?: string | undefined;
};

export function createDeviceAuthorities({
  store,
  clock,
  masterKey,
  authorityFile,
}: Deps): DeviceAuthorities {
  const sealingKey = deriveKey(masterKey, 'device-authority');
  const authorityId = deriveKey(masterKey, 'device-authority-id').toString('hex', 0, 8);

  async function createSigner() {
    // Loaded on demand: the library takes longer to load than the rest of the server start.
    const { createAuthority } = await import('./issue-certificate.ts');
    const now = clock.now();
    const day = isoDay(now);
    const created = await createAuthority(`Switchyard device authority ${day}`, {
      notBefore: new Date(now - backdatingMs),
      notAfter: new Date(now + authorityLifetimeDays * dayMs),
    });
    const { certificate } = created;
    const privateSealed = encryptBytes(sealingKey, created.privateKey, authorityId);
    return store.insertAuthority(authorityId, { certificate, privateSealed }, now);
  }

  async function loadSigner(): Promise<SigningAuthority> {
    const sealed = (await store.findAuthority(authorityId)) ?? (await createSigner());
    const key = decryptBytes(sealingKey, sealed.privateSealed, authorityId);
    const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
    return { certificate: sealed.certificate, privateKey };
  }

  const findSigner = cacheResult(loadSigner);
  const operatorAuthorities = cacheResult(async () =>
    authorityFile === undefined ? [] : parseAuthorities(await readFile(authorityFile, 'utf8')),
  );
  const trustedAuthorities = cacheResult(async () => [
    new X509Certificate((await findSigner()).certificate),
    ...(await operatorAuthorities()),
  ]);
  return { findSigner, operatorAuthorities, trustedAuthorities };
}

/** Caches the result; a failure is not cached. */
function cacheResult<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | undefined;
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

/** @throws Error if the file contains no certificate, or one that is not a CA certificate */
function parseAuthorities(text: string): X509Certificate[] {
  const certificates = parseCertificates(text);
  if (certificates.length === 0)
    throw new Error('the file of the device authorities contains no certificate');
  const nonAuthority = certificates.find(({ ca }) => !ca);
  if (nonAuthority !== undefined)
    throw new Error(`${nonAuthority.subject} is not a CA certificate`);
  return certificates;
}

/** The authority that signed the certificate. */
export function findIssuer(
  certificate: X509Certificate,
  authorities: readonly X509Certificate[],
): X509Certificate | undefined {
  return authorities.find(
    (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
  );
}
