// Decides which claim gets a device and what follows, with pure functions.

/**
 * `Reserved`: the address was not used yet. `Open`: the POS is connected. `Resumable`: the POS or
 * the device has disconnected, and the session is kept for its owner for a limited time.
 */
export type Phase = 'Reserved' | 'Open' | 'Resumable';

export type Standing = {
  readonly owner: string;
  readonly phase: Phase;
  /** The owner has resumed the session, so stored messages may wait in it before it is open. */
  readonly isResumed: boolean;
  /** The time of the claim or of the use of the address; the POS connects soon after it. */
  readonly reservedAt: number;
  /** The time of the last data. */
  readonly dataAt: number;
  /** The time at which the session ends by itself. */
  readonly endsAt: number;
};

export type Claim = {
  readonly owner: string;
  readonly takeOver: boolean;
  readonly force: boolean;
  /** True if the claim contains the resume token of this session. */
  readonly hasToken: boolean;
};

export type Decision =
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
const usedRetryMs = 5000;
/** If no POS connects within this time, the answer to the claim was probably lost. */
const unusedMs = 5000;

/** @example decideClaim(undefined, claim, now, { quietMs: 150_000 }); // { kind: 'Fresh' } */
export function decideClaim(
  standing: Standing | undefined,
  claim: Claim,
  now: number,
  { quietMs }: { readonly quietMs: number },
): Decision {
  if (standing === undefined) return { kind: 'Fresh' };
  const { phase, isResumed, dataAt, endsAt, reservedAt } = standing;
  const retryAfterMs = phase === 'Open' ? usedRetryMs : Math.max(0, endsAt - now);
  const refused = { kind: 'Refused', code: 'device_claimed', retryAfterMs } as const;
  if (standing.owner !== claim.owner) return refused;
  if (claim.hasToken && (phase !== 'Reserved' || isResumed)) return { kind: 'Resumed' };
  if (claim.takeOver) {
    const isQuiet = phase !== 'Open' || now - dataAt >= quietMs;
    if (isQuiet || claim.force) return { kind: 'TakenOver', isForced: !isQuiet };
    return { kind: 'Refused', code: 'takeover_refused', retryAfterMs: dataAt + quietMs - now };
  }
  if (phase === 'Open') return refused;
  const keptMs = phase === 'Reserved' ? reservedAt + unusedMs - now : 0;
  return keptMs > 0 ? { ...refused, retryAfterMs: keptMs } : { kind: 'Fresh' };
}
