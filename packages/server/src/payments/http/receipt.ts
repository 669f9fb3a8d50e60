// Creates the merchant copy and the cardholder copy of the receipt.
import { defined, type ReceiptCopy } from '@switchyard/contract';
import { formatAmount } from '@switchyard/money';
import type { State } from '../transaction/state-machine.ts';
import { approvedStates, saleResponse } from '../transaction/terminal-action.ts';
import {
  type AuthorizationContext,
  authorizationContext,
  saleOutcomeEvent,
  type TransactionRecord,
} from '../transaction/transaction.ts';

export type Receipt = { merchant: ReceiptCopy; cardholder: ReceiptCopy };

const responseTextByState: Readonly<Partial<Record<State, string>>> = {
  Declined: 'DECLINED',
  Cancelled: 'CANCELLED',
  Expired: 'EXPIRED',
};

/** What stands on paper must not read as a payment where money may yet go back. */
const notCompletedText = 'NOT COMPLETED';

/** Stars for all but the last four digits: the copy of the cardholder tells no more. */
const maskToLastFour = (masked: string) => masked.slice(-4).padStart(masked.length, '*');

/** Paper does not care on which way a sale came to the acquirer. */
const receiptOperationNames = {
  Sale: 'Sale',
  Authorization: 'Authorization',
  OfflineSale: 'Sale',
} as const;

function receiptMembers(context: AuthorizationContext) {
  const { merchantAddress, panSequenceNumber, receiptChipTags, reference } = context;
  const { purpose } = context.request;
  return {
    merchantName: context.merchantName,
    ...defined({ merchantAddress }),
    acquirerMerchantId: context.acquirerMerchantId,
    terminalId: reference.terminalId,
    operation: purpose === undefined ? receiptOperationNames[context.kind] : String(purpose),
    scheme: context.card.scheme,
    entryMode: context.entryMode,
    ...defined({ panSequence: panSequenceNumber }),
    ...receiptChipTags,
    retrievalReferenceNumber: reference.rrn,
    systemTraceAuditNumber: reference.stan,
  };
}

/** A PIN that went to the issuer was verified where the issuer approved, whatever the chip knew. */
function pinVerificationMember(
  { isPinSent }: AuthorizationContext,
  state: State,
): Pick<ReceiptCopy, 'cardholderVerification'> {
  if (isPinSent !== true) return {};
  return { cardholderVerification: approvedStates.has(state) ? 'PinVerified' : 'None' };
}

/**
 * The receipt of a sale that has an outcome, after EMV Book 4, 11.4: never an expiry, never more of
 * the number than its first six and last four digits. It follows the transaction: a sale that was
 * taken back says so.
 */
export function createReceipt(transaction: TransactionRecord): Receipt | undefined {
  const outcome = saleOutcomeEvent(transaction);
  if (outcome === undefined) return undefined;
  const { row } = transaction;
  const context = authorizationContext(transaction);
  const { authorizationCode, amount: approvedAmount } = outcome.data;
  const amount = approvedStates.has(row.state) ? (approvedAmount ?? row.amount) : row.amount;
  const merchant: ReceiptCopy = {
    ...receiptMembers(context),
    at: context.offline?.authorizedAt ?? outcome.at,
    amount,
    currency: row.currency,
    amountText: formatAmount(amount, row.currency),
    maskedNumber: context.card.maskedNumber,
    ...defined({ authorizationCode }),
    ...pinVerificationMember(context, row.state),
    responseText: approvedStates.has(row.state)
      ? 'APPROVED'
      : (responseTextByState[row.state] ?? notCompletedText),
  };
  const maskedNumber = maskToLastFour(context.card.maskedNumber);
  const cardholder = { ...merchant, maskedNumber };
  // Why an issuer declines is for the merchant: on the other copy it would help a thief.
  const reason = row.state === 'Declined' ? saleResponse(transaction)?.reason : undefined;
  if (reason !== undefined) merchant.responseReason = reason;
  return { merchant, cardholder };
}
