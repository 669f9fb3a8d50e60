// Puts together what a receipt of the sale prints: one copy for the merchant, one for the cardholder.
import type { ReceiptCopy } from '@switchyard/contract';
import { formatAmount } from '@switchyard/money';
import type { Place } from '../provisioning/index.ts';
import { factsOf, type LoadedTransaction, outcomeEventOf, type SaleFacts } from './model.ts';
import type { State } from './state.ts';

export type Receipt = { merchant: ReceiptCopy; cardholder: ReceiptCopy };

const approved: ReadonlySet<State> = new Set<State>([
  'Authorized',
  'PartiallyCaptured',
  'Captured',
  'PartiallyRefunded',
  'Refunded',
]);

const textOf: Readonly<Partial<Record<State, string>>> = {
  Declined: 'DECLINED',
  Cancelled: 'CANCELLED',
  Expired: 'EXPIRED',
};

/** What stands on paper must not read as a payment where money may yet go back. */
const notCompleted = 'NOT COMPLETED';

/** An address in one line. */
export function addressLine(place: Place | undefined): string | undefined {
  if (place === undefined) return undefined;
  const { line1, line2, postalCode, city, region } = place;
  const town = [postalCode, city].filter((part) => part !== undefined).join(' ');
  return [line1, line2, town, region].filter((part) => part !== undefined).join(', ');
}

/** Stars for all but the last four digits: the copy of the cardholder tells no more. */
const lastFour = (masked: string) => masked.slice(-4).padStart(masked.length, '*');

function ofFacts(facts: SaleFacts) {
  const { merchantAddress, panSequence, chip, reference } = facts;
  return {
    merchantName: facts.merchantName,
    ...(merchantAddress === undefined ? {} : { merchantAddress }),
    acquirerMerchantId: facts.merchantNumber,
    terminalId: reference.terminalId,
    operation: facts.kind,
    scheme: facts.card.scheme,
    entryMode: facts.entryMode,
    ...(panSequence === undefined ? {} : { panSequence }),
    ...chip,
    retrievalReferenceNumber: reference.rrn,
    systemTraceAuditNumber: reference.stan,
  };
}

/**
 * The receipt of a sale that has an outcome, after EMV Book 4, 11.4: never an expiry, never more of
 * the number than its first six and last four digits. It follows the transaction: a sale that was
 * taken back says so.
 */
export function receiptOf(loaded: LoadedTransaction): Receipt | undefined {
  const outcome = outcomeEventOf(loaded);
  if (outcome === undefined) return undefined;
  const { row } = loaded;
  const facts = factsOf(loaded);
  const { authorizationCode, amount: told } = outcome.data;
  const amount = approved.has(row.state) ? (told ?? row.amount) : row.amount;
  const merchant: ReceiptCopy = {
    ...ofFacts(facts),
    at: outcome.at,
    amount,
    currency: row.currency,
    amountText: formatAmount(amount, row.currency),
    maskedNumber: facts.card.maskedNumber,
    ...(authorizationCode === undefined ? {} : { authorizationCode }),
    responseText: approved.has(row.state) ? 'APPROVED' : (textOf[row.state] ?? notCompleted),
  };
  const maskedNumber = lastFour(facts.card.maskedNumber);
  return { merchant, cardholder: { ...merchant, maskedNumber } };
}
