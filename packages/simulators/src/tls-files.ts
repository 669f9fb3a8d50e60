// The TLS of a simulated host: its certificate, its key, and the authority of its clients.
import { readFileSync } from 'node:fs';
import { createSecureContext, type TlsOptions } from 'node:tls';
import { defined } from '@switchyard/contract';
import { FileError, UsageError } from './usage-error.ts';

/** The certificate of a simulated host, PEM. */
export type HostTls = {
  /** The certificate, then its intermediate authorities. */
  cert: string;
  /** The private key, without a passphrase. */
  key: string;
  /** The authority of the clients; with it each client needs a certificate (mutual TLS). */
  clientCa?: string;
};

/** Options for `node:tls` and `node:https`: TLS 1.2 or newer. */
export const tlsServerOptions = ({ cert, key, clientCa }: HostTls): TlsOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  ...defined({ ca: clientCa }),
  requestCert: clientCa !== undefined,
  rejectUnauthorized: clientCa !== undefined,
});

/** The command line options for TLS. */
export const tlsFileOptions = {
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'tls-client-ca': { type: 'string' },
} as const;

/** The part of the usage text for {@link tlsFileOptions}. */
export const tlsFileUsage = `      --tls-cert, --tls-key
                  certificate and private key, PEM files: the host requires TLS
      --tls-client-ca
                  authority of the clients, PEM file: the host requires a client certificate too`;

type TlsFiles = { [Name in keyof typeof tlsFileOptions]?: string | undefined };

function readPem(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new FileError(`--${option}: ${file} cannot be read`);
  }
}

/**
 * Reads the files of the command line.
 *
 * @returns undefined if no file is given
 * @throws FileError if a file cannot be read, or the certificate does not match the key
 * @throws UsageError if only one of certificate and key is given
 */
export function readTlsFiles(values: TlsFiles): HostTls | undefined {
  const { 'tls-cert': certFile, 'tls-key': keyFile, 'tls-client-ca': caFile } = values;
  if (certFile === undefined || keyFile === undefined) {
    if (certFile === undefined && keyFile === undefined && caFile === undefined) return undefined;
    throw new UsageError('TLS needs both --tls-cert and --tls-key');
  }
  const cert = readPem('tls-cert', certFile);
  const key = readPem('tls-key', keyFile);
  const clientCa = caFile === undefined ? undefined : readPem('tls-client-ca', caFile);
  const tls = { cert, key, ...defined({ clientCa }) };
  try {
    createSecureContext(tlsServerOptions(tls));
  } catch {
    throw new FileError(
      '--tls-cert, --tls-key, --tls-client-ca: no PEM certificate, or another private key than that of the certificate',
    );
  }
  return tls;
}
