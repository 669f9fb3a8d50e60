// The door of the demo: a simulated acquirer, seeded data, demo.json and the printed table.
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
  /** Says no where the reader asked for no colours. */
  hasColors?(): boolean;
  write(text: string): unknown;
};

export type DemoDeps = {
  readonly settings: DemoAddresses &
    Pick<Settings, 'dataDir' | 'acquirerPort' | 'acquirerTimeoutMs'> & {
      /** With `off` somebody else runs the simulator at the acquirer's port. */
      readonly simulators?: Settings['simulators'];
      /** Without one no provider of QR payments is started. */
      readonly qrProviderPort?: Settings['qrProviderPort'];
    };
  readonly house: {
    readonly provisioning: Provisioning;
    readonly identity: Identity;
    readonly catalog: Pick<Catalog, 'services' | 'offers' | 'activations' | 'configuration'>;
  };
  readonly log: Log;
  /** Absent behind a proxy that ends TLS itself. */
  readonly caFile?: string | undefined;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly output?: Output;
};

export type Demo = {
  /** Where the simulator really listens. */
  readonly acquirerPort: number;
  /** Prints the table; with addresses where other ports were taken than the settings name. */
  announce(addresses?: DemoAddresses): void;
  stop(): Promise<void>;
};

/** One that lives may be busy; where none is, the port refuses at once. */
const healthTimeoutMs = 10_000;

const ledgerIn = (dataDir: string): string => join(dataDir, 'acquirer');

/** The directory is in use by a platform that lives. */
export class DemoFault extends Error {
  override name = 'DemoFault';
}

/** By its health, where demo.json does not say which process it was. */
async function answersAt(metricsUrl: string | undefined): Promise<boolean> {
  if (metricsUrl === undefined) return false;
  const signal = AbortSignal.timeout(healthTimeoutMs);
  return fetch(`${metricsUrl}/healthz`, { signal }).then(
    async (answer) => answer.ok && (await answer.text()).includes('"ok"'),
    () => false,
  );
}

// Two demos on one directory would take each other's link, ledger and addresses. One that stops is there
// until its process has ended, since its database goes last; another process may have its ports by then.
export async function refuseSecondCopy(dataDir: string): Promise<void> {
  const { metricsUrl, isElsewhere } = readLastStart(dataDir);
  if (!(isElsewhere ?? (await answersAt(metricsUrl)))) return;
  throw new DemoFault(
    `Switchyard is running on ${dataDir} already (health at ${metricsUrl}/healthz).\n` +
      'Stop it first, or give this one a directory of its own: SWITCHYARD_DATA_DIR=… npm start',
  );
}

type Neighbours = { readonly simulator: Simulator; readonly qrProvider?: QrProvider };

/** Calls to this machine are for the demo alone: elsewhere there is no provider on loopback. */
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

/** What the reference provider serves: a service of the acquirer's own, and one of another organisation. */
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

/** Comes after the migrations and before the house is opened, which then finds its acquirer there. */
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

/** What stands in the database, and the secrets that only demo.json knows. */
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
