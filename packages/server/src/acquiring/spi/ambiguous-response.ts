// Refusals that judge nothing: what they answer may stand in somebody's books, now or later.
import { responseCodeFacts } from '@switchyard/contract';
import type { AcquirerOutcome } from './acquirer-spi.ts';

/** The host has had a message with these numbers: ours, where it was sent before. */
const duplicates: ReadonlySet<string> = new Set(['94', '26']);
/** Still at work, or the issuer came too late for the host: what is booked is unknown at the first message too. */
const undecided: ReadonlySet<string> = new Set(['09', '68']);

export const isDuplicate = (outcome: AcquirerOutcome): boolean =>
  outcome.outcome === 'Declined' && duplicates.has(outcome.responseCode);

/**
 * The host says that it, or the issuer, may book the message yet; or something that nobody knows, which may be
 * an approval of its own kind as 16 of 1987 is.
 */
export const isUndecided = (outcome: AcquirerOutcome): boolean => {
  if (outcome.outcome !== 'Declined') return false;
  const { responseCode, isPlain = false } = outcome;
  return undecided.has(responseCode) || !(isPlain || responseCodeFacts(responseCode).known);
};

/**
 * The host takes it for one that it had before, or is still at work on it, or its issuer came too late, or says
 * what nobody knows: whatever was booked is taken back. Taking back what was declined does no harm.
 */
export const mayBeBooked = (outcome: AcquirerOutcome): boolean =>
  isDuplicate(outcome) || isUndecided(outcome);
