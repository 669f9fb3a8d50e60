// Runs the acquirer host simulator as a child process, with delays that fit the platform timeout.
import type { Clock, Log } from '../platform/index.ts';
import { programOf, type Simulator, startSupervised } from './supervised.ts';

export type SimulatorOptions = {
  /** 0 selects a free port. */
  readonly port: number;
  readonly ledgerDir: string;
  /** The platform's timeout for an acquirer in ms; late answers of the simulator come after it. */
  readonly acquirerTimeoutMs: number;
  /**
   * The file of the keys that it shares with the platform, because other users can read arguments.
   */
  readonly keysFile?: string;
  readonly clock: Clock;
  readonly log: Log;
};

const lateByMs = 5000;
const slowMs = 8000;
/** A slow answer still comes before the timeout. */
const slowShare = 0.8;

/** @throws SimulatorFault if the simulator cannot start */
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
