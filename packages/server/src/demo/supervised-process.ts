// Runs a simulator as a child process: starts it, restarts it, and stops it with the platform.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Clock, type Log, pause } from '../platform/index.ts';

export type SupervisedProcessOptions = {
  /** The name in log lines and errors. */
  readonly name: string;
  readonly file: string;
  /** The arguments after the name of the program. */
  args(port: number): readonly string[];
  /** 0 selects a free port. */
  readonly port: number;
  /** The variable that sets the port; without it a free port replaces a port that is in use. */
  readonly portSettingName?: string;
  readonly clock: Clock;
  readonly log: Log;
};

export type SupervisedProcess = {
  readonly port: number;
  /** The current process, for tests that end it. */
  pid(): number | undefined;
  stop(): Promise<void>;
};

/** The simulator did not start, for a reason that the operator can fix. */
export class SimulatorStartError extends Error {
  override name = 'SimulatorStartError';
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const startLimitMs = 45_000;
const stopLimitMs = 5000;
/** The simulator of a killed platform ends by itself within this time. */
const portWaitMs = 5000;
const retryPauseMs = 100;
const firstPauseMs = 250;
const longestPauseMs = 10_000;
const outputMaxChars = 2000;
/**
 * The attempts before the server takes a free port, because a previous process may be about to end.
 */
const attemptsMax = 3;

/** Returns the file of a simulator program. */
export const simulatorFile = (path: string): string =>
  fileURLToPath(new URL(path, import.meta.resolve('@switchyard/simulators')));

const exitWithParent = new URL('exit-with-parent.ts', import.meta.url).href;

/**
 * The child inherits no variables, because they may contain secrets; it shares the compile cache.
 */
function childEnvironment(): Record<string, string> {
  // Node uses a folder of its version, below the folder that the variable names.
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

function startChild({ file, args: createArgs }: SupervisedProcessOptions, port: number): Child {
  const args = ['--import', exitWithParent, file, ...createArgs(port)];
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: childEnvironment(),
    // Ctrl-C reaches the whole process group, but the simulator must outlive the sales in progress.
    detached: true,
  });
  // The platform writes nothing to this stream; the child watches for its end.
  child.stdin.on('error', () => {});
  return child;
}

/** Waits for the output line that names the port. */
async function waitForPort(child: Child, name: string): Promise<number> {
  let output = '';
  const limit = new AbortController();
  const portFound = new Promise<number | undefined>((resolve) => {
    const readOutput = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-outputMaxChars);
      const port = /listening on \S*:(\d+)/.exec(output)?.[1];
      if (port !== undefined) resolve(Number(port));
    };
    child.stdout.on('data', readOutput);
    child.stderr.on('data', readOutput);
    child.once('exit', () => resolve(undefined));
    child.once('error', () => resolve(undefined));
    void pause(startLimitMs, limit.signal).then(() => resolve(undefined));
  });
  const port = await portFound;
  limit.abort();
  if (port !== undefined) return port;
  child.kill('SIGKILL');
  throw new SimulatorStartError(`The ${name} did not start: ${output.trim()}`);
}

const isPortInUse = (error: unknown) =>
  error instanceof SimulatorStartError && error.message.includes('EADDRINUSE');

/** Never uses a process that already listens on the port, because it may be any program. */
async function startFirst(
  options: SupervisedProcessOptions,
): Promise<{ child: Child; port: number }> {
  const { name, port, portSettingName, clock } = options;
  const endOfWait = clock.now() + portWaitMs;
  for (let attempt = 1; ; attempt += 1) {
    const usesFreePort = portSettingName === undefined && attempt > attemptsMax;
    const child = startChild(options, usesFreePort ? 0 : port);
    try {
      return { child, port: await waitForPort(child, name) };
    } catch (error) {
      if (!isPortInUse(error)) throw error;
      if (portSettingName !== undefined && clock.now() > endOfWait) {
        throw new SimulatorStartError(
          `Port ${port} is in use by another program, and the ${name} needs it. ` +
            `Stop that program, or set ${portSettingName} to a free port.`,
          { cause: error },
        );
      }
    }
    await pause(retryPauseMs);
  }
}

/** @throws SimulatorStartError if the simulator cannot start */
export async function startSupervisedProcess(
  options: SupervisedProcessOptions,
): Promise<SupervisedProcess> {
  const { log, name } = options;
  const first = await startFirst(options);
  const { port } = first;
  const stopping = new AbortController();
  let child = first.child;
  const watching = watchChild();
  logWarnings();

  /** Restarts an ended simulator on the same port with the same ledger. */
  async function watchChild(): Promise<void> {
    while (!stopping.signal.aborted) {
      await waitForExit(child);
      if (stopping.signal.aborted) return;
      log.error(
        { exitCode: child.exitCode },
        `the ${name} ended unexpectedly and will be restarted`,
      );
      await restart();
    }
  }

  function logWarnings(): void {
    child.stderr.on('data', (chunk: Buffer) => {
      log.warn({ said: chunk.toString().trim() }, `the ${name} wrote to stderr`);
    });
  }

  async function restart(): Promise<void> {
    for (let waitMs = firstPauseMs; ; waitMs = Math.min(waitMs * 2, longestPauseMs)) {
      await pause(waitMs, stopping.signal);
      if (stopping.signal.aborted) return;
      child = startChild(options, port);
      try {
        await waitForPort(child, name);
        logWarnings();
        log.info({ port }, `the ${name} was restarted`);
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
      if (stopping.signal.aborted) return watching;
      stopping.abort();
      await stopChild(child);
      await watching;
    },
  };
}

/** A child without a process ID never started. */
const hasEnded = ({ exitCode, signalCode, pid }: Child) =>
  exitCode !== null || signalCode !== null || pid === undefined;

async function waitForExit(child: Child): Promise<void> {
  if (!hasEnded(child)) await once(child, 'exit');
}

async function stopChild(child: Child): Promise<void> {
  const limit = new AbortController();
  child.kill('SIGTERM');
  void pause(stopLimitMs, limit.signal).then(() => {
    if (!hasEnded(child)) child.kill('SIGKILL');
  });
  await waitForExit(child);
  limit.abort();
}
