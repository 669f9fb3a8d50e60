// Ends the sessions of points of sale that lost their rights, and retries until a node answers.
import type { Log } from '../../platform/index.ts';
import type { RevocationReason } from '../protocol/connector-fault.ts';
import type { Claims, Got } from './claim-requests.ts';

export type Cut = {
  readonly got: Pick<Got, 'device' | 'owner'>;
  readonly sessionId: string;
  readonly word: RevocationReason;
};

type Kept = Cut & { readonly until: number };

type Deps = {
  readonly claims: Pick<Claims, 'cut'>;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
  /**
   * The maximum number of pending cuts; above it, the server first drops the oldest ones that
   * failed.
   */
  readonly most: number;
  /** After this time a session has ended by itself. */
  readonly livesMs: number;
};

/**
 * A node that does not answer costs seconds for each request, so several requests run in parallel.
 */
const atOnce = 16;

/** @example const cuts = createCuts({ claims, now: clock.now, log, most, livesMs }); cuts.add(lost); */
export function createCuts({ claims, now, log, most, livesMs }: Deps) {
  /** Cuts that the server has not tried yet; they run before the cuts that got no answer. */
  const fresh: Kept[] = [];
  const due: Kept[] = [];
  /** Cuts that wait for the next round. */
  const missed: Kept[] = [];
  const running = new Set<Promise<void>>();
  let lastFault: unknown;
  let isStopped = false;

  const waiting = () => fresh.length + due.length + missed.length;

  function dropOldest(): boolean {
    return [missed, due, fresh].find(({ length }) => length > 0)?.shift() !== undefined;
  }

  function gaveUp(lost: number, why: string): void {
    if (lost > 0) log.warn({ count: lost }, `sessions that should end are given up: ${why}`);
  }

  async function end(cut: Kept): Promise<void> {
    try {
      if (await claims.cut(cut.got, cut.sessionId, cut.word)) return;
    } catch (error) {
      lastFault = error;
    }
    missed.push(cut);
  }

  function work(): void {
    while (!isStopped && running.size < atOnce) {
      const next = fresh.shift() ?? due.shift();
      if (next === undefined) return;
      const ending = end(next).finally(() => {
        running.delete(ending);
        work();
      });
      running.add(ending);
    }
  }

  return {
    /** Starts to end the sessions and returns immediately. */
    add(lost: readonly Cut[]): void {
      const until = now() + livesMs;
      for (const cut of lost) fresh.push({ ...cut, until });
      let dropped = 0;
      while (waiting() + running.size > most && dropOldest()) dropped += 1;
      gaveUp(dropped, 'there are too many of them');
      work();
    },

    /** Retries the cuts that no node has answered, and returns immediately. */
    again(): void {
      if (missed.length > 0) {
        const said = 'sessions that should end could not be ended yet, and are asked for again';
        log.warn({ count: missed.length, err: lastFault }, said);
      }
      lastFault = undefined;
      let ended = 0;
      for (const cut of missed.splice(0)) {
        if (now() < cut.until) due.push(cut);
        else ended += 1;
      }
      gaveUp(ended, 'they have ended by themselves by now');
      work();
    },

    /** Waits for the requests in progress. */
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(running);
      gaveUp(waiting(), 'the process stops');
    },
  };
}
