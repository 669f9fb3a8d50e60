// A manufacturer of terminals with its own certificate authority, whose terminals have factory certificates.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createAuthority,
  type DeviceSubject,
  issueDeviceCertificate,
} from '../../../src/identity/devices/issue-certificate.ts';

const dayMs = 86_400_000;

const validity = (days: number) => ({
  notBefore: new Date(Date.now() - dayMs),
  notAfter: new Date(Date.now() + days * dayMs),
});

export type Manufacturer = {
  /** The certificate of the authority, PEM. */
  readonly certificate: string;
  /** A key and a certificate of a terminal from the factory. */
  issueCertificate(subject: DeviceSubject, days?: number): Promise<{ cert: string; key: string }>;
};

async function signBy(
  authority: { readonly certificate: string; readonly privateKey: KeyObject },
  subject: DeviceSubject,
  days: number,
) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = await issueDeviceCertificate(authority, {
    publicKey: createPublicKey(privateKey),
    subject,
    certificateSerial: '4c',
    validity: validity(days),
  });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** @example const manufacturer = await createManufacturer('Terminals Ltd'); const certificate = await manufacturer.issueCertificate({ serialNumber, tsn }); */
export async function createManufacturer(name: string): Promise<Manufacturer> {
  const { certificate, privateKey: key } = await createAuthority(name, validity(30));
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return {
    certificate,
    issueCertificate: (subject, days = 30) => signBy({ certificate, privateKey }, subject, days),
  };
}

/** Writes the file for DEVICE_CA_FILE into its own directory. */
export async function writeManufacturerCaFile(
  ...manufacturers: readonly Manufacturer[]
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-manufacturers-'));
  const file = join(directory, 'manufacturers.pem');
  await writeFile(file, manufacturers.map(({ certificate }) => certificate).join('\n'));
  return file;
}
