// Self-made certificates for the tests that speak TLS.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

export type MadeCertificate = { readonly cert: string; readonly key: string };

/** Signed by itself, so that it is its own authority too. */
export const makeCertificate = (name: string) => makeCertificateUntil(name, '2120-01-01T00:00:00Z');

export async function makeCertificateUntil(
  name: string,
  notAfter: string,
): Promise<MadeCertificate> {
  cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date('2020-01-01T00:00:00Z'),
    notAfter: new Date(notAfter),
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
      ]),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { cert: certificate.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') };
}
