/**
 * Lets only one page of a browser run a terminal. Another page waits, or asks that page to release
 * it.
 */

export type PageLock = {
  /** Resolves when this page has the lock. */
  readonly acquired: Promise<void>;
  /** Asks the page that has the lock to release it. */
  requestRelease(): void;
  release(): void;
};

const leave = 'leave';

/** @param onDemand called if another page asks for the lock: finish, then release it */
export function createPageLock(name: string, onDemand: () => void): PageLock {
  const channel = new BroadcastChannel(name);
  const giveUp = new AbortController();
  let free = () => {};
  let isHeld = false;
  const acquired = new Promise<void>((resolve) => {
    navigator.locks
      .request(name, { signal: giveUp.signal }, () => {
        isHeld = true;
        resolve();
        return new Promise<void>((done) => {
          free = done;
        });
      })
      // The request was cancelled before the lock was acquired.
      .catch(() => undefined);
  });
  channel.onmessage = ({ data }) => {
    if (data === leave && isHeld) onDemand();
  };
  return {
    acquired,
    requestRelease: () => channel.postMessage(leave),
    release() {
      isHeld = false;
      giveUp.abort();
      free();
      channel.close();
    },
  };
}
