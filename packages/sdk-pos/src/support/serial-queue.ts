/** Runs work one after the other, in the order of the calls. */
import { unlessAborted } from './clock.ts';

export type InTurn = <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

/** A caller that aborts while it waits does not block the next one. */
export function createTurns(): InTurn {
  let last: Promise<void> = Promise.resolve();
  return async (work, signal) => {
    const before = last;
    let done: () => void = () => {};
    last = new Promise((resolve) => {
      done = resolve;
    });
    try {
      await unlessAborted(before, signal);
      return await work();
    } finally {
      void before.then(done);
    }
  };
}
