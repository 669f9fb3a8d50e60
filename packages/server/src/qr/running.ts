// Knows what runs in this process: duplicates wait for it, and rivals for one payment come one by one.
import { createInFlight, type Live, pause } from '../platform/index.ts';
import type { LoadedQr, QrKey } from './model.ts';

export type Running = {
  /** Runs work under a key; whoever asks for the key meanwhile waits for the same answer. */
  run(key: string, work: () => Promise<LoadedQr>): Promise<LoadedQr>;
  find(key: string): Promise<LoadedQr> | undefined;
  /** One after another for the same payment, so that rivals do not spin. */
  inTurn<T>(key: QrKey, work: () => Promise<T>): Promise<T>;
  idle(): Promise<void>;
};

export const topicOf = ({ organizationId, transactionId }: QrKey) => ({
  kind: 'qr',
  key: `${organizationId}/${transactionId}`,
});

const keyOf = ({ organizationId, transactionId }: QrKey) => `${organizationId}/${transactionId}`;

/** @example const running = createRunning(); */
export function createRunning(): Running {
  const works = createInFlight<Promise<LoadedQr>>();
  const turns = createInFlight<Promise<unknown>>();

  async function untilEnded(key: string, work: Promise<LoadedQr>) {
    try {
      return await work;
    } finally {
      works.delete(key);
    }
  }

  return {
    run(key, work) {
      const promise = untilEnded(key, work());
      works.set(key, promise);
      return promise;
    },
    find: works.get,
    inTurn(of, work) {
      const key = keyOf(of);
      const before = turns.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      const settled = mine.then(
        () => undefined,
        () => undefined,
      );
      turns.set(key, settled);
      void settled.then(() => {
        if (turns.get(key) === settled) turns.delete(key);
      });
      return mine;
    },
    async idle() {
      const all = [...works.entries(), ...turns.entries()];
      await Promise.allSettled(all.map(([, promise]) => promise));
    },
  };
}

/** Ends once the payment has gone beyond a version, or after the time. */
export async function nextChange(
  live: Pick<Live, 'subscribe'>,
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
