// Runs a simulator as a child process: starts it, restarts it, and stops it with the platform.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Clock, type Log, pause } from '../platform/index.ts';

export type SupervisedOptions = {
  /** The name in log lines and errors. */
  readonly name: string;
  readonly main: string;
  /** The arguments after the name of the program. */
  args(port: number): readonly string[];
  /** 0 selects a free port. */
  readonly port: number;
  /** The variable that sets the port; without it a free port replaces a port that is in use. */
  readonly portSetting?: string;
  readonly clock: Clock;
  readonly log: Log;
};

export type Simulator = {
  readonly port: number;
  /** The current process, for tests that end it. */
  pid(): number | undefined;
  stop(): Promise<void>;
};

/** The simulator did not start, for a reason that the operator can fix. */
export class SimulatorFault extends Error {
  override name = 'SimulatorFault';
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const startLimitMs = 45_000;
const stopLimitMs = 5000;
/** The simulator of a killed platform ends by itself within this time. */
const patienceMs = 5000;
const retryPauseMs = 100;
const firstPauseMs = 250;
const longestPauseMs = 10_000;
const tailChars = 2000;
/**
 * The attempts before the server takes a free port, because a previous process may be about to end.
 */
const triesMax = 3;

/** Returns the file of a simulator program. */
export const programOf = (path: string): string =>
  fileURLToPath(new URL(path, import.meta.resolve('@switchyard/simulators')));

const preload = new URL('stop-with-parent.ts', import.meta.url).href;

/**
 * The child inherits no variables, because they may contain secrets; it shares the compile cache.
 */
function environment(): Record<string, string> {
  // Node uses a folder of its version, below the folder that the variable names.
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

function launch({ main, args: argsOf }: SupervisedOptions, port: number): Child {
  const args = ['--import', preload, main, ...argsOf(port)];
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: environment(),
    // Ctrl-C reaches the whole process group, but the simulator must outlive the sales in progress.
    detached: true,
  });
  // The platform writes nothing to this stream; the child watches for its end.
  child.stdin.on('error', () => {});
  return child;
}

/** Waits for the output line that names the port. */
async function listening(child: Child, name: string): Promise<number> {
  let said = '';
  const limit = new AbortController();
  const told = new Promise<number | undefined>((resolve) => {
    const hear = (chunk: Buffer): void => {
      said = (said + chunk.toString()).slice(-tailChars);
      const port = /listening on \S*:(\d+)/.exec(said)?.[1];
      if (port !== undefined) resolve(Number(port));
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', () => resolve(undefined));
    child.once('error', () => resolve(undefined));
    void pause(startLimitMs, limit.signal).then(() => resolve(undefined));
  });
  const port = await told;
  limit.abort();
  if (port !== undefined) return port;
  child.kill('SIGKILL');
  throw new SimulatorFault(`The ${name} did not start: ${said.trim()}`);
}

const isPortTaken = (error: unknown) =>
  error instanceof SimulatorFault && error.message.includes('EADDRINUSE');

/** Never uses a process that already listens on the port, because it may be any program. */
async function firstStart(options: SupervisedOptions): Promise<{ child: Child; port: number }> {
  const { name, port, portSetting, clock } = options;
  const giveUpAt = clock.now() + patienceMs;
  for (let tries = 1; ; tries += 1) {
    const isElsewhere = portSetting === undefined && tries > triesMax;
    const child = launch(options, isElsewhere ? 0 : port);
    try {
      return { child, port: await listening(child, name) };
    } catch (error) {
      if (!isPortTaken(error)) throw error;
      if (portSetting !== undefined && clock.now() > giveUpAt) {
        throw new SimulatorFault(
          `Port ${port} is in use by another program, and the ${name} needs it. ` +
            `Stop that program, or set ${portSetting} to a free port.`,
          { cause: error },
        );
      }
    }
    await pause(retryPauseMs);
  }
}

/** @throws SimulatorFault if the simulator cannot start */
export async function startSupervised(options: SupervisedOptions): Promise<Simulator> {
  const { log, name } = options;
  const first = await firstStart(options);
  const { port } = first;
  const stopping = new AbortController();
  let child = first.child;
  const watched = watch();
  relayWarnings();

  /** Restarts an ended simulator on the same port with the same ledger. */
  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await ended(child);
      if (stopping.signal.aborted) return;
      log.error({ exitCode: child.exitCode }, `the ${name} has died`);
      await startAgain();
    }
  }

  function relayWarnings(): void {
    child.stderr.on('data', (chunk: Buffer) => {
      log.warn({ said: chunk.toString().trim() }, `the ${name} warns`);
    });
  }

  async function startAgain(): Promise<void> {
    for (let waitMs = firstPauseMs; ; waitMs = Math.min(waitMs * 2, longestPauseMs)) {
      await pause(waitMs, stopping.signal);
      if (stopping.signal.aborted) return;
      child = launch(options, port);
      try {
        await listening(child, name);
        relayWarnings();
        log.info({ port }, `the ${name} is back`);
        return;
      } catch (error) {
        log.error({ err: error }, `the ${name} does not start`);
      }
    }
  }

  return {
    port,
    pid: () => child.pid,
    async stop() {
      if (stopping.signal.aborted) return watched;
      stopping.abort();
      await endChild(child);
      await watched;
    },
  };
}

/** A child without a process ID never started. */
const hasEnded = ({ exitCode, signalCode, pid }: Child) =>
  exitCode !== null || signalCode !== null || pid === undefined;

async function ended(child: Child): Promise<void> {
  if (!hasEnded(child)) await once(child, 'exit');
}

async function endChild(child: Child): Promise<void> {
  const patience = new AbortController();
  child.kill('SIGTERM');
  void pause(stopLimitMs, patience.signal).then(() => {
    if (!hasEnded(child)) child.kill('SIGKILL');
  });
  await ended(child);
  patience.abort();
}
