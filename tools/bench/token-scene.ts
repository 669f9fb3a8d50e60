// Builds what a run of tokens needs: database, server, bare line and load, each a process.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog, type Database } from '../../packages/server/src/platform/index.ts';
import type { Closers } from './closers.ts';
import { type Memory, makeFolder, profileOf, startDatabase, watchMemory } from './scene.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { statementCostSettings } from './statement-costs.ts';
import {
  type BareTokens,
  startBareTokens,
  startTokenLoad,
  type TokenLoad,
} from './token-client.ts';
import type { TokenTarget } from './token-messages.ts';
import {
  type ManyRealms,
  provisionRealms,
  provisionTokens,
  type TokenProvision,
} from './token-provision.ts';

const profilerScript = fileURLToPath(new URL('./profiler.ts', import.meta.url));

export type TokenScene = {
  folder: string;
  database: Database;
  server: ServerProcess;
  bare: BareTokens;
  load: TokenLoad;
  memory: Memory;
  provision: TokenProvision;
  realms: ManyRealms;
  postgresPid: number;
  /** Where a path of the server, or of the bare line, is asked. */
  target(path: string, of?: 'bare'): TokenTarget;
};

export type TokenSceneOptions = { realms: number; profile: boolean; keep: boolean };

/** Everything listens on loopback alone, and is gone when the closers have run. */
export async function openTokenScene(
  closers: Closers,
  options: TokenSceneOptions,
): Promise<TokenScene> {
  const folder = makeFolder(closers, options.keep);
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
  const server = await startServer(closers, {
    dataDir,
    databaseUrl: postgres.url,
    way: 'process',
    ...(options.profile
      ? { flags: ['--import', profilerScript], variables: { BENCH_PROFILE: profileOf(folder) } }
      : {}),
  });
  const bare = await startBareTokens(closers, dataDir);
  const ca = readFileSync(server.caFile, 'utf8');
  return {
    folder,
    database,
    server,
    bare,
    load: startTokenLoad(closers),
    memory: watchMemory(closers, server.pid),
    provision,
    realms,
    postgresPid: postgres.pid(),
    target: (path, of) => ({
      host: '127.0.0.1',
      port: of === 'bare' ? bare.port : server.port,
      authority: server.authority,
      path,
      ca,
    }),
  };
}
