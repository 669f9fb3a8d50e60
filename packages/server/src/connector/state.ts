// Who gets a device: what a claim meets, and what becomes of it. Pure.

/**
 * `Reserved`: its address has not been used yet; `Open`: the POS is connected; `Resumable`: it was cut
 * off, or the device was, and it is kept for its owner for a while.
 */
export type Phase = 'Reserved' | 'Open' | 'Resumable';

export type Standing = {
  readonly owner: string;
  readonly phase: Phase;
  /** Its owner got it back after a break: what was held for it may wait in it, though it was never open. */
  readonly isResumed: boolean;
  /** When it was claimed, or its address was used: a point of sale is connected a moment later. */
  readonly reservedAt: number;
  /** When data last flowed. */
  readonly dataAt: number;
  /** When it ends by itself, unless something happens. */
  readonly endsAt: number;
};

export type Claim = {
  readonly owner: string;
  readonly takeOver: boolean;
  readonly force: boolean;
  /** It showed the resume token of this very session. */
  readonly hasToken: boolean;
};

export type Decision =
  | { readonly kind: 'Fresh' }
  | { readonly kind: 'Resumed' }
  /** `isForced`: though data has flowed a moment ago. */
  | { readonly kind: 'TakenOver'; readonly isForced: boolean }
  | {
      readonly kind: 'Refused';
      readonly code: 'device_claimed' | 'takeover_refused';
      readonly retryAfterMs: number;
    };

/** How long to wait for a session that somebody uses; nobody knows its end. */
const usedRetryMs = 5000;
/** Of what nobody has connected to by then its owner has not heard: the answer to its claim was lost. */
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
