// Runs the work on one payment in sequence, and lets duplicates wait for the first request.
import {
  type ChangeNotifier,
  createKeyedTasks,
  type KeyedTasks,
  pause,
} from '../../platform/index.ts';
import type { LoadedQr, QrKey } from '../transaction/records.ts';

export type Running = Omit<KeyedTasks<LoadedQr>, 'runExclusive'> & {
  /** Runs work on the same payment in sequence, so that concurrent requests do not conflict. */
  inTurn<T>(key: QrKey, work: () => Promise<T>): Promise<T>;
};

const keyOf = ({ organizationId, transactionId }: QrKey) => `${organizationId}/${transactionId}`;

export const topicOf = (key: QrKey) => ({ kind: 'qr', key: keyOf(key) });

/** @example const running = createRunning(); */
export function createRunning(): Running {
  const works = createKeyedTasks<LoadedQr>();
  return { ...works, inTurn: (of, work) => works.runExclusive(keyOf(of), work) };
}

/** Resolves after a change beyond the version, or after the time limit. */
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
