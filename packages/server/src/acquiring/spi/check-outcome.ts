// Checks of approvals and declines that apply to every acquirer.
import { responseCodeFacts } from '@switchyard/contract';
import type { AcquirerOutcome } from './acquirer-spi.ts';

/**
 * Returns the approved amount in minor units, or undefined if the response contradicts the request.
 * A partial approval must name its amount; a full approval must name the requested amount or none.
 */
export function checkApprovedAmount(
  requested: number,
  approved: number | undefined,
  isPartialApproval: boolean,
): number | undefined {
  if (approved === undefined) return isPartialApproval ? undefined : requested;
  if (approved === requested) return approved;
  const isPartialAmount = Number.isSafeInteger(approved) && approved > 0 && approved < requested;
  return isPartialApproval && isPartialAmount ? approved : undefined;
}

/** Leaves out issuer data that is empty or contains the card number. */
export function safeIssuerData(
  issuerData: string | undefined,
  cardNumber: string | undefined,
): string | undefined {
  if (issuerData === undefined || issuerData === '') return undefined;
  return cardNumber !== undefined && issuerData.includes(cardNumber) ? undefined : issuerData;
}

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
