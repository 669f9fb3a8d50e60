/** One page of a browser is the terminal of a name; another one waits, or asks it to leave. */

export type PageLock = {
  /** Once this page has it. */
  readonly acquired: Promise<void>;
  /** Asks the page that has it to leave. */
  demand(): void;
  release(): void;
};

const leave = 'leave';

/** @param onDemand another page of this browser wants it: finish, then release */
export function pageLock(name: string, onDemand: () => void): PageLock {
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
      // Given up before it was had.
      .catch(() => undefined);
  });
  channel.onmessage = ({ data }) => {
    if (data === leave && isHeld) onDemand();
  };
  return {
    acquired,
    demand: () => channel.postMessage(leave),
    release() {
      isHeld = false;
      giveUp.abort();
      free();
      channel.close();
    },
  };
}
