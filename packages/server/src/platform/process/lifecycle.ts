// Stops the platform in reverse order of its start, each step with a time limit.
import type { Log } from '../observability/log.ts';

const defaultStepMs = 20_000;
const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** A launcher may forward a signal that the whole process group received: treat both as one signal. */
const duplicateSignalMs = 1000;

export type Lifecycle = {
  /** Registers a step. Steps run in reverse order of their registration. */
  onStop(name: string, close: () => Promise<unknown> | unknown, limitMs?: number): void;
  /** Runs once. True if every step ended without an error and in time. */
  stop(reason: string): Promise<boolean>;
  /** Stops on a signal and ends the process. Another signal, at least a second later, ends it at once. */
  stopOnSignals(): void;
};

export function createLifecycle({ log }: { log: Log }): Lifecycle {
  const steps: { name: string; close: () => Promise<unknown> | unknown; limitMs: number }[] = [];
  let stopped: Promise<boolean> | undefined;

  async function stopAll(reason: string): Promise<boolean> {
    log.info({ reason }, 'stopping');
    let isClean = true;
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      try {
        await runWithTimeout(step.limitMs, step.close);
        log.debug({ step: step.name }, 'stopped');
      } catch (error) {
        isClean = false;
        log.error({ err: error, step: step.name }, 'did not stop cleanly');
      }
    }
    log.info('stopped');
    return isClean;
  }

  function stop(reason: string): Promise<boolean> {
    stopped ??= stopAll(reason);
    return stopped;
  }

  return {
    onStop(name, close, limitMs = defaultStepMs) {
      steps.push({ name, close, limitMs });
    },
    stop,
    stopOnSignals() {
      let isStopping = false;
      let exitsAtOnce = false;
      for (const signal of stopSignals) {
        process.on(signal, () => {
          if (exitsAtOnce) process.exit(1);
          if (isStopping) return;
          isStopping = true;
          setTimeout(() => {
            exitsAtOnce = true;
          }, duplicateSignalMs).unref();
          void stop(signal).then((clean) => {
            process.exitCode = clean ? 0 : 1;
            // Everything that is still open had its time limit.
            setImmediate(() => process.exit());
          });
        });
      }
    },
  };
}

async function runWithTimeout(
  limitMs: number,
  close: () => Promise<unknown> | unknown,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([close(), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
