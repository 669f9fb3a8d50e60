// Regularly deletes portal sessions that have reached their end, in limited batches.
import type { Clock, Log } from '../../platform/index.ts';

const batchRows = 500;
const everyMs = 300_000;
/** A run that takes longer leaves the rest to the next run. */
const runMaxMs = 240_000;

type Deps = { readonly clock: Clock; readonly log: Log; sweep(limit: number): Promise<number> };

export function createSessionCleanup({ clock, log, sweep }: Deps) {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let isStopping = false;

  async function run(): Promise<void> {
    const until = clock.now() + runMaxMs;
    while (!isStopping && clock.now() < until) {
      if ((await sweep(batchRows)) < batchRows) return;
    }
  }

  return {
    start() {
      timer ??= setInterval(() => {
        running = run().catch((error: unknown) => {
          log.warn(
            { err: error },
            'the deletion of expired portal sessions failed; the server tries it again',
          );
        });
      }, everyMs).unref();
    },
    async stop() {
      isStopping = true;
      clearInterval(timer);
      timer = undefined;
      await running;
    },
  };
}
