// Limits how many tasks run at the same time. Further tasks wait in the order of their arrival.

export type ConcurrencyLimitOptions = {
  readonly maxConcurrent: number;
  /** Without this, any number of tasks may wait for any time. */
  readonly waitLimit?: {
    readonly maxWaiting: number;
    readonly maxWaitMs?: number;
    /** The error of a task that would exceed the limit. */
    error(): Error;
  };
};

export type ConcurrencyLimit = {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Waits for a slot. The returned function releases it; a second call has no effect. */
  acquire(): Promise<() => void>;
  waiting(): number;
  isIdle(): boolean;
};

/** @example const limit = createConcurrencyLimit({ maxConcurrent: 16 }); await limit.run(() => read(after)); */
export function createConcurrencyLimit({
  maxConcurrent,
  waitLimit,
}: ConcurrencyLimitOptions): ConcurrencyLimit {
  const waiting = new Set<() => void>();
  let running = 0;

  async function waitForSlot(): Promise<void> {
    if (waitLimit !== undefined && waiting.size >= waitLimit.maxWaiting) throw waitLimit.error();
    const maxWaitMs = waitLimit?.maxWaitMs;
    await new Promise<void>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      waiting.add(start);
      if (waitLimit === undefined || maxWaitMs === undefined) return;
      timer = setTimeout(() => {
        waiting.delete(start);
        reject(waitLimit.error());
      }, maxWaitMs);
    });
  }

  /** The slot passes to the next task, so that no later task can take it. */
  function release(): void {
    const [next] = waiting;
    if (next === undefined) {
      running -= 1;
      return;
    }
    waiting.delete(next);
    next();
  }

  return {
    async run(work) {
      if (running < maxConcurrent) running += 1;
      else await waitForSlot();
      try {
        return await work();
      } finally {
        release();
      }
    },
    async acquire() {
      if (running < maxConcurrent) running += 1;
      else await waitForSlot();
      let isReleased = false;
      return () => {
        if (!isReleased) release();
        isReleased = true;
      };
    },
    waiting: () => waiting.size,
    isIdle: () => running === 0,
  };
}
