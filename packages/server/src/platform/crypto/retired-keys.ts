// Keys that were replaced and sign for a while still: how many there may be at once, and which of them do.
import { refuse } from '@switchyard/contract';
import { isoTime } from '../time/clock.ts';

/**
 * How many keys before the present one sign at a time. A renewal whose answer was lost is made again at
 * once, and calls with the key before it may be on their way.
 */
export const maxRetiredKeys = 3;

/** As JSON holds it: sealed in base64, RFC 3339. */
export type OlderKeyJson = { readonly sealed: string; readonly until: string };

export type RetiredKeyColumns = {
  readonly previous_sealed: Buffer | null;
  readonly previous_until: Date | null;
  /** Those before it, the newest first. */
  readonly older_keys: readonly OlderKeyJson[];
};

export type RetiredKey = { readonly sealed: Buffer; readonly until: number };

/** Those that sign at a time, the newest first. Pure. */
export function listActiveRetiredKeys(row: RetiredKeyColumns, now: number): RetiredKey[] {
  const { previous_sealed: sealed, previous_until: until, older_keys: older } = row;
  const previous = sealed === null || until === null ? [] : [{ sealed, until: until.getTime() }];
  const olderKeys = older.map((each) => ({
    sealed: Buffer.from(each.sealed, 'base64'),
    until: Date.parse(each.until),
  }));
  return [...previous, ...olderKeys].filter((each) => each.until > now);
}

/**
 * What stands behind the previous key once the present one has become that. Pure.
 *
 * @throws Refusal keys_renewed_often
 */
export function listOlderKeysAfterRotation(row: RetiredKeyColumns, now: number): OlderKeyJson[] {
  const retired = listActiveRetiredKeys(row, now);
  const earliestEnd = Math.min(...retired.map(({ until }) => until));
  if (retired.length >= maxRetiredKeys) {
    refuse('keys_renewed_often', `${maxRetiredKeys} keys before the present one sign still.`, {
      retryAfterMs: earliestEnd - now,
    });
  }
  return retired.map(({ sealed, until }) => ({
    sealed: sealed.toString('base64'),
    until: isoTime(until),
  }));
}
