// Starts the demo: a simulated acquirer, seeded data, demo.json and the printed table.
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import type { Catalog } from '../catalog/index.ts';
import { isFirstDocumentationBuild } from '../http/index.ts';
import type { Identity } from '../identity/index.ts';
import {
  type Clock,
  type Ids,
  type Log,
  type Settings,
  systemClock,
  systemIdGenerator,
} from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import { demoKeys } from '../vault/index.ts';
import { startAcquirerSimulator } from './acquirer-simulator.ts';
import { renderBanner } from './banner.ts';
import {
  acquirerUserDomain,
  demoQrService,
  demoServiceProvider,
  providerServices,
  qrProviderApplication,
  serviceProviderApplication,
} from './demo-data.ts';
import {
  buildDemoJson,
  type DemoAddresses,
  type DemoSecrets,
  type DeviceKeys,
  demoFileIn,
  readLastStart,
  readSecrets,
  writeDemoFile,
} from './demo-json.ts';
import { type ProviderClient, type QrProvider, startQrProvider } from './qr-provider.ts';
import { seedApplications } from './seed-applications.ts';
import { seedDeviceCertificates } from './seed-device-certificates.ts';
import { seedProvisioning } from './seed-provisioning.ts';
import { seedServices } from './seed-services.ts';
import { seedUsers } from './seed-users.ts';
import type { SupervisedProcess } from './supervised-process.ts';

export { demoUserDomainId } from './demo-data.ts';
export { createTerminalStarter } from './simulated-terminals.ts';

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
  readonly modules: {
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
  /** Prints all addresses, applications, merchants and devices. */
  readonly verbose?: boolean;
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

const ledgerDirOf = (dataDir: string): string => join(dataDir, 'acquirer');

/** Another running platform uses the directory. */
export class DemoStartError extends Error {
  override name = 'DemoFault';
}

/** Checks the health endpoint, if demo.json does not say which process wrote it. */
async function isHealthy(metricsUrl: string | undefined): Promise<boolean> {
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
export async function requireNoRunningDemo(dataDir: string): Promise<void> {
  const { metricsUrl, isRunning } = readLastStart(dataDir);
  if (!(isRunning ?? (await isHealthy(metricsUrl)))) return;
  throw new DemoStartError(
    `Switchyard already runs with the data directory ${dataDir} (health at ${metricsUrl}/healthz).\n` +
      'Stop the running platform, or use another data directory: SWITCHYARD_DATA_DIR=… npm start',
  );
}

type Simulators = { readonly simulator: SupervisedProcess; readonly qrProvider?: QrProvider };

/** Only the demo may call this machine; other environments have no provider on loopback. */
async function startSimulators(deps: DemoDeps, clock: Clock): Promise<Simulators> {
  const { settings, modules, log } = deps;
  const { dataDir, acquirerPort, acquirerTimeoutMs, environment, qrProviderPort } = settings;
  // A simulator that another process runs needs the same keys.
  const keysFile = demoKeys(dataDir).hostKeysFile();
  if (settings.simulators === 'off') {
    return { simulator: { port: acquirerPort, pid: () => undefined, stop: async () => {} } };
  }
  const simulator = startAcquirerSimulator({
    port: acquirerPort,
    acquirerTimeoutMs,
    clock,
    log,
    ledgerDir: ledgerDirOf(dataDir),
    keysFile,
  });
  if (qrProviderPort === undefined || environment !== 'demo') return { simulator: await simulator };
  const { services } = modules.catalog;
  const provider = startQrProvider({ port: qrProviderPort, dataDir, services, clock, log });
  const started = await Promise.allSettled([simulator, provider]);
  const [first, second] = started;
  if (first.status === 'fulfilled' && second.status === 'fulfilled') {
    return { simulator: first.value, qrProvider: second.value };
  }
  for (const each of started) if (each.status === 'fulfilled') await each.value.stop();
  throw first.status === 'rejected' ? first.reason : Object(second).reason;
}

async function stopSimulators({ simulator, qrProvider }: Simulators): Promise<void> {
  await Promise.all([simulator.stop(), qrProvider?.stop()]);
}

/** The services of the reference provider: one of the acquirer, and one of another organisation. */
function providerAccountsOf({ applications }: DemoSecrets): ProviderClient[] {
  const secretOf = ({ clientId }: { clientId: string }) => {
    const clientSecret = applications.get(clientId) ?? '';
    return { clientId, clientSecret };
  };
  return [
    {
      serviceId: demoQrService.serviceId,
      userDomain: acquirerUserDomain,
      ...secretOf(qrProviderApplication),
    },
    {
      serviceId: providerServices.pay.serviceId,
      userDomain: demoServiceProvider,
      ...secretOf(serviceProviderApplication),
    },
  ];
}

/** Runs after the migrations and before the platform opens, so that the acquirer link exists. */
export async function startDemo(deps: DemoDeps): Promise<Demo> {
  const { settings, caFile } = deps;
  const { clock = systemClock, output = process.stdout } = deps;
  const { dataDir } = settings;
  await requireNoRunningDemo(dataDir);
  const simulators = await startSimulators(deps, clock);
  const { simulator, qrProvider } = simulators;
  try {
    const secrets = await seed(deps, simulator.port, clock);
    const keys = demoKeys(dataDir);
    const deviceKeys: DeviceKeys = ({ serialNumber, family }) =>
      keys.deviceKey(serialNumber, family === 'axium' ? 'DukptTdes' : 'DukptAes');
    writeDemoFile(dataDir, buildDemoJson(settings, caFile, secrets, deviceKeys));
    await qrProvider?.introduce(settings, providerAccountsOf(secrets), caFile);
    return {
      acquirerPort: simulator.port,
      announce(addresses = settings) {
        const facts = buildDemoJson(addresses, caFile, secrets, deviceKeys);
        writeDemoFile(dataDir, facts);
        const paths = {
          demoFile: demoFileIn(dataDir),
          ledgerDir: ledgerDirOf(dataDir),
          acquirerPort: simulator.port,
          ...defined({ qrProvider }),
        };
        const hasColours = output.isTTY === true && output.hasColors?.() === true;
        output.write(
          renderBanner(facts, paths, {
            hasColours,
            isDocumentationBeingBuilt: isFirstDocumentationBuild(),
            nowMs: clock.now(),
            isVerbose: deps.verbose ?? false,
          }),
        );
      },
      stop: () => stopSimulators(simulators),
    };
  } catch (error) {
    await stopSimulators(simulators);
    throw error;
  }
}

/** Seeds the database, and returns the secrets that only demo.json contains. */
async function seed(
  { settings, modules, ids = systemIdGenerator }: DemoDeps,
  acquirerPort: number,
  clock: Clock,
): Promise<DemoSecrets> {
  const { dataDir, baseUrl } = settings;
  const { identity, provisioning } = modules;
  await seedProvisioning(provisioning, acquirerPort);
  await seedServices(modules.catalog);
  const { pointsOfSale } = provisioning;
  await seedDeviceCertificates({ certificates: identity.devices.certificates, clock }, dataDir);
  const earlierSecrets = readSecrets(dataDir);
  return {
    applications: await seedApplications(
      { identity, pointsOfSale, ids, baseUrl },
      earlierSecrets.applications,
    ),
    users: await seedUsers({ identity, ids, clock }, earlierSecrets.users),
  };
}
