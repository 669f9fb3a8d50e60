// Kills the process at a named point, so that tests can prove the recovery.

export type FailPointName = 'after-intent' | 'after-reroute' | 'after-send' | 'after-webhook';

export type FailPoints = { hit(name: FailPointName): void };

/** Without a name nothing happens. Settings allow one in demo and test only. */
export function createFailPoints(chosen?: FailPointName): FailPoints {
  return {
    hit(name) {
      // Like a power failure: nothing is flushed, no handler runs.
      if (name === chosen) process.kill(process.pid, 'SIGKILL');
    },
  };
}
