// What a run of tokens needs: platform, server, baseline and load, each a process.
// First of all: it brings the polyfill that @peculiar/x509 requires.
import '../../../packages/server/src/platform/tls/local-certificate-authority.ts';
import { webcrypto } from 'node:crypto';
import { PemConverter, Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import type { TokenBaselineFunctions } from '../baseline/token-baseline-process.ts';
import type { BenchOptions } from '../bench-options.ts';
import { type BenchProcess, startProcess } from '../bench-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import {
  openPlatform,
  type Platform,
  type RunningServer,
  readServerCertificate,
} from '../environment/platform.ts';
import {
  createMerchant,
  createStore,
  createTerminal,
  type Identity,
  openProvisioning,
  withIdentity,
} from '../environment/provision-in-database.ts';
import {
  type Credentials,
  clientCredentialsForm,
  sendRequest,
  type Target,
} from '../environment/send-single-request.ts';
import type { TokenDevice, TokenLoadFunctions } from './token-load.ts';
import {
  type ManyRealms,
  provisionRealms,
  provisionTokens,
  type TokenProvision,
} from './token-provision.ts';

export type TokenEnvironment = {
  platform: Platform;
  server: RunningServer;
  baselinePid: number;
  baselineTarget: Target;
  /** The device listener. */
  deviceTarget: Target;
  load: BenchProcess<TokenLoadFunctions>;
  provision: TokenProvision;
  realms: ManyRealms;
  /** As many as there are connections. */
  devices: TokenDevice[];
};

/** Each has a certificate of its own, and limits of its own. */
export const persistentConnections = 32;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const firstSerial = 70_000_000;

type CertifiedDevice = { cert: string; key: string; serialNumber: string };

async function createCertificateRequest(): Promise<{ key: string; csr: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const csr = await Pkcs10CertificateRequestGenerator.create(
    { name: 'CN=device', keys, signingAlgorithm: algorithm },
    webcrypto,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { key: PemConverter.encode(pkcs8, 'PRIVATE KEY'), csr: csr.toString('pem') };
}

/** Before the server starts; the devices belong to one store. */
async function certifyDevices(
  platform: Platform,
  organizationId: string,
): Promise<CertifiedDevice[]> {
  const scope = { organizationId };
  const provisioning = openProvisioning(platform);
  const { organizations, physicalDevices, logicalDevices } = provisioning;
  await organizations.create(scope, { name: 'Bench' }, organizationId);
  const merchantId = await createMerchant(provisioning, organizationId, 'Bench merchant');
  const storeId = await createStore(provisioning, organizationId, merchantId);
  const certify = async (number: number, identity: Identity) => {
    const till = { storeId, name: `Till ${number}` };
    const { logicalDeviceId } = (await logicalDevices.create(scope, till)).view;
    const serialNumber = String(firstSerial + number);
    const terminal = { merchantId, logicalDeviceId, serialNumber };
    const physicalDeviceId = await createTerminal(provisioning, organizationId, terminal);
    const { key, csr } = await createCertificateRequest();
    const { certificates } = identity.devices;
    const order = { certificateRequest: csr };
    const { certificateChain } = await certificates.enrol(scope, physicalDeviceId, order);
    return { cert: certificateChain, key, serialNumber };
  };
  return withIdentity(
    platform,
    async (identity) => {
      const devices: CertifiedDevice[] = [];
      for (let number = 0; number < persistentConnections; number += 1) {
        devices.push(await certify(number, identity));
      }
      return devices;
    },
    async (within, id) => (await physicalDevices.get(within, id)).view,
  );
}

/** A device requests its client ID and secret after its start. */
async function requestCredentials(
  target: Target,
  { cert, key, serialNumber }: CertifiedDevice,
): Promise<TokenDevice> {
  const path = `/oauth2-mtls/v1/merchants-credentials?serial_number=${serialNumber}`;
  const { status, text } = await sendRequest(target, { path, client: { cert, key } });
  const [credentials] = status === 200 ? (JSON.parse(text) as Credentials[]) : [];
  if (credentials === undefined) throw new Error(`no credentials: ${text}`);
  return { cert, key, form: clientCredentialsForm(credentials) };
}

export async function openTokenEnvironment(
  closers: CloseStack,
  options: BenchOptions,
): Promise<TokenEnvironment> {
  const platform = await openPlatform(closers, options);
  const provision = await provisionTokens(platform);
  const realms = await provisionRealms(platform, options.realms);
  const certified = await certifyDevices(platform, provision.organizationId);
  const server = await platform.startServer();
  const { target } = server;
  const deviceTarget = {
    ...target,
    port: server.devicePort,
    authority: `localhost:${server.devicePort}`,
  };
  const baseline = startProcess<TokenBaselineFunctions>(
    closers,
    new URL('../baseline/token-baseline-process.ts', import.meta.url),
  );
  const baselinePort = await baseline.call('serve', readServerCertificate(platform));
  const loadScript = new URL('./token-load.ts', import.meta.url);
  return {
    platform,
    server,
    provision,
    realms,
    deviceTarget,
    baselinePid: baseline.pid,
    baselineTarget: { ...target, port: baselinePort },
    load: startProcess<TokenLoadFunctions>(closers, loadScript),
    devices: await Promise.all(certified.map((each) => requestCredentials(deviceTarget, each))),
  };
}
