// Creates a key and a certificate for each demo device once, and stores them in files.
import { hash, X509Certificate } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatTsn, ProblemError } from '@switchyard/contract';
import type { Identity } from '../identity/index.ts';
import { type Clock, dayMs } from '../platform/index.ts';
import { demoMerchants, organizationId } from './demo-data.ts';

const renewBeforeMs = 30 * dayMs;

type Certificates = Identity['devices']['certificates'];
type Deps = { readonly certificates: Certificates; readonly clock: Clock };

type CertifiedDevice = {
  readonly organizationId: string;
  readonly physicalDeviceId: string;
  readonly tsn: string;
};

export type DeviceFiles = { readonly certFile: string; readonly keyFile: string };

export function deviceFilesOf(dataDir: string, tsn: string): DeviceFiles {
  const directory = join(dataDir, 'devices');
  return {
    certFile: join(directory, `${tsn}.pem`),
    keyFile: join(directory, `${tsn}-key.pem`),
  };
}

/** Creates and renews the certificates of the demo devices; a revoked one stays revoked. */
export async function seedDeviceCertificates(deps: Deps, dataDir: string): Promise<void> {
  const devices = demoMerchants.flatMap(({ stores }) => stores.flatMap((store) => store.devices));
  for (const device of devices) {
    const { physicalDeviceId } = device;
    const tsn = formatTsn(device);
    try {
      await seedCertificate(deps, dataDir, { organizationId, physicalDeviceId, tsn });
    } catch (error) {
      // A user deleted the device, and it stays deleted.
      if (!(error instanceof ProblemError) || error.code !== 'device_not_found') throw error;
    }
  }
}

/** Returns the files of a device: creates missing files, and renews the certificate before it expires. */
export async function seedCertificate(
  deps: Deps,
  dataDir: string,
  device: CertifiedDevice,
): Promise<DeviceFiles> {
  const files = deviceFilesOf(dataDir, device.tsn);
  if (await hasValidCertificate(deps, device, files)) return files;
  const { createCertificateRequest } = await import('./create-certificate-request.ts');
  const { privateKey, certificateRequest } = await createCertificateRequest(device.tsn);
  const { certificateChain } = await enrol(deps.certificates, device, certificateRequest);
  await mkdir(join(dataDir, 'devices'), { recursive: true, mode: 0o755 });
  await writeAtomically(files.keyFile, privateKey, 0o600);
  await writeAtomically(files.certFile, certificateChain, 0o644);
  return files;
}

async function hasValidCertificate(
  { certificates, clock }: Deps,
  { organizationId, physicalDeviceId }: CertifiedDevice,
  { certFile, keyFile }: DeviceFiles,
): Promise<boolean> {
  const [text, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  if (text === undefined || key === undefined) return false;
  try {
    const certificate = new X509Certificate(text);
    const thumbprint = hash('sha256', certificate.raw, 'base64url');
    const { notAfter } = await certificates.get({ organizationId }, physicalDeviceId, thumbprint);
    return Date.parse(notAfter) - renewBeforeMs > clock.now();
  } catch (error) {
    // The database is another one, or the file is not a certificate of this platform.
    if (!(error instanceof ProblemError)) return false;
    if (error.code === 'resource_not_found') return false;
    throw error;
  }
}

/** At the certificate limit, revokes the oldest active certificate and tries again. */
async function enrol(
  certificates: Certificates,
  { organizationId, physicalDeviceId }: CertifiedDevice,
  certificateRequest: string,
) {
  const scope = { organizationId };
  const requestCertificate = () =>
    certificates.enrol(scope, physicalDeviceId, { certificateRequest });
  try {
    return await requestCertificate();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'certificate_limit_reached') throw error;
  }
  const { items } = await certificates.list(scope, physicalDeviceId, { limit: 200 });
  const oldest = items.find(({ status }) => status === 'Active');
  if (oldest === undefined) throw new Error('a limit of certificates without a certificate');
  await certificates.revoke(scope, physicalDeviceId, oldest.thumbprint, 'Superseded');
  return requestCertificate();
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The rename is atomic: a killed start leaves the old file or the new one. */
async function writeAtomically(file: string, text: string, mode: number): Promise<void> {
  const temporaryFile = `${file}.${process.pid}.new`;
  await writeFile(temporaryFile, text, { mode, flush: true });
  await chmod(temporaryFile, mode);
  await rename(temporaryFile, file);
}
