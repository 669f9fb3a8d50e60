// Decides which claim gets a device and what follows, with pure functions.

/**
 * `Reserved`: the address was not used yet. `Open`: the POS is connected. `Resumable`: the POS or
 * the device has disconnected, and the session is kept for its owner for a limited time.
 */
export type SessionPhase = 'Reserved' | 'Open' | 'Resumable';

export type SessionState = {
  readonly owner: string;
  readonly phase: SessionPhase;
  /** The owner has resumed the session, so stored messages may wait in it before it is open. */
  readonly isResumed: boolean;
  /** The time of the claim or of the use of the address; the POS connects soon after it. */
  readonly reservedAt: number;
  /** The time of the last data. */
  readonly lastDataAt: number;
  /** The time at which the session ends by itself. */
  readonly expiresAt: number;
};

export type ClaimInput = {
  readonly owner: string;
  readonly takeOver: boolean;
  readonly force: boolean;
  /** True if the claim contains the resume token of this session. */
  readonly hasResumeToken: boolean;
};

export type ClaimDecision =
  | { readonly kind: 'Fresh' }
  | { readonly kind: 'Resumed' }
  /** `isForced` is true if data has passed a short time before. */
  | { readonly kind: 'TakenOver'; readonly isForced: boolean }
  | {
      readonly kind: 'Refused';
      readonly code: 'device_claimed' | 'takeover_refused';
      readonly retryAfterMs: number;
    };

/** The retry time for a session in use, whose end is unknown. */
const openSessionRetryMs = 5000;
/** If no POS connects within this time, the answer to the claim was probably lost. */
const reservedMs = 5000;

/** @example decideClaim(undefined, claim, now, { takeoverQuietMs: 150_000 }); // { kind: 'Fresh' } */
export function decideClaim(
  session: SessionState | undefined,
  claim: ClaimInput,
  now: number,
  { takeoverQuietMs }: { readonly takeoverQuietMs: number },
): ClaimDecision {
  if (session === undefined) return { kind: 'Fresh' };
  const { phase, isResumed, lastDataAt, expiresAt, reservedAt } = session;
  const retryAfterMs = phase === 'Open' ? openSessionRetryMs : Math.max(0, expiresAt - now);
  const deviceClaimed = { kind: 'Refused', code: 'device_claimed', retryAfterMs } as const;
  if (session.owner !== claim.owner) return deviceClaimed;
  if (claim.hasResumeToken && (phase !== 'Reserved' || isResumed)) return { kind: 'Resumed' };
  if (claim.takeOver) {
    const isQuiet = phase !== 'Open' || now - lastDataAt >= takeoverQuietMs;
    if (isQuiet || claim.force) return { kind: 'TakenOver', isForced: !isQuiet };
    return {
      kind: 'Refused',
      code: 'takeover_refused',
      retryAfterMs: lastDataAt + takeoverQuietMs - now,
    };
  }
  if (phase === 'Open') return deviceClaimed;
  const reservedForMs = phase === 'Reserved' ? reservedAt + reservedMs - now : 0;
  return reservedForMs > 0 ? { ...deviceClaimed, retryAfterMs: reservedForMs } : { kind: 'Fresh' };
}
