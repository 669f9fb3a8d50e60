/** Runs functions one after the other, in the order of the calls. */
import { unlessAborted } from '@switchyard/sdk-core';
import { createPosError } from './pos-error.ts';

export type RunInOrder = <Result>(
  work: () => Promise<Result>,
  signal?: AbortSignal,
) => Promise<Result>;

/** A caller that aborts while it waits does not block the next one. */
export function createSerialQueue(): RunInOrder {
  let last: Promise<void> = Promise.resolve();
  return async (work, signal) => {
    const previous = last;
    let done: () => void = () => {};
    last = new Promise((resolve) => {
      done = resolve;
    });
    try {
      await unlessAborted(previous, signal, createPosError);
      return await work();
    } finally {
      void previous.then(done);
    }
  };
}
