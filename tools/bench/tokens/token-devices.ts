// Makes devices with certificates, and asks what each of them needs for a token.
// First of all: it brings the polyfill that @peculiar/x509 cannot do without.
import '../../../packages/server/src/platform/tls/local-certificate-authority.ts';
import { webcrypto } from 'node:crypto';
import { request } from 'node:https';
import { PemConverter, Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import type { Database, Log } from '../../../packages/server/src/platform/index.ts';
import { openIdentity, openProvisioning } from '../environment/provision.ts';
import type { TokenDevice, TokenTarget } from './token-messages.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const firstSerial = 70_000_000;

export type CertifiedDevice = { cert: string; key: string; serialNumber: string };

async function makeRequest(): Promise<{ key: string; csr: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const csr = await Pkcs10CertificateRequestGenerator.create(
    { name: 'CN=device', keys, signingAlgorithm: algorithm },
    webcrypto,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { key: PemConverter.encode(pkcs8, 'PRIVATE KEY'), csr: csr.toString('pem') };
}

/** Straight to the database of a server that does not run yet; each device has a place in one store. */
export async function provisionDevices(
  deps: { database: Database; log: Log; dataDir: string },
  organizationId: string,
  count: number,
): Promise<CertifiedDevice[]> {
  const scope = { organizationId };
  const provisioning = openProvisioning(deps);
  const { merchants, stores, logicalDevices, physicalDevices } = provisioning;
  const identity = openIdentity(
    deps,
    async (within, id) => (await physicalDevices.get(within, id)).view,
  );
  await provisioning.organizations.create(scope, { name: 'Bench' }, organizationId);
  const { view: merchant } = await merchants.create(scope, {
    name: 'Bench merchant',
    country: 'FR',
    mcc: '5411',
    timeZone: 'Europe/Paris',
  });
  const { merchantId } = merchant;
  const { view: store } = await stores.create(scope, { merchantId, name: 'Bench store' });
  const devices: CertifiedDevice[] = [];
  for (let number = 0; number < count; number += 1) {
    const serialNumber = String(firstSerial + number);
    const hardware = { merchantId, serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium' };
    const { physicalDeviceId } = (await physicalDevices.create(scope, hardware)).view;
    const till = { storeId: store.storeId, name: `Till ${number}` };
    const { logicalDeviceId } = (await logicalDevices.create(scope, till)).view;
    await logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [physicalDeviceId]);
    const { key, csr } = await makeRequest();
    const { certificateChain } = await identity.devices.certificates.enrol(
      scope,
      physicalDeviceId,
      {
        certificateRequest: csr,
      },
    );
    devices.push({ cert: certificateChain, key, serialNumber });
  }
  await identity.close();
  return devices;
}

type ClientCredentials = { clientId: string; clientSecret: string };

function lookUp(
  { host, port, ca }: TokenTarget,
  device: CertifiedDevice,
): Promise<ClientCredentials> {
  const path = `/oauth2-mtls/v1/merchants-credentials?serial_number=${device.serialNumber}`;
  const { cert, key } = device;
  return new Promise((resolve, reject) => {
    const clientRequest = request({
      host,
      port,
      ca,
      cert,
      key,
      path,
      servername: 'localhost',
      agent: false,
    });
    clientRequest.on('error', reject);
    clientRequest.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const [found] =
          response.statusCode === 200 ? (JSON.parse(text) as ClientCredentials[]) : [];
        if (found === undefined) reject(new Error(`no credentials: ${text}`));
        else resolve(found);
      });
    });
    clientRequest.end();
  });
}

/** As a device does after its start: it requests its client ID and secret. */
export function requestDeviceCredentials(
  target: TokenTarget,
  devices: readonly CertifiedDevice[],
): Promise<TokenDevice[]> {
  return Promise.all(
    devices.map(async (device) => {
      const { clientId, clientSecret } = await lookUp(target, device);
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      }).toString();
      return { cert: device.cert, key: device.key, form };
    }),
  );
}
