// Controls one PostgreSQL server process: starts it, finds it, waits for it, stops it.
import { spawn } from 'node:child_process';
import { open, readFile, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { isProcessAlive } from '../process/process-identity.ts';
import { pause } from '../time/clock.ts';
import { type DataDirectory, socketName, workingDirectoryPath } from './data-directory.ts';
import { clusterDirectory, superuser } from './database-cluster.ts';

const pollMs = 10;
const exitPollMs = 200;
const connectTimeoutMs = 5_000;
const maxLogBytes = 8 * 1024 * 1024;
const tailBytes = 4096;
const tailLines = 12;
const fastStopMs = 20_000;
const immediateStopMs = 5_000;

export type Postmaster = {
  pid: number;
  socketDir: string;
  /** Resolves once the process has ended. */
  exited: Promise<void>;
};

export function databaseUrl(socketDir: string): string {
  const query = new URLSearchParams({
    host: socketDir,
    port: '5432',
    user: superuser,
    sslmode: 'disable',
  });
  return `postgresql:///postgres?${query}`;
}

export async function startPostmaster(
  { home, account, isAccessible }: DataDirectory,
  postgres: string,
  socketDir: string,
): Promise<Postmaster> {
  const cluster = clusterDirectory(home);
  const logFile = logFileOf(home);
  if ((await logLength(home)) > maxLogBytes) await rename(logFile, `${logFile}.1`);
  const log = await open(logFile, 'a', 0o600);
  try {
    const child = spawn(
      postgres,
      ['-D', isAccessible ? cluster : workingDirectoryPath, '-k', socketDir],
      {
        ...account,
        cwd: cluster,
        env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
        stdio: ['ignore', log.fd, log.fd],
        // Its own session: Ctrl+C reaches only this process, which stops the server at the end of its shutdown.
        detached: true,
      },
    );
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    return { pid: child.pid ?? 0, socketDir, exited };
  } finally {
    await log.close();
  }
}

/** A running server of this cluster without a parent, such as one whose parent was killed. */
export async function findPostmaster(home: string): Promise<Postmaster | undefined> {
  const pidFile = await readPidFile(home);
  if (pidFile === undefined || !isProcessAlive(pidFile.pid)) return undefined;
  if (await servesCluster(pidFile.pid, home))
    return { ...pidFile, exited: waitForExit(pidFile.pid) };
  // Another process has the id after a restart of the machine or the container: the file is stale.
  await rm(pidFileOf(home), { force: true });
  return undefined;
}

/** True once the server answers a query; false if it ends or this process stops. Crash recovery may take long. */
export async function waitUntilReady(
  home: string,
  postmaster: Postmaster,
  stopping?: AbortSignal,
): Promise<boolean> {
  let isDead = false;
  void postmaster.exited.then(() => {
    isDead = true;
  });
  while (!isDead && stopping?.aborted !== true) {
    const pidFile = await readPidFile(home);
    if (
      pidFile?.pid === postmaster.pid &&
      pidFile.ready &&
      (await acceptsQueries(pidFile.socketDir))
    ) {
      return true;
    }
    await pause(pollMs);
  }
  return false;
}

/** Fast shutdown first (ends sessions, writes a checkpoint), then immediate shutdown, which needs crash recovery. */
export async function stopPostmaster({ pid, exited }: Postmaster): Promise<void> {
  const steps = [
    ['SIGINT', fastStopMs],
    ['SIGQUIT', immediateStopMs],
    ['SIGKILL', immediateStopMs],
  ] as const;
  for (const [signal, waitMs] of steps) {
    if (isProcessAlive(pid)) process.kill(pid, signal);
    const limit = new AbortController();
    const timeout = pause(waitMs, limit.signal).then(() => true);
    const stopped = !(await Promise.race([exited.then(() => false), timeout]));
    limit.abort();
    if (stopped) return;
  }
}

/** The length of the log, to read later what was added. */
export function logLength(home: string): Promise<number> {
  return stat(logFileOf(home)).then(
    (file) => file.size,
    () => 0,
  );
}

/** The end of the server's log after an offset, to report why the server ended. */
export async function logTail(home: string, since = 0): Promise<string> {
  const handle = await open(logFileOf(home), 'r').catch(() => undefined);
  if (handle === undefined) return '';
  try {
    const { size } = await handle.stat();
    const start = Math.max(since > size ? 0 : since, size - tailBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(tailBytes), 0, tailBytes, start);
    return buffer.toString('utf8', 0, bytesRead).trim().split('\n').slice(-tailLines).join('\n');
  } finally {
    await handle.close();
  }
}

/** False if the socket was deleted together with other temporary files. No client can then connect. */
export function hasSocket({ socketDir }: Postmaster): Promise<boolean> {
  return stat(join(socketDir, socketName)).then(
    () => true,
    () => false,
  );
}

function logFileOf(home: string): string {
  return join(home, 'server.log');
}

function pidFileOf(home: string): string {
  return join(clusterDirectory(home), 'postmaster.pid');
}

type PidFile = { pid: number; socketDir: string; ready: boolean };

/** Lines of postmaster.pid: id, data, start, port, socket directory, address, memory key, state. */
async function readPidFile(home: string): Promise<PidFile | undefined> {
  const text = await readFile(pidFileOf(home), 'utf8').catch(() => undefined);
  const [pid, , , , socketDir, , , state] = text?.split('\n') ?? [];
  if (pid === undefined || socketDir === undefined || socketDir === '') return undefined;
  return { pid: Number(pid), socketDir, ready: state?.trim() === 'ready' };
}

/** The working directory of a server is its data directory. Without /proc this is assumed. */
async function servesCluster(pid: number, home: string): Promise<boolean> {
  try {
    const workingDirectory = await readlink(`/proc/${pid}/cwd`);
    return workingDirectory === (await realpath(clusterDirectory(home)));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EACCES';
  }
}

async function waitForExit(pid: number): Promise<void> {
  while (isProcessAlive(pid)) {
    // The timer for a process of another parent must not keep this process alive.
    await new Promise((resolve) => {
      setTimeout(resolve, exitPollMs).unref();
    });
  }
}

async function acceptsQueries(socketDir: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: databaseUrl(socketDir),
    connectionTimeoutMillis: connectTimeoutMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
