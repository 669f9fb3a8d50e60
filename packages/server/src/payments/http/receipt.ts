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

/** For states without a final outcome: the paper must not read as a payment. */
const notCompletedText = 'NOT COMPLETED';

const maskToLastFour = (masked: string) => masked.slice(-4).padStart(masked.length, '*');

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

/**
 * Undefined without an outcome. Follows EMV Book 4, 11.4: no expiry date, at most the first six and the last
 * four digits of the card number.
 */
export function createReceipt(transaction: TransactionRecord): Receipt | undefined {
  const outcome = saleOutcomeEvent(transaction);
  if (outcome === undefined) return undefined;
  const { row } = transaction;
  const context = authorizationContext(transaction);
  const { authorizationCode, amount: approvedAmount } = outcome.data;
  const isApproved = approvedStates.has(row.state);
  // An approval of the issuer verifies an online PIN, regardless of the chip data.
  const pinVerification: ReceiptCopy['cardholderVerification'] = isApproved
    ? 'PinVerified'
    : 'None';
  const amount = (isApproved ? approvedAmount : undefined) ?? row.amount;
  const merchant: ReceiptCopy = {
    ...receiptMembers(context),
    at: context.offline?.authorizedAt ?? outcome.at,
    amount,
    currency: row.currency,
    amountText: formatAmount(amount, row.currency),
    maskedNumber: context.card.maskedNumber,
    ...defined({
      authorizationCode,
      cardholderVerification: context.isPinSent && pinVerification,
    }),
    responseText: isApproved ? 'APPROVED' : (responseTextByState[row.state] ?? notCompletedText),
  };
  const maskedNumber = maskToLastFour(context.card.maskedNumber);
  const cardholder = { ...merchant, maskedNumber };
  // The decline reason is on the merchant copy only: it would help a thief.
  const reason = row.state === 'Declined' ? saleResponse(transaction)?.reason : undefined;
  if (reason !== undefined) merchant.responseReason = reason;
  return { merchant, cardholder };
}
