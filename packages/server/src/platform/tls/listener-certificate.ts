// Certificate of the listeners: the operator's own, or one of a local certificate authority.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Settings } from '../settings/settings.ts';
import { type Clock, dayMs } from '../time/clock.ts';

/** The longest validity that browsers accept. */
const serverDays = 825;
const authorityDays = 3650;
const renewBeforeDays = 30;
const localNames = ['localhost', '127.0.0.1', '::1'];
/** A wildcard address has no name to certify. */
const wildcardHosts = new Set(['0.0.0.0', '::']);

export type ListenerCertificate = {
  /** The certificate chain, leaf first, PEM. */
  cert: string;
  key: string;
  /** The file with the certificate that clients must trust. */
  caFile: string;
};

type CertificateSettings = Pick<Settings, 'dataDir' | 'host' | 'tlsCertFile' | 'tlsKeyFile'>;
type CertificateAndKey = { cert: string; key: string };

/** The rules of the settings have checked the operator's files. */
export async function ensureListenerCertificate(deps: {
  settings: CertificateSettings;
  clock: Clock;
}): Promise<ListenerCertificate> {
  const { settings, clock } = deps;
  const { tlsCertFile, tlsKeyFile } = settings;
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined) {
    const files = [tlsCertFile, tlsKeyFile].map((file) => readFile(file, 'utf8'));
    const [cert = '', key = ''] = await Promise.all(files);
    return { cert, key, caFile: tlsCertFile };
  }
  const directory = join(settings.dataDir, 'tls');
  // 0755: clients of any account read the authority's certificate; the keys have mode 0600.
  await mkdir(directory, { recursive: true, mode: 0o755 });
  const names = wildcardHosts.has(settings.host)
    ? localNames
    : [...new Set([...localNames, settings.host])];
  const files = {
    ca: join(directory, 'ca.pem'),
    caKey: join(directory, 'ca-key.pem'),
    server: join(directory, 'server.pem'),
    serverKey: join(directory, 'server-key.pem'),
  };
  const oldServer = await readPair(files.server, files.serverKey);
  const hasNames = oldServer !== undefined && coversNames(oldServer, names);
  const oldAuthority = await readPair(files.ca, files.caKey);
  // An authority is constrained to its names: if the names change, it is created again.
  const authority =
    hasNames && oldAuthority !== undefined && isValid(oldAuthority, clock)
      ? oldAuthority
      : await writePair(files.ca, files.caKey, await createAuthority(names, clock));
  const server =
    hasNames && isValid(oldServer, clock) && isIssuedBy(oldServer, authority)
      ? oldServer
      : await writePair(
          files.server,
          files.serverKey,
          await createServerCertificate(authority, names, clock),
        );
  return { ...server, caFile: files.ca };
}

/** The library is loaded only to create certificates: loading takes longer than the rest of this step. */
async function createAuthority(names: readonly string[], clock: Clock): Promise<CertificateAndKey> {
  const { issueAuthority } = await import('./local-certificate-authority.ts');
  return issueAuthority(names, validityPeriod(clock, authorityDays));
}

async function createServerCertificate(
  authority: CertificateAndKey,
  names: readonly string[],
  clock: Clock,
): Promise<CertificateAndKey> {
  const { issueServerCertificate } = await import('./local-certificate-authority.ts');
  return issueServerCertificate(authority, names, validityPeriod(clock, serverDays - 1));
}

/** Valid from yesterday, because clocks of clients differ. */
function validityPeriod(clock: Clock, days: number): { notBefore: Date; notAfter: Date } {
  return {
    notBefore: new Date(clock.now() - dayMs),
    notAfter: new Date(clock.now() + days * dayMs),
  };
}

function isValid({ cert, key }: CertificateAndKey, clock: Clock): boolean {
  try {
    const certificate = new X509Certificate(cert);
    const renewAt = Date.parse(certificate.validTo) - renewBeforeDays * dayMs;
    return certificate.checkPrivateKey(createPrivateKey(key)) && clock.now() < renewAt;
  } catch {
    return false;
  }
}

function isIssuedBy(server: CertificateAndKey, authority: CertificateAndKey): boolean {
  const certificate = new X509Certificate(server.cert);
  const issuer = new X509Certificate(authority.cert);
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function coversNames({ cert }: CertificateAndKey, names: readonly string[]): boolean {
  try {
    const certificate = new X509Certificate(cert);
    return names.every((name) => {
      const match = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
      return match !== undefined;
    });
  } catch {
    return false;
  }
}

async function readPair(certFile: string, keyFile: string): Promise<CertificateAndKey | undefined> {
  try {
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function writePair(
  certFile: string,
  keyFile: string,
  pair: CertificateAndKey,
): Promise<CertificateAndKey> {
  await writeFileAtomically(keyFile, pair.key, 0o600);
  await writeFileAtomically(certFile, pair.cert, 0o644);
  return pair;
}

/** Writes a temporary file and renames it: a killed process leaves the old file or the new one. */
async function writeFileAtomically(file: string, text: string, mode: number): Promise<void> {
  const draft = `${file}.${process.pid}.new`;
  await writeFile(draft, text, { mode, flush: true });
  await chmod(draft, mode);
  await rename(draft, file);
}
