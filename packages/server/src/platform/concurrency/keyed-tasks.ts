// What runs in this process: whoever wants the same meanwhile waits for it, and rivals come one by one.
import { createInFlight } from './in-flight-map.ts';

export type Works<Result> = {
  /**
   * Runs work under a key; whoever asks for the key meanwhile waits for the same answer. What runs under it
   * already goes on beside.
   */
  run(key: string, work: () => Promise<Result>): Promise<Result>;
  /** Of several the one that has run for longest. */
  find(key: string): Promise<Result> | undefined;
  /** One after another for the same key, so that rivals for one thing do not spin. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Once nothing runs any more of what runs now. */
  idle(): Promise<void>;
};

const nothing = (): void => {};

/** @example const works = createWorks<LoadedTransaction>(); */
export function createWorks<Result>(): Works<Result> {
  const works = createInFlight<readonly Promise<Result>[]>();
  const turns = createInFlight<Promise<unknown>>();

  function leave(key: string, mine: Promise<Result>): void {
    const others = works.get(key)?.filter((each) => each !== mine) ?? [];
    if (others.length === 0) works.delete(key);
    else works.set(key, others);
  }

  return {
    run(key, work) {
      const mine: Promise<Result> = work().finally(() => leave(key, mine));
      works.set(key, [...(works.get(key) ?? []), mine]);
      return mine;
    },
    find: (key) => works.get(key)?.[0],
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
      const running = works.entries().flatMap(([, together]) => together);
      const waiting = turns.entries().map(([, last]) => last);
      await Promise.allSettled([...running, ...waiting]);
    },
  };
}
