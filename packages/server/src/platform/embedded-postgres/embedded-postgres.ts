// Runs a PostgreSQL of our own: starts or adopts it, starts it again when it dies, stops it with us.

import type { Log } from '../observability/log.ts';
import { pause } from '../time/clock.ts';
import { findBinaries } from './binaries.ts';
import {
  dropSocketDirectory,
  openHome,
  ownedDirectory,
  type Place,
  socketDirectory,
} from './data-directory.ts';
import { ensureCluster } from './database-cluster.ts';
import { claimOwnership, dropOwnership } from './instance-lock.ts';
import { serverAccount } from './server-account.ts';
import type { PostgresSettings } from './server-configuration.ts';
import {
  answers,
  databaseUrl,
  findPostmaster,
  hasSocket,
  logLength,
  logTail,
  type Postmaster,
  startPostmaster,
  stopPostmaster,
} from './server-process.ts';

const firstPauseMs = 50;
const longestPauseMs = 5_000;
const remainsPauseMs = 100;
const guestPauseMs = 100;
/** How long a first start waits for the remains of a killed server, and a guest for its host. */
const patienceMs = 60_000;
/** What a new server says while processes of a killed one still end; they do so by themselves. */
const remains = /pre-existing shared memory block|lock file "postmaster.pid" already exists/;

export type EmbeddedPostgres = {
  url: string;
  /** Process id of the server at this moment. */
  pid(): number;
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  dataDir: string;
  log: Log;
  /** Directory with `initdb` and `postgres`, instead of the npm package's. */
  binDir?: string | undefined;
  /** PostgreSQL settings over ours, for tests. */
  settings?: PostgresSettings;
};

export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { log } = options;
  const place = await openHome(options.dataDir, serverAccount);
  const { home } = place;
  if (!(await claimOwnership(home))) {
    const host = await findHost(options, home);
    if (host !== undefined) {
      log.info({ pid: host.pid }, 'using the embedded PostgreSQL of another process');
      return { url: databaseUrl(host.socketDir), pid: () => host.pid, stop: async () => {} };
    }
  }
  let current: Postmaster;
  try {
    current = (await adopt(home)) ?? (await launch(options, place));
  } catch (error) {
    await dropOwnership(home);
    throw error;
  }
  const stopping = new AbortController();
  const stopAsked = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const watched = watch();

  /** Follows one server after the other until we stop: whatever ends them, the next one is started. */
  async function watch(): Promise<void> {
    for (;;) {
      await Promise.race([current.gone, stopAsked]);
      if (stopping.signal.aborted) return;
      const tail = await logTail(home).catch(() => '');
      log.error({ pid: current.pid, tail }, 'embedded PostgreSQL has died');
      for (let waitMs = firstPauseMs; ; waitMs = Math.min(waitMs * 2, longestPauseMs)) {
        try {
          current =
            (await adopt(home, stopping.signal)) ??
            (await launch(options, place, current.socketDir, stopping.signal));
          log.info({ pid: current.pid }, 'embedded PostgreSQL is back');
          break;
        } catch (error) {
          log.error({ err: error, waitMs }, 'embedded PostgreSQL does not start');
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
      await watched;
      await stopPostmaster(current);
      await dropSocketDirectory(home, current.socketDir);
      await dropOwnership(home);
    },
  };
}

async function adopt(home: string, stopping?: AbortSignal): Promise<Postmaster | undefined> {
  const found = await findPostmaster(home);
  if (found === undefined) return undefined;
  if (!(await hasSocket(found))) {
    await stopPostmaster(found);
    return undefined;
  }
  return (await answers(home, found, stopping)) ? found : undefined;
}

async function launch(
  { binDir, settings = {} }: EmbeddedPostgresOptions,
  place: Place,
  sameSocketDir?: string,
  stopping?: AbortSignal,
): Promise<Postmaster> {
  const { home } = place;
  const binaries = await findBinaries(place, binDir);
  await ensureCluster(place, binaries, settings);
  const socketDir = sameSocketDir ?? (await socketDirectory(place));
  await ownedDirectory(socketDir, place.account);
  for (let waitedMs = 0; ; waitedMs += remainsPauseMs) {
    const logStart = await logLength(home);
    const started = await startPostmaster(place, binaries.postgres, socketDir);
    if (await answers(home, started, stopping)) return started;
    if (stopping?.aborted === true) await stopPostmaster(started);
    const tail = await logTail(home, logStart);
    if (stopping?.aborted === true || waitedMs >= patienceMs || !remains.test(tail)) {
      throw new Error(`PostgreSQL does not start:\n${tail}`);
    }
    await pause(remainsPauseMs);
    const other = await adopt(home, stopping);
    if (other !== undefined) return other;
  }
}

/**
 * For commands beside a running platform: they use its server, and leave starting and stopping to it. Who comes
 * while the other one stops owns the place once that is gone, and is given no host then.
 */
async function findHost(
  { log }: EmbeddedPostgresOptions,
  home: string,
): Promise<Postmaster | undefined> {
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += guestPauseMs) {
    const host = await adopt(home);
    if (host !== undefined) return host;
    if (waitedMs === 0)
      log.info({ home }, 'waiting for the embedded PostgreSQL of another process');
    await pause(guestPauseMs);
    if (await claimOwnership(home)) return undefined;
  }
  throw new Error(`another process owns ${home}, but its PostgreSQL does not answer`);
}
