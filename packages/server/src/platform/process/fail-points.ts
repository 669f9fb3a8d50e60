// Kills the process at a named place, so that tests can prove what is left behind is made good.

export type FailPointName = 'after-intent' | 'after-reroute' | 'after-send' | 'after-webhook';

export type FailPoints = { hit(name: FailPointName): void };

/** Without a name nothing ever happens; the settings allow one in demo and test only. */
export function createFailPoints(chosen?: FailPointName): FailPoints {
  return {
    hit(name) {
      // As a power cut would: nothing is flushed, no handler runs.
      if (name === chosen) process.kill(process.pid, 'SIGKILL');
    },
  };
}
