// Reads a PKCS#10 request; checks its signature and its public key.
import 'reflect-metadata';
import { createPublicKey, type KeyObject, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequest } from '@peculiar/x509';
import { throwProblem } from '@switchyard/contract';

const curves = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
]);
const minRsaBits = 2048;
/** The cost of a verification grows with the square of the length. */
const maxRsaBits = 4096;
const minRsaExponent = 65_537n;
const digests: ReadonlySet<unknown> = new Set(['SHA-256', 'SHA-384', 'SHA-512']);

/** RFC 7468, 7; some tools write NEW before it. */
const pemPattern =
  /^\s*-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----\s+([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----\s*$/;

function throwInvalidRequest(detail: string): never {
  return throwProblem('certificate_request_invalid', `The certificate request ${detail}.`, {
    errors: [{ pointer: '/certificateRequest', code: 'certificate_request_invalid', detail }],
  });
}

/** @param text PEM @throws ProblemError `certificate_request_invalid` */
export async function readCertificateRequest(text: string): Promise<KeyObject> {
  const request = parseRequest(text);
  const publicKey = keyOf(request);
  // Before the signature check, which is expensive with a very long key.
  requireAllowedKey(publicKey);
  if (!digests.has(digestNameOf(request)))
    throwInvalidRequest('is not signed with SHA-256 or better');
  const isSigned = await request.verify(webcrypto).catch(() => false);
  if (!isSigned) throwInvalidRequest('has no valid signature of its own key');
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
    return throwInvalidRequest('contains no readable public key');
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
