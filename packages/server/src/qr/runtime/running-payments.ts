// Runs the work on one payment in sequence, and lets duplicates wait for the first request.
import {
  type ChangeNotifier,
  createKeyedTasks,
  type KeyedTasks,
  pause,
} from '../../platform/index.ts';
import type { LoadedPayment, QrKey } from '../transaction/records.ts';

export type RunningPayments = Omit<KeyedTasks<LoadedPayment>, 'runExclusive'> & {
  /** Runs work on the same payment in sequence, so that concurrent requests do not conflict. */
  runExclusive<T>(key: QrKey, work: () => Promise<T>): Promise<T>;
};

const keyOf = ({ organizationId, transactionId }: QrKey) => `${organizationId}/${transactionId}`;

export const paymentTopic = (key: QrKey) => ({ kind: 'qr', key: keyOf(key) });

/** @example const runningPayments = createRunningPayments(); */
export function createRunningPayments(): RunningPayments {
  const tasks = createKeyedTasks<LoadedPayment>();
  return { ...tasks, runExclusive: (key, work) => tasks.runExclusive(keyOf(key), work) };
}

/** Resolves after a change beyond the version, or after the time limit. */
export async function waitForChange(
  live: Pick<ChangeNotifier, 'subscribe'>,
  key: QrKey,
  version: number,
  limitMs: number,
): Promise<void> {
  const limit = new AbortController();
  const subscription = live.subscribe(paymentTopic(key), version, () => limit.abort());
  try {
    await pause(limitMs, limit.signal);
  } finally {
    subscription?.end();
  }
}
