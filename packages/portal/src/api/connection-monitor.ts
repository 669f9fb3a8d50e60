/** Whether the platform answers: a store that the banner of the shell listens to. */
type Listener = () => void;

const firstPauseMs = 2_000;
const longestPauseMs = 30_000;

export type Connection = {
  readonly isLost: () => boolean;
  subscribe(listener: Listener): () => void;
  /** No answer came: ask again until one does. */
  lost(): void;
  /** An answer came. */
  reportFound(): void;
};

/** @param probe resolves where the platform answers, whatever it says */
export function createConnection(probe: () => Promise<unknown>): Connection {
  const listeners = new Set<Listener>();
  let isLost = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function tell(next: boolean): void {
    if (isLost === next) return;
    isLost = next;
    for (const listener of listeners) listener();
  }

  function reportFound(): void {
    clearTimeout(timer);
    timer = undefined;
    tell(false);
  }

  function askAfter(pauseMs: number): void {
    timer = setTimeout(() => {
      probe().then(reportFound, () => askAfter(Math.min(pauseMs * 2, longestPauseMs)));
    }, pauseMs);
  }

  return {
    isLost: () => isLost,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    lost() {
      tell(true);
      if (timer === undefined) askAfter(firstPauseMs);
    },
    reportFound,
  };
}

export const connection: Connection = createConnection(() =>
  fetch('/portal/', { method: 'HEAD', cache: 'no-store' }),
);
