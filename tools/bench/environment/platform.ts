// The platform under test: a database in a temporary folder, which a benchmark fills, and then the server.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defined } from '@switchyard/contract';
import {
  createLog,
  type Database,
  type Log,
  migrate,
  openDatabase,
  startEmbeddedPostgres,
  systemClock,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import { repositoryRoot } from '../../repository-root.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { readResidentMemory } from '../report/process-times.ts';
import { statementCostSettings } from '../report/statement-costs.ts';
import { type ServerOptions, type ServerProcess, startServer } from './server-process.ts';

export const migrations = join(repositoryRoot, 'packages/server/migrations');
const profilerScript = fileURLToPath(new URL('../report/profiler.ts', import.meta.url));
const baselineDatabase = 'bench_bare';
/** The baselines of sales have up to 96 connections; nothing else differs from `npm start`. */
const databaseSettings = { max_connections: '150' };
const sampleEveryMs = 1000;

export type MemoryWatch = {
  /** The server's now and its highest so far, MiB. */
  now(): number;
  highest(): number;
};

export type RunningServer = ServerProcess & { memory: MemoryWatch };

export type Platform = {
  folder: string;
  dataDir: string;
  log: Log;
  database: Database;
  /** A database of the same PostgreSQL server, for baselines alone. */
  baselineUrl: string;
  /** With all its children. */
  postgresPid: number;
  profileFile: string;
  startServer(
    options?: Partial<Pick<ServerOptions, 'dataDir' | 'ports' | 'flags' | 'variables'>>,
  ): Promise<RunningServer>;
};

/** A folder that is deleted when the bench ends. */
export function makeFolder(closers: CloseStack, keepsFolder: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
  if (keepsFolder) process.stderr.write(`bench: everything is kept in ${folder}\n`);
  else closers.add(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Reads the server's memory every second, to know its highest. */
function watchMemory(closers: CloseStack, pid: number): MemoryWatch {
  let highest = 0;
  function sample(): number {
    const resident = readResidentMemory(pid);
    highest = Math.max(highest, resident);
    return resident;
  }
  const timer = setInterval(sample, sampleEveryMs);
  closers.add(async () => clearInterval(timer));
  return { now: sample, highest: () => highest };
}

/** Everything listens on loopback alone, and is deleted when the closers have run. */
export async function openPlatform(
  closers: CloseStack,
  { profile, keepsFolder }: Pick<BenchOptions, 'profile' | 'keepsFolder'>,
): Promise<Platform> {
  const folder = makeFolder(closers, keepsFolder);
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const settings = { ...databaseSettings, ...(profile ? statementCostSettings : {}) };
  const starting = startEmbeddedPostgres({ dataDir: join(folder, 'database'), log, settings });
  // Added first: the bench may be interrupted before PostgreSQL has started.
  closers.add(async () => (await starting).stop());
  const postgres = await starting;
  const database = openDatabase({ url: postgres.url, log, connections: 2 });
  closers.add(() => database.close());
  await migrate(database, migrations, { log, clock: systemClock, ids: systemIdGenerator });
  await database.session(({ query }) => query(`CREATE DATABASE ${baselineDatabase}`));
  const baselineUrl = new URL(postgres.url);
  baselineUrl.pathname = `/${baselineDatabase}`;
  const dataDir = join(folder, 'platform');
  mkdirSync(dataDir);
  const profileFile = join(folder, 'server.cpuprofile');
  return {
    folder,
    dataDir,
    log,
    database,
    profileFile,
    baselineUrl: baselineUrl.href,
    postgresPid: postgres.pid(),
    async startServer({ flags = [], variables = {}, ports, dataDir: ownDataDir = dataDir } = {}) {
      const server = await startServer(closers, {
        dataDir: ownDataDir,
        databaseUrl: postgres.url,
        way: 'process',
        flags: profile ? [...flags, '--import', profilerScript] : flags,
        variables: profile ? { ...variables, BENCH_PROFILE: profileFile } : variables,
        ...defined({ ports }),
      });
      return { ...server, memory: watchMemory(closers, server.pid) };
    },
  };
}

/** The certificate of the server with its key, PEM, for baselines over TLS. */
export function readServerCertificate({ dataDir }: Platform): { cert: string; key: string } {
  const read = (name: string) => readFileSync(join(dataDir, 'tls', name), 'utf8');
  return { cert: read('server.pem'), key: read('server-key.pem') };
}

/** Prints the progress of a long work, at most every five seconds. */
export function createProgress(printLine: (line: string) => void) {
  const printEveryMs = 5000;
  const beganMs = performance.now();
  const secondsSoFar = () => (performance.now() - beganMs) / 1000;
  let printedMs = beganMs;
  return {
    seconds: secondsSoFar,
    report(text: string): void {
      if (performance.now() - printedMs < printEveryMs) return;
      printedMs = performance.now();
      printLine(`  ${text} after ${Math.round(secondsSoFar())} s`);
    },
  };
}
