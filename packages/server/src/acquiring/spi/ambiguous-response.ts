// Declines after which the host or issuer may still post the transaction.
import { responseCodeFacts } from '@switchyard/contract';
import type { AcquirerOutcome } from './acquirer-spi.ts';

/** Duplicate transmission (94) and duplicate file record (26): the host already has this message. */
const duplicateCodes: ReadonlySet<string> = new Set(['94', '26']);
/** Request in progress (09) and response received too late (68): the posting is unknown. */
const indeterminateCodes: ReadonlySet<string> = new Set(['09', '68']);

export const isDuplicateDecline = (outcome: AcquirerOutcome): boolean =>
  outcome.outcome === 'Declined' && duplicateCodes.has(outcome.responseCode);

/**
 * The host or issuer may still post the transaction, or the response code is unknown. An unknown code may be
 * an approval, such as code 16 of ISO 8583:1987.
 */
export const isIndeterminate = (outcome: AcquirerOutcome): boolean => {
  if (outcome.outcome !== 'Declined') return false;
  const { responseCode, isExplicitDecline: isPlain = false } = outcome;
  return (
    indeterminateCodes.has(responseCode) || !(isPlain || responseCodeFacts(responseCode).known)
  );
};

/**
 * A duplicate, indeterminate or unknown decline requires a reversal. A reversal of a transaction that the
 * issuer declined has no effect.
 */
export const isAmbiguousDecline = (outcome: AcquirerOutcome): boolean =>
  isDuplicateDecline(outcome) || isIndeterminate(outcome);
