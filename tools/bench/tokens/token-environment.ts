// Builds what a run of tokens needs: database, server, bare line and load, each a process.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog, type Database } from '../../../packages/server/src/platform/index.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import {
  type MemoryWatch,
  makeFolder,
  readProfile,
  startDatabase,
  watchMemory,
} from '../environment/bench-environment.ts';
import { type ServerProcess, startServer } from '../environment/server-process.ts';
import { statementCostSettings } from '../report/statement-costs.ts';
import {
  startTokenBaseline,
  startTokenLoad,
  type TokenBaseline,
  type TokenLoad,
} from './token-client.ts';
import { provisionDevices, requestDeviceCredentials } from './token-devices.ts';
import type { TokenDevice, TokenTarget } from './token-messages.ts';
import {
  type ManyRealms,
  provisionRealms,
  provisionTokens,
  type TokenProvision,
} from './token-provision.ts';

const profilerScript = fileURLToPath(new URL('../report/profiler.ts', import.meta.url));

export type TokenEnvironment = {
  folder: string;
  database: Database;
  server: ServerProcess;
  baseline: TokenBaseline;
  load: TokenLoad;
  memory: MemoryWatch;
  provision: TokenProvision;
  realms: ManyRealms;
  /** As many as there are connections. */
  devices: TokenDevice[];
  postgresPid: number;
  /** Where a path of the API, of the device listener or of the bare line is requested. */
  target(path: string, listener?: TokenListener): TokenTarget;
};

type TokenListener = 'api' | 'devices' | 'bare';

/** Each has a certificate of its own, and limits of its own. */
export const persistentConnections = 32;

export type TokenEnvironmentOptions = { realms: number; profile: boolean; keepsFolder: boolean };

/** Everything listens on loopback alone, and is gone when the closers have run. */
export async function openTokenEnvironment(
  closers: CloseStack,
  options: TokenEnvironmentOptions,
): Promise<TokenEnvironment> {
  const folder = makeFolder(closers, options.keepsFolder);
  const { postgres, database } = await startDatabase(
    closers,
    folder,
    options.profile ? statementCostSettings : {},
  );
  const dataDir = join(folder, 'platform');
  mkdirSync(dataDir);
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const provision = await provisionTokens({ database, log, dataDir });
  const realms = await provisionRealms({ database, log, dataDir }, options.realms);
  const certified = await provisionDevices(
    { database, log, dataDir },
    provision.organizationId,
    persistentConnections,
  );
  const server = await startServer(closers, {
    dataDir,
    databaseUrl: postgres.url,
    way: 'process',
    ...(options.profile
      ? { flags: ['--import', profilerScript], variables: { BENCH_PROFILE: readProfile(folder) } }
      : {}),
  });
  const baseline = await startTokenBaseline(closers, dataDir);
  const ca = readFileSync(server.caFile, 'utf8');
  const ports = { api: server.port, devices: server.devicePort, bare: baseline.port };
  const target = (path: string, listener: TokenListener = 'api'): TokenTarget => ({
    host: '127.0.0.1',
    port: ports[listener],
    authority: listener === 'devices' ? `localhost:${server.devicePort}` : server.authority,
    path,
    ca,
  });
  return {
    folder,
    database,
    server,
    baseline,
    load: startTokenLoad(closers),
    memory: watchMemory(closers, server.pid),
    provision,
    realms,
    postgresPid: postgres.pid(),
    devices: await requestDeviceCredentials(target('/', 'devices'), certified),
    target,
  };
}
