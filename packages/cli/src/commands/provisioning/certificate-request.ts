/** Creates a key pair and a PKCS#10 request (RFC 2986); the private key stays on this machine. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';

const sequenceTag = 0x30;
const setTag = 0x31;
const integerTag = 0x02;
const bitStringTag = 0x03;
const identifierTag = 0x06;
const textTag = 0x0c;
const attributesTag = 0xa0;
/** 2.5.4.3 and 1.2.840.10045.4.3.2 in DER. */
const commonName = Buffer.from('550403', 'hex');
const ecdsaWithSha256 = Buffer.from('2a8648ce3d040302', 'hex');
const lineChars = 64;

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length, ...size]), content]);
}

/** On the curve P-256. */
export function createDeviceKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** @param name the common name; the platform sets the subject of the certificate itself */
export function createCertificateRequest(keyPem: string, name: string): string {
  const key: KeyObject = createPrivateKey(keyPem);
  const subject = der(
    sequenceTag,
    der(
      setTag,
      der(sequenceTag, der(identifierTag, commonName), der(textTag, Buffer.from(name, 'utf8'))),
    ),
  );
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const version = der(integerTag, Buffer.from([0]));
  const info = der(sequenceTag, version, subject, publicKey, der(attributesTag));
  const signature = sign('sha256', info, key);
  const request = der(
    sequenceTag,
    info,
    der(sequenceTag, der(identifierTag, ecdsaWithSha256)),
    der(bitStringTag, Buffer.from([0]), signature),
  );
  const lines = request.toString('base64').match(new RegExp(`.{1,${lineChars}}`, 'g')) ?? [];
  return [
    '-----BEGIN CERTIFICATE REQUEST-----',
    ...lines,
    '-----END CERTIFICATE REQUEST-----',
    '',
  ].join('\n');
}
