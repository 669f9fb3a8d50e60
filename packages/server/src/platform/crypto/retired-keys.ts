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

export type RetiredKeys = {
  readonly previousSealed?: Buffer;
  /** Epoch milliseconds. */
  readonly previousUntil?: number;
  /** The keys before the previous key, newest first. */
  readonly olderKeys: readonly OlderKeyJson[];
};

export type RetiredKey = { readonly sealed: Buffer; readonly until: number };

/** The rotated keys that still sign at a time, newest first. Pure. */
export function listKeysStillSigning(keys: RetiredKeys, now: number): RetiredKey[] {
  const { previousSealed: sealed, previousUntil: until } = keys;
  const previous = sealed === undefined || until === undefined ? [] : [{ sealed, until }];
  const olderKeys = keys.olderKeys.map((key) => ({
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
export function listOlderKeysAfterRotation(keys: RetiredKeys, now: number): OlderKeyJson[] {
  const retired = listKeysStillSigning(keys, now);
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
