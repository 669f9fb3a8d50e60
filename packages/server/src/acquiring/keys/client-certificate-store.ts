// Loads TLS client certificates for acquirer links from a directory.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../platform/index.ts';
import { InvalidLinkSettingError } from '../spi/invalid-link-setting.ts';

/** TLS client certificate, private key and trusted CA; without `ca` the default CAs of Node.js apply. */
export type TlsIdentity = { readonly cert: string; readonly key: string; readonly ca?: string };

export type ClientCertificate = {
  readonly tlsIdentity: TlsIdentity;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Changes when a file is replaced. */
  readonly version: string;
};

export type ClientCertificates = {
  /**
   * Searches the folder of the organisation first, then the shared folder. Changed files are
   * read again.
   *
   * @throws InvalidLinkSettingError if the certificate is missing or does not match its key
   */
  find(organizationId: string, name: string): ClientCertificate;
};

type CertificatePaths = { cert: string; key: string; ca: string };
type CachedCertificate = { version: string; certificate?: ClientCertificate; error?: string };

const maxFileBytes = 65_536;
const maxCachedCertificates = 2000;

const certificatePaths = (directory: string, name: string): CertificatePaths => ({
  cert: join(directory, `${name}.crt`),
  key: join(directory, `${name}.key`),
  ca: join(directory, `${name}.ca.crt`),
});

/** Returns modification time, size and inode, or undefined if the file does not exist. */
function fileVersion(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.size > maxFileBytes) throw new Error('is too large');
  return `${stats.mtimeMs}.${stats.size}.${stats.ino}`;
}

/** @throws Error with a message that contains no key material */
function loadCertificate(
  paths: CertificatePaths,
  hasCaFile: boolean,
): Omit<ClientCertificate, 'version'> {
  const cert = readFileSync(paths.cert, 'utf8');
  const key = readFileSync(paths.key, 'utf8');
  const leaf = parseCertificate(cert, 'is not a PEM certificate');
  if (!leaf.checkPrivateKey(parsePrivateKey(key))) {
    throw new Error('has a private key that does not match the certificate');
  }
  const expiresAt = Date.parse(leaf.validTo);
  if (!hasCaFile) return { tlsIdentity: { cert, key }, expiresAt };
  const ca = readFileSync(paths.ca, 'utf8');
  parseCertificate(ca, 'has a CA file that is not a PEM certificate');
  return { tlsIdentity: { cert, key, ca }, expiresAt };
}

function parseCertificate(pem: string, errorMessage: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new Error(errorMessage);
  }
}

function parsePrivateKey(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error('has a key file that is not an unencrypted PEM private key');
  }
}

const describeReadError = (error: unknown): string => {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined) return `cannot be read (${code})`;
  return error instanceof Error ? error.message : 'cannot be read';
};

/** @example const certificates = createClientCertificates({ directory, log }); */
export function createClientCertificates(deps: {
  directory: string;
  log: Log;
}): ClientCertificates {
  const { directory, log } = deps;
  const cache = new Map<string, CachedCertificate>();

  /** Returns undefined if the files do not exist. */
  function readIfChanged(folder: string, name: string): CachedCertificate | undefined {
    const paths = certificatePaths(folder, name);
    const previous = cache.get(paths.cert);
    let version = '';
    try {
      const [cert, key, ca] = [paths.cert, paths.key, paths.ca].map(fileVersion);
      if (cert === undefined && key === undefined) return undefined;
      version = [cert, key, ca].join(' ');
      if (previous?.version === version) return previous;
      const certificate = { ...loadCertificate(paths, ca !== undefined), version };
      return { version, certificate };
    } catch (error) {
      const errorText = describeReadError(error);
      if (previous?.error !== errorText)
        log.error({ file: paths.cert, fault: errorText }, 'client certificate could not be loaded');
      // The previous certificate stays in use: an incomplete renewal must not close a working link.
      return { ...previous, version, error: errorText };
    }
  }

  function readCached(folder: string, name: string): CachedCertificate | undefined {
    const entry = readIfChanged(folder, name);
    const { cert } = certificatePaths(folder, name);
    if (entry === undefined) cache.delete(cert);
    else if (cache.has(cert) || cache.size < maxCachedCertificates) cache.set(cert, entry);
    return entry;
  }

  return {
    find(organizationId, name) {
      const entry =
        readCached(join(directory, organizationId), name) ?? readCached(directory, name);
      if (entry?.certificate !== undefined) return entry.certificate;
      throw new InvalidLinkSettingError(
        '/clientCertificate',
        entry?.error ?? 'does not exist in the certificate directory',
      );
    },
  };
}
