// Signing keys that were rotated and still sign for a while: their maximum number, and which of them are active.
import { throwProblem } from '@switchyard/contract';
import { isoTime } from '../time/clock.ts';

/**
 * The maximum number of rotated keys that sign at the same time. A client that lost the rotation
 * response rotates again at once, and calls with the previous key may be in progress.
 */
export const maxRetiredKeys = 3;

/** As stored in JSON: the encrypted key in base64, the time in RFC 3339. */
export type OlderKeyJson = { readonly sealed: string; readonly until: string };

export type RetiredKeyColumns = {
  readonly previous_sealed: Buffer | null;
  readonly previous_until: Date | null;
  /** The keys before the previous key, newest first. */
  readonly older_keys: readonly OlderKeyJson[];
};

export type RetiredKey = { readonly sealed: Buffer; readonly until: number };

/** The rotated keys that still sign at a time, newest first. Pure. */
export function listKeysStillSigning(row: RetiredKeyColumns, now: number): RetiredKey[] {
  const { previous_sealed: sealed, previous_until: until, older_keys: older } = row;
  const previous = sealed === null || until === null ? [] : [{ sealed, until: until.getTime() }];
  const olderKeys = older.map((key) => ({
    sealed: Buffer.from(key.sealed, 'base64'),
    until: Date.parse(key.until),
  }));
  return [...previous, ...olderKeys].filter((key) => key.until > now);
}

/**
 * The keys before the previous key, after the current key became the previous key. Pure.
 *
 * @throws ProblemError keys_renewed_often
 */
export function listOlderKeysAfterRotation(row: RetiredKeyColumns, now: number): OlderKeyJson[] {
  const retired = listKeysStillSigning(row, now);
  const earliestEnd = Math.min(...retired.map(({ until }) => until));
  if (retired.length >= maxRetiredKeys) {
    throwProblem(
      'keys_renewed_often',
      `${maxRetiredKeys} previous keys are still valid, which is the maximum. Rotate again after the time in Retry-After.`,
      {
        retryAfterMs: earliestEnd - now,
      },
    );
  }
  return retired.map(({ sealed, until }) => ({
    sealed: sealed.toString('base64'),
    until: isoTime(until),
  }));
}
