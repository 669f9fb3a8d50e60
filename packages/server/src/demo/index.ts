// Starts the demo: a simulated acquirer, seeded data, demo.json and the printed table.
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import type { Catalog } from '../catalog/index.ts';
import type { Identity } from '../identity/index.ts';
import {
  type Clock,
  type Ids,
  type Log,
  type Settings,
  systemClock,
  systemIds,
} from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import { demoKeys } from '../vault/index.ts';
import { seedApplications } from './applications.ts';
import { renderBanner } from './banner.ts';
import {
  acquirerHome,
  demoProvider,
  demoQrService,
  demoServiceProvider,
  providerServer,
  providerServices,
} from './catalogue.ts';
import {
  type DemoAddresses,
  type DemoSecrets,
  type DeviceKeys,
  demoFileIn,
  factsOf,
  readLastStart,
  readSecrets,
  writeFacts,
} from './demo-json.ts';
import { seedDeviceCertificates } from './devices.ts';
import { type ProviderAccount, type QrProvider, startQrProvider } from './qr-provider.ts';
import { seedProvisioning } from './seed.ts';
import { seedServices } from './services.ts';
import { startSimulator } from './simulator.ts';
import type { Simulator } from './supervised.ts';
import { seedUsers } from './users.ts';

export { demoUserDomainId } from './catalogue.ts';

export type Output = {
  readonly isTTY?: boolean;
  /** False if the user wants no colours. */
  hasColors?(): boolean;
  write(text: string): unknown;
};

export type DemoDeps = {
  readonly settings: DemoAddresses &
    Pick<Settings, 'dataDir' | 'acquirerPort' | 'acquirerTimeoutMs'> & {
      /** With `off`, the operator runs the simulator at the acquirer's port. */
      readonly simulators?: Settings['simulators'];
      /** Without it the demo starts no provider of QR payments. */
      readonly qrProviderPort?: Settings['qrProviderPort'];
    };
  readonly house: {
    readonly provisioning: Provisioning;
    readonly identity: Identity;
    readonly catalog: Pick<
      Catalog,
      'services' | 'packagesAndSubscriptions' | 'activations' | 'configuration'
    >;
  };
  readonly log: Log;
  /** Omitted behind a proxy that terminates TLS. */
  readonly caFile?: string | undefined;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly output?: Output;
};

export type Demo = {
  /** The port on which the simulator listens. */
  readonly acquirerPort: number;
  /** Prints the table; `addresses` replaces the settings if the server uses other ports. */
  announce(addresses?: DemoAddresses): void;
  stop(): Promise<void>;
};

/** A running platform may be slow to answer; without one, the port refuses at once. */
const healthTimeoutMs = 10_000;

const ledgerIn = (dataDir: string): string => join(dataDir, 'acquirer');

/** Another running platform uses the directory. */
export class DemoFault extends Error {
  override name = 'DemoFault';
}

/** Checks the health endpoint, if demo.json does not say which process wrote it. */
async function answersAt(metricsUrl: string | undefined): Promise<boolean> {
  if (metricsUrl === undefined) return false;
  const signal = AbortSignal.timeout(healthTimeoutMs);
  return fetch(`${metricsUrl}/healthz`, { signal }).then(
    async (answer) => answer.ok && (await answer.text()).includes('"ok"'),
    () => false,
  );
}

// Two demos in one directory would overwrite each other's link, ledger and addresses. A stopping
// demo counts until its process has ended, because it closes its database last. Another process may
// have its ports by then.
export async function refuseSecondCopy(dataDir: string): Promise<void> {
  const { metricsUrl, isElsewhere } = readLastStart(dataDir);
  if (!(isElsewhere ?? (await answersAt(metricsUrl)))) return;
  throw new DemoFault(
    `Switchyard is running on ${dataDir} already (health at ${metricsUrl}/healthz).\n` +
      'Stop it first, or give this one a directory of its own: SWITCHYARD_DATA_DIR=… npm start',
  );
}

type Neighbours = { readonly simulator: Simulator; readonly qrProvider?: QrProvider };

