// Loads TLS client certificates for acquirer links from a directory.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import { createFileCache, type Log } from '../../platform/index.ts';
import { InvalidLinkSettingError, type TlsIdentity } from '../spi/acquirer-spi.ts';

export type ClientCertificate = {
  readonly tlsIdentity: TlsIdentity;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Changes when a file is replaced. */
  readonly version: string;
};

export type ClientCertificates = ReturnType<typeof createClientCertificates>;

const maxFileBytes = 65_536;
const maxCachedCertificates = 2000;

/** @throws Error with the given message, which contains no key material */
function parsePem<Value>(parse: () => Value, errorMessage: string): Value {
  try {
    return parse();
  } catch {
    throw new Error(errorMessage);
  }
}

function loadCertificate(
  paths: { cert: string; key: string; ca: string },
  version: string,
): ClientCertificate {
  const cert = readFileSync(paths.cert, 'utf8');
  const key = readFileSync(paths.key, 'utf8');
  const ca = existsSync(paths.ca) ? readFileSync(paths.ca, 'utf8') : undefined;
  const leaf = parsePem(() => new X509Certificate(cert), 'is not a PEM certificate');
  const privateKey = parsePem(
    () => createPrivateKey(key),
    'has a key file that is not an unencrypted PEM private key',
  );
  if (!leaf.checkPrivateKey(privateKey))
    throw new Error('has a private key that does not match the certificate');
  if (ca !== undefined)
    parsePem(() => new X509Certificate(ca), 'has a CA file that is not a PEM certificate');
  const tlsIdentity = { cert, key, ...defined({ ca }) };
  return { tlsIdentity, expiresAt: Date.parse(leaf.validTo), version };
}

export function createClientCertificates({ directory, log }: { directory: string; log: Log }) {
  const readFiles = createFileCache<ClientCertificate>({
    maxBytes: maxFileBytes,
    maxEntries: maxCachedCertificates,
    onError: (file, fault) => log.error({ file, fault }, 'client certificate could not be loaded'),
  });

  function readCertificate(folder: string, name: string) {
    const pathOf = (extension: string) => join(folder, `${name}.${extension}`);
    const paths = { cert: pathOf('crt'), key: pathOf('key'), ca: pathOf('ca.crt') };
    return readFiles({ required: [paths.cert, paths.key], optional: [paths.ca] }, (version) =>
      loadCertificate(paths, version),
    );
  }

  return {
    /**
     * Searches the folder of the organisation first, then the shared folder. Changed files are
     * read again.
     *
     * @throws InvalidLinkSettingError if the certificate is missing or does not match its key
     */
    find(organizationId: string, name: string): ClientCertificate {
      const entry =
        readCertificate(join(directory, organizationId), name) ?? readCertificate(directory, name);
      if (entry?.value !== undefined) return entry.value;
      const detail = entry?.error ?? 'does not exist in the certificate directory';
      throw new InvalidLinkSettingError('/clientCertificate', detail);
    },
  };
}
