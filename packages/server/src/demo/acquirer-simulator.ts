// Runs the acquirer host simulator as a child process, with delays that fit the platform timeout.
import type { Clock, Log } from '../platform/index.ts';
import {
  type SupervisedProcess,
  simulatorFile,
  startSupervisedProcess,
} from './supervised-process.ts';

export type AcquirerSimulatorOptions = {
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

/** More than the contract of a merchant of the demo allows. */
const overCapturePercent = 20;
const lateByMs = 5000;
const slowAnswerMaxMs = 8000;
/** A slow answer still comes before the timeout. */
const slowAnswerShare = 0.8;

/** @throws SimulatorStartError if the simulator cannot start */
export function startAcquirerSimulator(
  options: AcquirerSimulatorOptions,
): Promise<SupervisedProcess> {
  const { port, ledgerDir, acquirerTimeoutMs: timeoutMs, keysFile, clock, log } = options;
  const slowAnswerMs = Math.min(slowAnswerMaxMs, Math.floor(timeoutMs * slowAnswerShare));
  const keys = keysFile === undefined ? [] : ['--keys', keysFile];
  return startSupervisedProcess({
    name: 'acquirer host simulator',
    file: simulatorFile('acquirer-host/main.ts'),
    port,
    clock,
    log,
    portSettingName: 'SWITCHYARD_ACQUIRER_PORT',
    args: (usedPort) => [
      'serve',
      '--data',
      ledgerDir,
      '--port',
      String(usedPort),
      '--late-ms',
      String(timeoutMs + lateByMs),
      '--slow-ms',
      String(slowAnswerMs),
      '--over-capture',
      String(overCapturePercent),
      ...keys,
    ],
  });
}