/** Only the demo may call this machine; other environments have no provider on loopback. */
async function startNeighbours(deps: DemoDeps, clock: Clock): Promise<Neighbours> {
  const { settings, house, log } = deps;
  const { dataDir, acquirerPort, acquirerTimeoutMs, environment, qrProviderPort } = settings;
  if (settings.simulators === 'off') {
    return { simulator: { port: acquirerPort, pid: () => undefined, stop: async () => {} } };
  }
  const simulator = startSimulator({
    port: acquirerPort,
    acquirerTimeoutMs,
    clock,
    log,
    ledgerDir: ledgerIn(dataDir),
    keysFile: demoKeys(dataDir).hostKeysFile(),
  });
  if (qrProviderPort === undefined || environment !== 'demo') return { simulator: await simulator };
  const { services } = house.catalog;
  const provider = startQrProvider({ port: qrProviderPort, dataDir, services, clock, log });
  const started = await Promise.allSettled([simulator, provider]);
  const [first, second] = started;
  if (first.status === 'fulfilled' && second.status === 'fulfilled') {
    return { simulator: first.value, qrProvider: second.value };
  }
  for (const each of started) if (each.status === 'fulfilled') await each.value.stop();
  throw first.status === 'rejected' ? first.reason : Object(second).reason;
}

async function stopAll({ simulator, qrProvider }: Neighbours): Promise<void> {
  await Promise.all([simulator.stop(), qrProvider?.stop()]);
}

/** The services of the reference provider: one of the acquirer, and one of another organisation. */
function accountsOf({ applications }: DemoSecrets): ProviderAccount[] {
  const secretOf = ({ clientId }: { clientId: string }) => {
    const clientSecret = applications.get(clientId) ?? '';
    return { clientId, clientSecret };
  };
  return [
    { serviceId: demoQrService.serviceId, home: acquirerHome, ...secretOf(demoProvider) },
    {
      serviceId: providerServices.pay.serviceId,
      home: demoServiceProvider,
      ...secretOf(providerServer),
    },
  ];
}

/** Runs after the migrations and before the platform opens, so that the acquirer link exists. */
export async function startDemo(deps: DemoDeps): Promise<Demo> {
  const { settings, caFile } = deps;
  const { clock = systemClock, output = process.stdout } = deps;
  const { dataDir } = settings;
  await refuseSecondCopy(dataDir);
  const neighbours = await startNeighbours(deps, clock);
  const { simulator, qrProvider } = neighbours;
  try {
    const secrets = await seed(deps, simulator.port, clock);
    const keys = demoKeys(dataDir);
    const deviceKeys: DeviceKeys = ({ serialNumber, family }) =>
      keys.deviceKey(serialNumber, family === 'axium' ? 'DukptTdes' : 'DukptAes');
    writeFacts(dataDir, factsOf(settings, caFile, secrets, deviceKeys));
    await qrProvider?.introduce(settings, accountsOf(secrets), caFile);
    return {
      acquirerPort: simulator.port,
      announce(addresses = settings) {
        const facts = factsOf(addresses, caFile, secrets, deviceKeys);
        writeFacts(dataDir, facts);
        const places = {
          demoFile: demoFileIn(dataDir),
          ledgerDir: ledgerIn(dataDir),
          acquirerPort: simulator.port,
          ...defined({ qrProvider }),
        };
        const colour = output.isTTY === true && output.hasColors?.() === true;
        output.write(renderBanner(facts, places, { colour, at: clock.now() }));
      },
      stop: () => stopAll(neighbours),
    };
  } catch (error) {
    await stopAll(neighbours);
    throw error;
  }
}

/** Seeds the database, and returns the secrets that only demo.json contains. */
async function seed(
  { settings, house, ids = systemIds }: DemoDeps,
  acquirerPort: number,
  clock: Clock,
): Promise<DemoSecrets> {
  const { dataDir, baseUrl } = settings;
  const { identity, provisioning } = house;
  await seedProvisioning(provisioning, acquirerPort);
  await seedServices(house.catalog);
  const { pointsOfSale } = provisioning;
  await seedDeviceCertificates({ certificates: identity.devices.certificates, clock }, dataDir);
  const known = readSecrets(dataDir);
  return {
    applications: await seedApplications(
      { identity, pointsOfSale, ids, baseUrl },
      known.applications,
    ),
    users: await seedUsers({ identity, ids, clock }, known.users),
  };
}
