// Simulates the factory of a terminal: creates a key, and a PKCS#10 request signed with it.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { Name, PemConverter, Pkcs10CertificateRequestGenerator } from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export async function createCertificateRequest(
  name: string,
): Promise<{ privateKey: string; certificateRequest: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create(
    { name: new Name([{ CN: [name] }]).toString(), keys, signingAlgorithm: algorithm },
    webcrypto,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    privateKey: `${PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n`,
    certificateRequest: request.toString('pem'),
  };
}
