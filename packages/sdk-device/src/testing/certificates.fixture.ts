// Certificates for tests: an authority, a server for `localhost`, and a device.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

export type Made = { readonly cert: string; readonly key: string };
export type TestCertificates = {
  readonly ca: string;
  readonly server: Made;
  readonly device: Made;
};

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const notBefore = new Date('2020-01-01T00:00:00Z');
const notAfter = new Date('2040-01-01T00:00:00Z');

async function pair(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function keyOf(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return PemConverter.encode(pkcs8, 'PRIVATE KEY');
}

type Authority = { readonly certificate: X509Certificate; readonly keys: webcrypto.CryptoKeyPair };

async function issue(authority: Authority, subject: string): Promise<Made> {
  const keys = await pair();
  const certificate = await X509CertificateGenerator.create(
    {
      subject,
      issuer: authority.certificate.subject,
      notBefore,
      notAfter,
      publicKey: keys.publicKey,
      signingKey: authority.keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new SubjectAlternativeNameExtension([
          { type: 'dns', value: 'localhost' },
          { type: 'ip', value: '127.0.0.1' },
        ]),
      ],
    },
    webcrypto,
  );
  return { cert: certificate.toString('pem'), key: await keyOf(keys) };
}

export async function testCertificates(): Promise<TestCertificates> {
  const keys = await pair();
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Test authority',
      keys,
      signingAlgorithm: algorithm,
      notBefore,
      notAfter,
      extensions: [new BasicConstraintsExtension(true, 1, true)],
    },
    webcrypto,
  );
  const authority = { certificate, keys };
  return {
    ca: certificate.toString('pem'),
    server: await issue(authority, 'CN=localhost'),
    device: await issue(authority, 'CN=device, 2.5.4.5=10000001'),
  };
}
