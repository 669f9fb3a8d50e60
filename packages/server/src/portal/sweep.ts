// Deletes portal sessions whose day is over, in bounded batches, now and then.
import type { Log } from '../platform/index.ts';

const batchRows = 500;
const batchesPerRunMax = 20;
const everyMs = 300_000;

type Deps = { readonly log: Log; sweep(limit: number): Promise<number> };

export function createSweep({ log, sweep }: Deps) {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> = Promise.resolve();

  async function run(): Promise<void> {
    for (let batch = 0; batch < batchesPerRunMax; batch += 1) {
      if ((await sweep(batchRows)) < batchRows) return;
    }
  }

  return {
    start() {
      timer ??= setInterval(() => {
        running = run().catch((error: unknown) => {
          log.warn({ err: error }, 'the sweep of portal sessions failed and will be tried again');
        });
      }, everyMs).unref();
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
      await running;
    },
  };
}
