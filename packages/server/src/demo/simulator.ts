// Runs the acquirer host simulator as a child process: starts it, starts it again, stops it with us.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Clock, type Log, pause } from '../platform/index.ts';

export type SimulatorOptions = {
  /** 0 takes a free one. */
  readonly port: number;
  readonly ledgerDir: string;
  /** The platform's patience with an acquirer: the simulator's late answers come after it, ms. */
  readonly acquirerTimeoutMs: number;
  /** The file of the keys that it shares with the platform: arguments are for everybody to read. */
  readonly keysFile?: string;
  readonly clock: Clock;
  readonly log: Log;
};

export type Simulator = {
  readonly port: number;
  /** The process of this moment, for tests that end it. */
  pid(): number | undefined;
  stop(): Promise<void>;
};

/** The simulator did not start, for a reason that the operator can mend. */
export class SimulatorFault extends Error {
  override name = 'SimulatorFault';
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const startLimitMs = 15_000;
const stopLimitMs = 5000;
/** The simulator of a platform that was killed ends by itself within this time. */
const patienceMs = 5000;
const retryPauseMs = 100;
const firstPauseMs = 250;
const longestPauseMs = 10_000;
const tailChars = 2000;
const lateByMs = 5000;
const slowMs = 8000;
/** Slow is still in time. */
const slowShare = 0.8;

const main = fileURLToPath(
  new URL('acquirer-host/main.ts', import.meta.resolve('@switchyard/simulators')),
);
const preload = new URL('stop-with-parent.ts', import.meta.url).href;

function launch(options: SimulatorOptions, port: number): Child {
  const timeoutMs = options.acquirerTimeoutMs;
  const slow = Math.min(slowMs, Math.floor(timeoutMs * slowShare));
  const numbers = { port, 'late-ms': timeoutMs + lateByMs, 'slow-ms': slow };
  const shared = options.keysFile === undefined ? {} : { keys: options.keysFile };
  const flags = Object.entries({ ...numbers, ...shared }).flatMap(([name, value]) => [
    `--${name}`,
    String(value),
  ]);
  const args = ['--import', preload, main, 'serve', '--data', options.ledgerDir, ...flags];
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    // It needs nothing of our environment, where secrets may be.
    env: {},
    // Ctrl-C reaches our whole process group; the host outlives the sales that are under way.
    detached: true,
  });
  // Nothing is written to it: its end is what the child watches for.
  child.stdin.on('error', () => {});
  return child;
}

/** Waits for the line that names the port. */
async function listening(child: Child): Promise<number> {
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
  throw new SimulatorFault(`The acquirer host simulator did not start: ${said.trim()}`);
}

const isPortTaken = (error: unknown) =>
  error instanceof SimulatorFault && error.message.includes('EADDRINUSE');

/** Adopts nothing: what listens on the port may be anything. */
async function firstStart(options: SimulatorOptions): Promise<{ child: Child; port: number }> {
  const { port, clock } = options;
  const giveUpAt = clock.now() + patienceMs;
  for (;;) {
    const child = launch(options, port);
    try {
      return { child, port: await listening(child) };
    } catch (error) {
      if (!isPortTaken(error)) throw error;
      if (clock.now() > giveUpAt) {
        throw new SimulatorFault(
          `Port ${port} is in use by another program, and the acquirer host simulator needs it. ` +
            'Stop that program, or set SWITCHYARD_ACQUIRER_PORT to a free port.',
          { cause: error },
        );
      }
    }
    await pause(retryPauseMs);
  }
}

/** @throws SimulatorFault where the simulator cannot be started at all */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { log } = options;
  const first = await firstStart(options);
  const { port } = first;
  const stopping = new AbortController();
  let child = first.child;
  const watched = watch();
  relayWarnings();

  /** Whatever ends it, the next one listens on the same port and reads the same ledger. */
  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await ended(child);
      if (stopping.signal.aborted) return;
      log.error({ exitCode: child.exitCode }, 'the acquirer host simulator has died');
      await startAgain();
    }
  }

  function relayWarnings(): void {
    child.stderr.on('data', (chunk: Buffer) => {
      log.warn({ said: chunk.toString().trim() }, 'the acquirer host simulator warns');
    });
  }

  async function startAgain(): Promise<void> {
    for (let waitMs = firstPauseMs; ; waitMs = Math.min(waitMs * 2, longestPauseMs)) {
      await pause(waitMs, stopping.signal);
      if (stopping.signal.aborted) return;
      child = launch(options, port);
      try {
        await listening(child);
        relayWarnings();
        log.info({ port }, 'the acquirer host simulator is back');
        return;
      } catch (error) {
        log.error({ err: error }, 'the acquirer host simulator does not start');
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

/** Without a process id it never began. */
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
