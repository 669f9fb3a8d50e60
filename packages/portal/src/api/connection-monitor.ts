/** Monitors if the platform responds. The connection banner subscribes to it. */
type Listener = () => void;

const firstPauseMs = 2_000;
const longestPauseMs = 30_000;

export type ConnectionMonitor = {
  readonly isLost: () => boolean;
  subscribe(listener: Listener): () => void;
  /** A request got no response: probe the platform until it responds. */
  reportLost(): void;
  /** A request got a response. */
  reportFound(): void;
};

/** @param probe resolves if the platform responds with any status */
export function createConnectionMonitor(probe: () => Promise<unknown>): ConnectionMonitor {
  const listeners = new Set<Listener>();
  let isLost = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function setLost(next: boolean): void {
    if (isLost === next) return;
    isLost = next;
    for (const listener of listeners) listener();
  }

  function reportFound(): void {
    clearTimeout(timer);
    timer = undefined;
    setLost(false);
  }

  function probeAfter(pauseMs: number): void {
    timer = setTimeout(() => {
      probe().then(reportFound, () => probeAfter(Math.min(pauseMs * 2, longestPauseMs)));
    }, pauseMs);
  }

  return {
    isLost: () => isLost,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reportLost() {
      setLost(true);
      if (timer === undefined) probeAfter(firstPauseMs);
    },
    reportFound,
  };
}

export const connectionMonitor: ConnectionMonitor = createConnectionMonitor(() =>
  fetch('/portal/', { method: 'HEAD', cache: 'no-store' }),
);
