// Periodic task: one run at a time; stop waits for the current run.
export type PeriodicTask = {
  start(): void;
  /** Runs now, or joins the current run. */
  runNow(): Promise<number>;
  stop(): Promise<void>;
};

/** @example const task = createPeriodicTask({ intervalMs: 1000, run, onError }); task.start(); */
export function createPeriodicTask({
  intervalMs,
  run,
  onError,
}: {
  intervalMs: number;
  /** @returns the number of processed items */
  run: () => Promise<number>;
  onError: (error: unknown) => void;
}): PeriodicTask {
  let timer: NodeJS.Timeout | undefined;
  let currentRun: Promise<number> | undefined;

  function runNow(): Promise<number> {
    currentRun ??= run().finally(() => {
      currentRun = undefined;
    });
    return currentRun;
  }

  return {
    runNow,
    start() {
      timer = setInterval(() => void runNow().catch(onError), intervalMs);
    },
    async stop() {
      clearInterval(timer);
      // The caller of the run has received the error.
      await currentRun?.catch(() => 0);
    },
  };
}
