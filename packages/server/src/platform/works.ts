// What runs in this process: whoever wants the same meanwhile waits for it, and rivals come one by one.
import { createInFlight } from './in-flight.ts';

export type Works<Result> = {
  /** Runs work under a key; whoever asks for the key meanwhile waits for the same answer. */
  run(key: string, work: () => Promise<Result>): Promise<Result>;
  find(key: string): Promise<Result> | undefined;
  /** One after another for the same key, so that rivals for one thing do not spin. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Once nothing runs any more of what runs now. */
  idle(): Promise<void>;
};

const nothing = (): void => {};

/** @example const works = createWorks<LoadedTransaction>(); */
export function createWorks<Result>(): Works<Result> {
  const works = createInFlight<Promise<Result>>();
  const turns = createInFlight<Promise<unknown>>();

  async function untilEnded(key: string, work: Promise<Result>): Promise<Result> {
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
    inTurn(key, work) {
      const before = turns.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      const settled = mine.then(nothing, nothing);
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
