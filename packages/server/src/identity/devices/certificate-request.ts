// Reads a PKCS#10 request, which has to be signed by its own key, and the key good enough for a device.
import 'reflect-metadata';
import { createPublicKey, type KeyObject, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequest } from '@peculiar/x509';
import { refuse } from '@switchyard/contract';

const curves = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
]);
const minRsaBits = 2048;
/** The work of a check grows with the square of the length. */
const maxRsaBits = 4096;
const minRsaExponent = 65_537n;
const digests: ReadonlySet<unknown> = new Set(['SHA-256', 'SHA-384', 'SHA-512']);

/** RFC 7468, 7; some tools still write NEW before it. */
const pemPattern =
  /^\s*-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----\s+([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----\s*$/;

function throwInvalidRequest(detail: string): never {
  return refuse('certificate_request_invalid', `The certificate request ${detail}.`, {
    errors: [{ pointer: '/certificateRequest', code: 'certificate_request_invalid', detail }],
  });
}

/** @param text PEM @throws Refusal `certificate_request_invalid` */
export async function readCertificateRequest(text: string): Promise<KeyObject> {
  const request = parseRequest(text);
  const publicKey = keyOf(request);
  // Before the signature: a key of absurd length would make its check a burden.
  requireAllowedKey(publicKey);
  if (!digests.has(digestNameOf(request)))
    throwInvalidRequest('is not signed with SHA-256 or better');
  const isSigned = await request.verify(webcrypto).catch(() => false);
  if (!isSigned) throwInvalidRequest('is not signed by its own key');
  return publicKey;
}

function parseRequest(text: string): Pkcs10CertificateRequest {
  const [, base64 = ''] = pemPattern.exec(text) ?? [];
  try {
    return new Pkcs10CertificateRequest(Buffer.from(base64, 'base64'));
  } catch {
    return throwInvalidRequest('is not well-formed PKCS#10');
  }
}

function keyOf(request: Pkcs10CertificateRequest): KeyObject {
  try {
    const key = Buffer.from(request.publicKey.rawData);
    return createPublicKey({ key, format: 'der', type: 'spki' });
  } catch {
    return throwInvalidRequest('holds no key that can be read');
  }
}

function requireAllowedKey({
  asymmetricKeyType: type,
  asymmetricKeyDetails: facts = {},
}: KeyObject) {
  if (type === 'ec' && curves.has(String(facts.namedCurve))) return;
  const { modulusLength = 0, publicExponent = 0n } = facts;
  const isStrong = modulusLength >= minRsaBits && modulusLength <= maxRsaBits;
  if (type === 'rsa' && isStrong && publicExponent >= minRsaExponent) return;
  throwInvalidRequest(
    `needs a key on ${[...curves.values()].join(' or ')}, or RSA of ${minRsaBits} to ${maxRsaBits} bits`,
  );
}

function digestNameOf(request: Pkcs10CertificateRequest): unknown {
  const { hash } = request.signatureAlgorithm as { hash?: { name?: string } | string };
  return typeof hash === 'string' ? hash : hash?.name;
}
