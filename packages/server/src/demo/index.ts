// The door of the demo: a simulated acquirer, seeded data, demo.json and the printed table.
import { join } from 'node:path';
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
  type DemoAddresses,
  type DeviceKeys,
  demoFileIn,
  factsOf,
  readMetricsUrl,
  readSecrets,
  writeFacts,
} from './demo-json.ts';
import { seedDeviceCertificates } from './devices.ts';
import { seedProvisioning } from './seed.ts';
import { seedServices } from './services.ts';
import { startSimulator } from './simulator.ts';
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

const healthTimeoutMs = 1000;

/** The directory is in use by a platform that lives. */
export class DemoFault extends Error {
  override name = 'DemoFault';
}

// Two demos on one directory would take each other's link, ledger and addresses.
async function refuseSecondCopy(dataDir: string): Promise<void> {
  const metricsUrl = readMetricsUrl(dataDir);
  if (metricsUrl === undefined) return;
  const signal = AbortSignal.timeout(healthTimeoutMs);
  const alive = await fetch(`${metricsUrl}/healthz`, { signal }).then(
    async (answer) => answer.ok && (await answer.text()).includes('"ok"'),
    () => false,
  );
  if (!alive) return;
  throw new DemoFault(
    `Switchyard is running on ${dataDir} already (health at ${metricsUrl}/healthz).\n` +
      'Stop it first, or give this one a directory of its own: SWITCHYARD_DATA_DIR=… npm start',
  );
}

/** Comes after the migrations and before the house is opened, which then finds its acquirer there. */
export async function startDemo(deps: DemoDeps): Promise<Demo> {
  const { settings, house, log, caFile } = deps;
  const { clock = systemClock, ids = systemIds, output = process.stdout } = deps;
  const { dataDir, acquirerTimeoutMs } = settings;
  await refuseSecondCopy(dataDir);
  const ledgerDir = join(dataDir, 'acquirer');
  const port = settings.acquirerPort;
  const keys = demoKeys(dataDir);
  const simulator =
    settings.simulators === 'off'
      ? { port, stop: async () => {} }
      : await startSimulator({
          ...{ port, ledgerDir, acquirerTimeoutMs, clock, log },
          keysFile: keys.hostKeysFile(),
        });
  try {
    await seedProvisioning(house.provisioning, simulator.port);
    await seedServices(house.catalog);
    const { identity, provisioning } = house;
    const { pointsOfSale } = provisioning;
    await seedDeviceCertificates({ certificates: identity.devices.certificates, clock }, dataDir);
    const known = readSecrets(dataDir);
    const secrets = {
      applications: await seedApplications({ identity, pointsOfSale, ids }, known.applications),
      users: await seedUsers({ identity, ids, clock }, known.users),
    };
    const deviceKeys: DeviceKeys = ({ serialNumber, family }) =>
      keys.deviceKey(serialNumber, family === 'axium' ? 'DukptTdes' : 'DukptAes');
    writeFacts(dataDir, factsOf(settings, caFile, secrets, deviceKeys));
    return {
      acquirerPort: simulator.port,
      announce(addresses = settings) {
        const facts = factsOf(addresses, caFile, secrets, deviceKeys);
        writeFacts(dataDir, facts);
        const places = { demoFile: demoFileIn(dataDir), ledgerDir, acquirerPort: simulator.port };
        const colour = output.isTTY === true && output.hasColors?.() === true;
        output.write(renderBanner(facts, places, { colour, at: clock.now() }));
      },
      stop: simulator.stop,
    };
  } catch (error) {
    await simulator.stop();
    throw error;
  }
}
