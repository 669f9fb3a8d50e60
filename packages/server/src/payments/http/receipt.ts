// Puts together what a receipt of the sale prints: one copy for the merchant, one for the cardholder.
import { defined, type ReceiptCopy } from '@switchyard/contract';
import { formatAmount } from '@switchyard/money';
import type { Place } from '../../provisioning/index.ts';
import type { State } from '../transaction/state-machine.ts';
import { approvedStates, responseOf } from '../transaction/terminal-action.ts';
import {
  factsOf,
  type LoadedTransaction,
  outcomeEventOf,
  type SaleFacts,
} from '../transaction/transaction.ts';

export type Receipt = { merchant: ReceiptCopy; cardholder: ReceiptCopy };

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

/** Paper does not care on which way a sale came to the acquirer. */
const operationNames = {
  Sale: 'Sale',
  Authorization: 'Authorization',
  OfflineSale: 'Sale',
} as const;

function ofFacts(facts: SaleFacts) {
  const { merchantAddress, panSequence, chip, reference } = facts;
  const { purpose } = facts.request;
  return {
    merchantName: facts.merchantName,
    ...defined({ merchantAddress }),
    acquirerMerchantId: facts.merchantNumber,
    terminalId: reference.terminalId,
    operation: purpose === undefined ? operationNames[facts.kind] : String(purpose),
    scheme: facts.card.scheme,
    entryMode: facts.entryMode,
    ...defined({ panSequence }),
    ...chip,
    retrievalReferenceNumber: reference.rrn,
    systemTraceAuditNumber: reference.stan,
  };
}

/** A PIN that went to the issuer was verified where the issuer approved, whatever the chip knew. */
function pinLine(
  { pinSent }: SaleFacts,
  state: State,
): Pick<ReceiptCopy, 'cardholderVerification'> {
  if (pinSent !== true) return {};
  return { cardholderVerification: approvedStates.has(state) ? 'PinVerified' : 'None' };
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
  const amount = approvedStates.has(row.state) ? (told ?? row.amount) : row.amount;
  const merchant: ReceiptCopy = {
    ...ofFacts(facts),
    at: facts.offline?.authorizedAt ?? outcome.at,
    amount,
    currency: row.currency,
    amountText: formatAmount(amount, row.currency),
    maskedNumber: facts.card.maskedNumber,
    ...defined({ authorizationCode }),
    ...pinLine(facts, row.state),
    responseText: approvedStates.has(row.state) ? 'APPROVED' : (textOf[row.state] ?? notCompleted),
  };
  const maskedNumber = lastFour(facts.card.maskedNumber);
  const cardholder = { ...merchant, maskedNumber };
  // Why an issuer declines is for the merchant: on the other copy it would help a thief.
  const reason = row.state === 'Declined' ? responseOf(loaded)?.reason : undefined;
  if (reason !== undefined) merchant.responseReason = reason;
  return { merchant, cardholder };
}
