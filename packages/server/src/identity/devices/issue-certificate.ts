// Creates X.509 certificates with @peculiar/x509; import this file on demand, since the library
// loads slowly.
import 'reflect-metadata';
import { type KeyObject, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const serialNumberOid = '2.5.4.5';

export type Validity = { readonly notBefore: Date; readonly notAfter: Date };
/** The certificate as PEM, and its private key as PKCS#8. */
export type CreatedAuthority = { readonly certificate: string; readonly privateKey: Buffer };

export type DeviceSubject = {
  /** The serial number of the terminal. */
  readonly serialNumber: string;
  readonly tsn: string;
};

/** Creates an authority that may sign device certificates, but no other authorities. */
export async function createAuthority(name: string, validity: Validity): Promise<CreatedAuthority> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: new x509.Name([{ CN: [name] }, { O: ['Switchyard'] }]),
      ...validity,
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
          true,
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    },
    webcrypto,
  );
  const privateKey = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return { certificate: `${certificate.toString('pem')}\n`, privateKey };
}

/**
 * Issues a certificate as PEM. It takes only the public key from the request; the platform sets the
 * subject.
 */
export async function issueDeviceCertificate(
  authority: { readonly certificate: string; readonly privateKey: KeyObject },
  request: {
    readonly publicKey: KeyObject;
    readonly subject: DeviceSubject;
    readonly certificateSerial: string;
    readonly validity: Validity;
  },
): Promise<string> {
  const { subject, validity, certificateSerial } = request;
  const issuer = new x509.X509Certificate(authority.certificate);
  const key = authority.privateKey.export({ type: 'pkcs8', format: 'der' });
  const signingKey = await webcrypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign']);
  const publicKey = new x509.PublicKey(request.publicKey.export({ type: 'spki', format: 'der' }));
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: certificateSerial,
      subject: new x509.Name([
        { [serialNumberOid]: [subject.serialNumber] },
        { CN: [subject.tsn] },
      ]),
      issuer: issuer.subjectName,
      notBefore: validity.notBefore,
      // The certificate must not outlive its authority.
      notAfter: new Date(Math.min(validity.notAfter.getTime(), issuer.notAfter.getTime())),
      publicKey,
      signingKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([clientAuthentication]),
        await x509.SubjectKeyIdentifierExtension.create(publicKey, false, webcrypto),
        await x509.AuthorityKeyIdentifierExtension.create(issuer, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return `${certificate.toString('pem')}\n`;
}
