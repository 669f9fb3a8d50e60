// Runs the acquirer host simulator as a child process, with delays that suit the platform's patience.
import type { Clock, Log } from '../platform/index.ts';
import { programOf, type Simulator, startSupervised } from './supervised.ts';

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

const lateByMs = 5000;
const slowMs = 8000;
/** Slow is still in time. */
const slowShare = 0.8;

/** @throws SimulatorFault where the simulator cannot be started at all */
export function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { port, ledgerDir, acquirerTimeoutMs: timeoutMs, keysFile, clock, log } = options;
  const slow = Math.min(slowMs, Math.floor(timeoutMs * slowShare));
  const keys = keysFile === undefined ? [] : ['--keys', keysFile];
  return startSupervised({
    name: 'acquirer host simulator',
    main: programOf('acquirer-host/main.ts'),
    port,
    clock,
    log,
    portSetting: 'SWITCHYARD_ACQUIRER_PORT',
    args: (taken) => [
      'serve',
      '--data',
      ledgerDir,
      '--port',
      String(taken),
      '--late-ms',
      String(timeoutMs + lateByMs),
      '--slow-ms',
      String(slow),
      ...keys,
    ],
  });
}
