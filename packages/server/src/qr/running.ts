// Knows what runs in this process: duplicates wait for it, and rivals for one payment come one by one.
import {
  type ChangeNotifier,
  createKeyedTasks,
  type KeyedTasks,
  pause,
} from '../platform/index.ts';
import type { LoadedQr, QrKey } from './model.ts';

export type Running = Omit<KeyedTasks<LoadedQr>, 'runExclusive'> & {
  /** One after another for the same payment, so that rivals do not spin. */
  inTurn<T>(key: QrKey, work: () => Promise<T>): Promise<T>;
};

const keyOf = ({ organizationId, transactionId }: QrKey) => `${organizationId}/${transactionId}`;

export const topicOf = (key: QrKey) => ({ kind: 'qr', key: keyOf(key) });

/** @example const running = createRunning(); */
export function createRunning(): Running {
  const works = createKeyedTasks<LoadedQr>();
  return { ...works, inTurn: (of, work) => works.runExclusive(keyOf(of), work) };
}

/** Ends once the payment has gone beyond a version, or after the time. */
export async function nextChange(
  live: Pick<ChangeNotifier, 'subscribe'>,
  of: QrKey,
  version: number,
  limitMs: number,
): Promise<void> {
  const limit = new AbortController();
  const subscription = live.subscribe(topicOf(of), version, () => limit.abort());
  try {
    await pause(limitMs, limit.signal);
  } finally {
    subscription?.end();
  }
}
