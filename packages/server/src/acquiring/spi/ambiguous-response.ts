// Declines after which the host or issuer may still post the transaction.
import { responseCodeFacts } from '@switchyard/contract';
import type { AcquirerOutcome } from './acquirer-spi.ts';

/** Duplicate transmission (94) and duplicate file record (26): the host already has this message. */
const duplicates: ReadonlySet<string> = new Set(['94', '26']);
/** Request in progress (09) and response received too late (68): the posting is unknown. */
const undecided: ReadonlySet<string> = new Set(['09', '68']);

export const isDuplicate = (outcome: AcquirerOutcome): boolean =>
  outcome.outcome === 'Declined' && duplicates.has(outcome.responseCode);

/**
 * The host or issuer may still post the transaction, or the response code is unknown. An unknown code may be
 * an approval, such as code 16 of ISO 8583:1987.
 */
export const isUndecided = (outcome: AcquirerOutcome): boolean => {
  if (outcome.outcome !== 'Declined') return false;
  const { responseCode, isPlain = false } = outcome;
  return undecided.has(responseCode) || !(isPlain || responseCodeFacts(responseCode).known);
};

/**
 * A duplicate, indeterminate or unknown decline requires a reversal. A reversal of a transaction that the
 * issuer declined has no effect.
 */
export const mayBeBooked = (outcome: AcquirerOutcome): boolean =>
  isDuplicate(outcome) || isUndecided(outcome);
