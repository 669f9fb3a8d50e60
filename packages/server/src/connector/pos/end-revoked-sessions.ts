// Ends the sessions of points of sale that lost their rights, and retries until a node answers.
import type { Log } from '../../platform/index.ts';
import type { RevocationReason } from '../protocol/connector-fault.ts';
import type { ClaimedDevice, Claims } from './claim-requests.ts';

export type Revocation = {
  readonly claimedDevice: Pick<ClaimedDevice, 'device' | 'owner'>;
  readonly sessionId: string;
  readonly reason: RevocationReason;
};

type PendingRevocation = Revocation & { readonly endsAt: number };

type Deps = {
  readonly claims: Pick<Claims, 'revoke'>;
  readonly now: () => number;
  readonly log: Pick<Log, 'warn'>;
  /**
   * The maximum number of pending cuts; above it, the server first drops the oldest ones that
   * failed.
   */
  readonly pendingMax: number;
  /** After this time a session has ended by itself. */
  readonly sessionMaxMs: number;
};

/**
 * A node that does not answer costs seconds for each request, so several requests run in parallel.
 */
const parallelRequests = 16;

/** @example const revoker = createSessionRevoker({ claims, now: clock.now, log, pendingMax, sessionMaxMs }); revoker.revoke(revocations); */
export function createSessionRevoker({ claims, now, log, pendingMax, sessionMaxMs }: Deps) {
  /** Cuts that the server has not tried yet; they run before the cuts that got no answer. */
  const untried: PendingRevocation[] = [];
  const retrying: PendingRevocation[] = [];
  /** Cuts that wait for the next round. */
  const unanswered: PendingRevocation[] = [];
  const running = new Set<Promise<void>>();
  let lastError: unknown;
  let isStopped = false;

  const pendingCount = () => untried.length + retrying.length + unanswered.length;

  function dropOldest(): boolean {
    return [unanswered, retrying, untried].find(({ length }) => length > 0)?.shift() !== undefined;
  }

  function logDropped(revocations: number, cause: string): void {
    if (revocations > 0)
      log.warn({ count: revocations }, `the server stopped ending revoked sessions: ${cause}`);
  }

  async function revokeOne(revocation: PendingRevocation): Promise<void> {
    try {
      if (await claims.revoke(revocation.claimedDevice, revocation.sessionId, revocation.reason))
        return;
    } catch (error) {
      lastError = error;
    }
    unanswered.push(revocation);
  }

  function runNext(): void {
    while (!isStopped && running.size < parallelRequests) {
      const nextRevocation = untried.shift() ?? retrying.shift();
      if (nextRevocation === undefined) return;
      const request = revokeOne(nextRevocation).finally(() => {
        running.delete(request);
        runNext();
      });
      running.add(request);
    }
  }

  return {
    /** Starts to end the sessions and returns immediately. */
    revoke(revocations: readonly Revocation[]): void {
      const endsAt = now() + sessionMaxMs;
      for (const revocation of revocations) untried.push({ ...revocation, endsAt });
      let dropped = 0;
      while (pendingCount() + running.size > pendingMax && dropOldest()) dropped += 1;
      logDropped(dropped, 'too many are pending');
      runNext();
    },

    /** Retries the cuts that no node has answered, and returns immediately. */
    retry(): void {
      if (unanswered.length > 0) {
        const text = 'the server could not end revoked sessions yet, and retries';
        log.warn({ count: unanswered.length, err: lastError }, text);
      }
      lastError = undefined;
      let expired = 0;
      for (const revocation of unanswered.splice(0)) {
        if (now() < revocation.endsAt) retrying.push(revocation);
        else expired += 1;
      }
      logDropped(expired, 'they have expired');
      runNext();
    },

    /** Waits for the requests in progress. */
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(running);
      logDropped(pendingCount(), 'the process stops');
    },
  };
}
