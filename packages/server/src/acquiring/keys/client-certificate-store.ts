// Loads TLS client certificates for acquirer links from a directory.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../platform/index.ts';
import { LinkSettingFault } from '../spi/invalid-link-setting.ts';

/** TLS client certificate, private key and trusted CA; without `ca` the default CAs of Node.js apply. */
export type TlsIdentity = { readonly cert: string; readonly key: string; readonly ca?: string };

export type ClientCertificate = {
  readonly identity: TlsIdentity;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Changes when a file is replaced. */
  readonly edition: string;
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

type Files = { cert: string; key: string; ca: string };
type Read = { edition: string; certificate?: ClientCertificate; fault?: string };

const fileBytesMax = 65_536;
const rememberedMax = 2000;

const filesOf = (directory: string, name: string): Files => ({
  cert: join(directory, `${name}.crt`),
  key: join(directory, `${name}.key`),
  ca: join(directory, `${name}.ca.crt`),
});

/** Returns modification time, size and inode, or undefined if the file does not exist. */
function stampOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.size > fileBytesMax) throw new Error('is too large');
  return `${found.mtimeMs}.${found.size}.${found.ino}`;
}

/** @throws Error with a message that contains no key material */
function readFiles(files: Files, hasAuthority: boolean): Omit<ClientCertificate, 'edition'> {
  const cert = readFileSync(files.cert, 'utf8');
  const key = readFileSync(files.key, 'utf8');
  const leaf = certificateIn(cert, 'is not a PEM certificate');
  if (!leaf.checkPrivateKey(privateKeyIn(key))) {
    throw new Error('has a private key that does not match the certificate');
  }
  const expiresAt = Date.parse(leaf.validTo);
  if (!hasAuthority) return { identity: { cert, key }, expiresAt };
  const ca = readFileSync(files.ca, 'utf8');
  certificateIn(ca, 'has a CA file that is not a PEM certificate');
  return { identity: { cert, key, ca }, expiresAt };
}

function certificateIn(pem: string, otherwise: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new Error(otherwise);
  }
}

function privateKeyIn(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error('has a key file that is not an unencrypted PEM private key');
  }
}

const messageOf = (error: unknown): string => {
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
  const remembered = new Map<string, Read>();

  /** Returns undefined if the files do not exist. */
  function look(folder: string, name: string): Read | undefined {
    const files = filesOf(folder, name);
    const before = remembered.get(files.cert);
    let edition = '';
    try {
      const [cert, key, ca] = [files.cert, files.key, files.ca].map(stampOf);
      if (cert === undefined && key === undefined) return undefined;
      edition = [cert, key, ca].join(' ');
      if (before?.edition === edition) return before;
      const certificate = { ...readFiles(files, ca !== undefined), edition };
      return { edition, certificate };
    } catch (error) {
      const fault = messageOf(error);
      if (before?.fault !== fault)
        log.error({ file: files.cert, fault }, 'client certificate could not be loaded');
      // The previous certificate stays in use: an incomplete renewal must not close a working link.
      return { ...before, edition, fault };
    }
  }

  function read(folder: string, name: string): Read | undefined {
    const found = look(folder, name);
    const { cert } = filesOf(folder, name);
    if (found === undefined) remembered.delete(cert);
    else if (remembered.has(cert) || remembered.size < rememberedMax) remembered.set(cert, found);
    return found;
  }

  return {
    find(organizationId, name) {
      const found = read(join(directory, organizationId), name) ?? read(directory, name);
      if (found?.certificate !== undefined) return found.certificate;
      throw new LinkSettingFault(
        '/clientCertificate',
        found?.fault ?? 'does not exist in the certificate directory',
      );
    },
  };
}
