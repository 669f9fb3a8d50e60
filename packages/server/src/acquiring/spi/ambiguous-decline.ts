// Declines after which the host or issuer may still post the transaction.
import { responseCodeFacts } from '@switchyard/contract';
import type { AcquirerOutcome } from './acquirer-spi.ts';

const ambiguousCodes: Readonly<Record<string, 'Duplicate' | 'Indeterminate'>> = {
  // Duplicate transmission and duplicate file record: the host already has this message.
  '94': 'Duplicate',
  '26': 'Duplicate',
  // Request in progress and response received too late: the posting is unknown.
  '09': 'Indeterminate',
  '68': 'Indeterminate',
};

function findAmbiguity(outcome: AcquirerOutcome): 'Duplicate' | 'Indeterminate' | undefined {
  if (outcome.outcome !== 'Declined') return undefined;
  const { responseCode, isExplicitDecline = false } = outcome;
  // An unknown code may be an approval, such as code 16 of ISO 8583:1987.
  const isUnderstood = isExplicitDecline || responseCodeFacts(responseCode).known;
  return ambiguousCodes[responseCode] ?? (isUnderstood ? undefined : 'Indeterminate');
}

export const isDuplicateDecline = (outcome: AcquirerOutcome): boolean =>
  findAmbiguity(outcome) === 'Duplicate';

/** The host or issuer may still post the transaction, or the response code is unknown. */
export const isIndeterminate = (outcome: AcquirerOutcome): boolean =>
  findAmbiguity(outcome) === 'Indeterminate';

/**
 * A duplicate, indeterminate or unknown decline requires a reversal. A reversal of a transaction that the
 * issuer declined has no effect.
 */
export const isAmbiguousDecline = (outcome: AcquirerOutcome): boolean =>
  findAmbiguity(outcome) !== undefined;
