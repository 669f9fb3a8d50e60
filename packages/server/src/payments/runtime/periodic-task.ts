// Periodic task: one run at a time; stop waits for the current run.
type TaskOptions = {
  intervalMs: number;
  /** @returns the number of processed items */
  run: () => Promise<number>;
  onError: (error: unknown) => void;
};

/** @example const task = createPeriodicTask({ intervalMs: 1000, run, onError }); task.start(); */
export function createPeriodicTask({ intervalMs, run, onError }: TaskOptions) {
  let timer: NodeJS.Timeout | undefined;
  let currentRun: Promise<number> | undefined;

  /** Runs now, or joins the current run. */
  function runNow(): Promise<number> {
    currentRun ??= run().finally(() => {
      currentRun = undefined;
    });
    return currentRun;
  }

  return {
    runNow,
    start(): void {
      timer = setInterval(() => void runNow().catch(onError), intervalMs);
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      // The caller of the run has received the error.
      await currentRun?.catch(() => 0);
    },
  };
}

export type PeriodicTask = ReturnType<typeof createPeriodicTask>;
