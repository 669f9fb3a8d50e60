// Runs the embedded PostgreSQL: starts it or takes over a running server, restarts it after a
// crash, stops it with this process.

import type { Log } from '../observability/log.ts';
import { pause } from '../time/clock.ts';
import { findBinaries } from './binaries.ts';
import {
  createOwnedDirectory,
  type DataDirectory,
  ensureSocketDirectory,
  openDataDirectory,
  removeSocketDirectory,
} from './data-directory.ts';
import { ensureCluster } from './database-cluster.ts';
import { acquireInstanceLock, releaseInstanceLock } from './instance-lock.ts';
import { serverAccount } from './server-account.ts';
import type { PostgresSettings } from './server-configuration.ts';
import {
  databaseUrl,
  findPostmaster,
  hasSocket,
  logLength,
  logTail,
  type Postmaster,
  startPostmaster,
  stopPostmaster,
  waitUntilReady,
} from './server-process.ts';

const firstPauseMs = 50;
const maxPauseMs = 5_000;
const remainsPauseMs = 100;
const guestPauseMs = 100;
/** How long a start waits for processes of a killed server, and for the server of another process. */
const maxWaitMs = 60_000;
/** Errors of a new server while processes of a killed server still end. */
const remainsPattern = /pre-existing shared memory block|lock file "postmaster.pid" already exists/;

export type EmbeddedPostgres = {
  url: string;
  /** Process id of the current server. */
  pid(): number;
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  dataDir: string;
  log: Log;
  /** Directory of `initdb` and `postgres`, in place of those of the npm package. */
  binDir?: string | undefined;
  /** Overrides of PostgreSQL settings, for tests. */
  settings?: PostgresSettings;
};

export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { log } = options;
  const directory = await openDataDirectory(options.dataDir, serverAccount);
  const { home } = directory;
  if (!(await acquireInstanceLock(home))) {
    const host = await waitForHost(options, home);
    if (host !== undefined) {
      log.info({ pid: host.pid }, 'using the embedded PostgreSQL of another process');
      return { url: databaseUrl(host.socketDir), pid: () => host.pid, stop: async () => {} };
    }
  }
  let current: Postmaster;
  try {
    current = (await adoptRunningServer(home)) ?? (await startServer(options, directory));
  } catch (error) {
    await releaseInstanceLock(home);
    throw error;
  }
  const stopping = new AbortController();
  const stopRequested = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const watchEnded = watch();

  /** Restarts the server whenever it ends, until this process stops. */
  async function watch(): Promise<void> {
    for (;;) {
      await Promise.race([current.exited, stopRequested]);
      if (stopping.signal.aborted) return;
      const tail = await logTail(home).catch(() => '');
      log.error({ pid: current.pid, tail }, 'the embedded PostgreSQL ended unexpectedly');
      for (let waitMs = firstPauseMs; ; waitMs = Math.min(waitMs * 2, maxPauseMs)) {
        try {
          current =
            (await adoptRunningServer(home, stopping.signal)) ??
            (await startServer(options, directory, current.socketDir, stopping.signal));
          log.info({ pid: current.pid }, 'the embedded PostgreSQL was restarted');
          break;
        } catch (error) {
          log.error({ err: error, waitMs }, 'the embedded PostgreSQL does not start');
        }
        await pause(waitMs, stopping.signal);
        if (stopping.signal.aborted) return;
      }
    }
  }

  return {
    url: databaseUrl(current.socketDir),
    pid: () => current.pid,
    async stop() {
      if (stopping.signal.aborted) return;
      stopping.abort();
      await watchEnded;
      await stopPostmaster(current);
      await removeSocketDirectory(home, current.socketDir);
      await releaseInstanceLock(home);
    },
  };
}

async function adoptRunningServer(
  home: string,
  stopping?: AbortSignal,
): Promise<Postmaster | undefined> {
  const running = await findPostmaster(home);
  if (running === undefined) return undefined;
  if (!(await hasSocket(running))) {
    await stopPostmaster(running);
    return undefined;
  }
  return (await waitUntilReady(home, running, stopping)) ? running : undefined;
}

async function startServer(
  { binDir, settings = {} }: EmbeddedPostgresOptions,
  directory: DataDirectory,
  sameSocketDir?: string,
  stopping?: AbortSignal,
): Promise<Postmaster> {
  const { home } = directory;
  const binaries = await findBinaries(directory, binDir);
  await ensureCluster(directory, binaries, settings);
  const socketDir = sameSocketDir ?? (await ensureSocketDirectory(directory));
  await createOwnedDirectory(socketDir, directory.account);
  for (let waitedMs = 0; ; waitedMs += remainsPauseMs) {
    const logStart = await logLength(home);
    const started = await startPostmaster(directory, binaries.postgres, socketDir);
    if (await waitUntilReady(home, started, stopping)) return started;
    if (stopping?.aborted === true) await stopPostmaster(started);
    const tail = await logTail(home, logStart);
    if (stopping?.aborted === true || waitedMs >= maxWaitMs || !remainsPattern.test(tail)) {
      throw new Error(`PostgreSQL does not start:\n${tail}`);
    }
    await pause(remainsPauseMs);
    const other = await adoptRunningServer(home, stopping);
    if (other !== undefined) return other;
  }
}

/**
 * For commands that run beside the platform: they use its server and do not stop it. If the
 * platform stops in that time, this process becomes the owner and no other server is returned.
 */
async function waitForHost(
  { log }: EmbeddedPostgresOptions,
  home: string,
): Promise<Postmaster | undefined> {
  for (let waitedMs = 0; waitedMs < maxWaitMs; waitedMs += guestPauseMs) {
    const host = await adoptRunningServer(home);
    if (host !== undefined) return host;
    if (waitedMs === 0)
      log.info({ home }, 'waiting for the embedded PostgreSQL of another process');
    await pause(guestPauseMs);
    if (await acquireInstanceLock(home)) return undefined;
  }
  throw new Error(
    `another process runs the PostgreSQL of ${home}, but it does not respond; stop that process`,
  );
}
