// The self-signed certificate of the local listener, which tills must trust.
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';

/** A certificate and its key, PEM. */
export type ListenerCertificate = {
  readonly cert: string;
  readonly key: string;
  /** Path of the certificate, which tills must trust. */
  readonly certFile: string;
};

const days = 825;
const dayMs = 86_400_000;
const renewBeforeDays = 30;
const ownerOnly = 0o600;
const serialBytes = 12;
const longForm = 0x80;
const lineLength = 64;

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  text: 0x0c,
  sequence: 0x30,
  set: 0x31,
  time: 0x18,
} as const;
/** Encoded object identifiers (ITU-T X.660). */
const oids = {
  commonName: '550403',
  ecdsaWithSha256: '2a8648ce3d040302',
  basicConstraints: '551d13',
  keyUsage: '551d0f',
  alternativeNames: '551d11',
} as const;

/** DER (ITU-T X.690): tag, length, content. */
function der(tag: number, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const content = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)),
  );
  if (content.length < longForm)
    return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const digits = content.length.toString(16);
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, longForm | length.length]), length, content]);
}

const context = (number: number, isConstructed: boolean) =>
  0x80 | number | (isConstructed ? 0x20 : 0);
const timeOf = (at: number): Buffer =>
  der(tags.time, Buffer.from(`${new Date(at).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));

function extension(oid: string, isCritical: boolean, value: Buffer): Buffer {
  return der(
    tags.sequence,
    der(tags.oid, oid),
    ...(isCritical ? [der(tags.boolean, 'ff')] : []),
    der(tags.octets, value),
  );
}

function alternativeName(name: string): Buffer {
  if (isIPv4(name)) return der(context(7, false), Buffer.from(name.split('.').map(Number)));
  return der(context(2, false), Buffer.from(name));
}

function pem(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('base64');
  const lines = text.match(new RegExp(`.{1,${lineLength}}`, 'g')) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** A self-signed certificate (RFC 5280). */
function createCertificate(names: readonly string[], at: number): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const algorithm = der(tags.sequence, der(tags.oid, oids.ecdsaWithSha256));
  const name = der(
    tags.sequence,
    der(
      tags.set,
      der(
        tags.sequence,
        der(tags.oid, oids.commonName),
        der(tags.text, Buffer.from(names[0] ?? '')),
      ),
    ),
  );
  const extensions = der(
    context(3, true),
    der(
      tags.sequence,
      extension(oids.basicConstraints, true, der(tags.sequence, der(tags.boolean, 'ff'))),
      // Signs documents and certificates.
      extension(oids.keyUsage, true, der(tags.bits, '0284')),
      extension(oids.alternativeNames, false, der(tags.sequence, ...names.map(alternativeName))),
    ),
  );
  const body = der(
    tags.sequence,
    der(context(0, true), der(tags.integer, '02')),
    der(tags.integer, '01', randomBytes(serialBytes)),
    algorithm,
    name,
    der(tags.sequence, timeOf(at - dayMs), timeOf(at + days * dayMs)),
    name,
    spki,
    extensions,
  );
  const signature = sign('sha256', body, privateKey);
  return {
    cert: pem(der(tags.sequence, body, algorithm, der(tags.bits, '00', signature))),
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}

function isUsable(cert: string, names: readonly string[], now: number): boolean {
  try {
    const certificate = new X509Certificate(cert);
    const isOfNames = names.every(
      (name) => (certificate.checkHost(name) ?? certificate.checkIP(name)) !== undefined,
    );
    return isOfNames && Date.parse(certificate.validTo) - renewBeforeDays * dayMs > now;
  } catch {
    return false;
  }
}

/**
 * The certificate of a terminal in its directory; created where there is no usable one.
 *
 * @param names - names and addresses; the first one is the subject
 * @throws Error where it cannot be written
 */
export function ensureCertificate(
  directory: string,
  names: readonly string[],
  now: number,
): ListenerCertificate {
  mkdirSync(directory, { recursive: true });
  const certFile = join(directory, 'local-cert.pem');
  const keyFile = join(directory, 'local-key.pem');
  if (existsSync(certFile) && existsSync(keyFile)) {
    const cert = readFileSync(certFile, 'utf8');
    if (isUsable(cert, names, now)) return { cert, key: readFileSync(keyFile, 'utf8'), certFile };
  }
  const { cert, key } = createCertificate(names, now);
  writeFileSync(keyFile, key, { mode: ownerOnly });
  chmodSync(keyFile, ownerOnly);
  writeFileSync(certFile, cert);
  return { cert, key, certFile };
}
