/** One after the other, in the order in which they came. */
import { unlessAborted } from './clock.ts';

export type InTurn = <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

/** Whoever gives up while waiting passes the turn on. */
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
