// Looks from time to time for what is due, one look at a time, and waits for the last one at a stop.
export type Sweep = {
  start(): void;
  /** Looks now, or joins the look that is under way. */
  sweep(): Promise<number>;
  stop(): Promise<void>;
};

/** @example const sweep = createSweep({ everyMs: 1000, look, onFault }); sweep.start(); */
export function createSweep({
  everyMs,
  look,
  onFault,
}: {
  everyMs: number;
  /** @returns how much was found and done */
  look: () => Promise<number>;
  onFault: (error: unknown) => void;
}): Sweep {
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<number> | undefined;

  function sweep(): Promise<number> {
    sweeping ??= look().finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  return {
    sweep,
    start() {
      timer = setInterval(() => void sweep().catch(onFault), everyMs);
    },
    async stop() {
      clearInterval(timer);
      // Its fault was told to whoever began the look.
      await sweeping?.catch(() => 0);
    },
  };
}
