// Issues the certificates of the local certificate authority, which can only certify names of this machine.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { demoOrganization } from '../settings/certificate-rules.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const serverAuthentication = '1.3.6.1.5.5.7.3.1';

type Validity = { notBefore: Date; notAfter: Date };
type CertificateAndKey = { cert: string; key: string };

export async function issueAuthority(
  names: readonly string[],
  validity: Validity,
): Promise<CertificateAndKey> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      // The date distinguishes authorities of several installations in a trust store.
      name: `CN=Switchyard local authority ${validity.notBefore.toISOString().slice(0, 10)}, O=${demoOrganization}`,
      ...validity,
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
          true,
        ),
        new x509.Extension(nameConstraintsOid, true, encodeNameConstraints(names)),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    },
    webcrypto,
  );
  return { cert: `${certificate.toString('pem')}\n`, key: await privatePem(keys.privateKey) };
}

export async function issueServerCertificate(
  authority: CertificateAndKey,
  names: readonly string[],
  validity: Validity,
): Promise<CertificateAndKey> {
  const issuer = new x509.X509Certificate(authority.cert);
  const der = x509.PemConverter.decodeFirst(authority.key);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject: `CN=localhost, O=${demoOrganization}`,
      issuer: issuer.subject,
      notBefore: validity.notBefore,
      // Never longer than its authority.
      notAfter: new Date(Math.min(validity.notAfter.getTime(), issuer.notAfter.getTime())),
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([serverAuthentication]),
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const),
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ],
    },
    webcrypto,
  );
  return { cert: `${certificate.toString('pem')}\n`, key: await privatePem(keys.privateKey) };
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey('pkcs8', key);
  return `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`;
}

const nameConstraintsOid = '2.5.29.30';

const sequence = 0x30;
const permittedSubtrees = 0xa0;
const dnsName = 0x82;
const ipAddress = 0x87;

/** DER of NameConstraints that permit exactly these names and addresses, and subdomains of the names. */
function encodeNameConstraints(names: readonly string[]): Buffer {
  const subtrees = names.map((name) => tlv(sequence, generalName(name)));
  return tlv(sequence, tlv(permittedSubtrees, Buffer.concat(subtrees)));
}

function generalName(name: string): Buffer {
  if (isIP(name) === 0) return tlv(dnsName, Buffer.from(name, 'ascii'));
  const address = isIP(name) === 4 ? Buffer.from(name.split('.').map(Number)) : ipv6(name);
  return tlv(ipAddress, Buffer.concat([address, Buffer.alloc(address.length, 0xff)]));
}

function ipv6(name: string): Buffer {
  const groups = (part: string | undefined) =>
    part === undefined || part === ''
      ? []
      : part.split(':').map((group) => Number.parseInt(group, 16));
  const [head, tail] = name.split('::');
  const firstGroups = groups(head);
  const lastGroups = groups(tail);
  const zeros = Array.from({ length: 8 - firstGroups.length - lastGroups.length }, () => 0);
  const bytes = [...firstGroups, ...zeros, ...lastGroups].flatMap((group) => [
    group >> 8,
    group & 0xff,
  ]);
  return Buffer.from(bytes);
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}
