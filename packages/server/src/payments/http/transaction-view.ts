// API view of transactions, their operations and receipts.
import {
  addressVerificationOf,
  defined,
  type Operation,
  type ReceiptCopy,
  type Transaction,
  type TransactionEvent,
  type TransactionEventType,
  type TransactionWithEvents,
} from '@switchyard/contract';
import { formatAmount } from '@switchyard/money';
import type { State } from '../transaction/state-machine.ts';
import {
  approvedStates,
  saleResponse,
  summarizeResponse,
  terminalActionFor,
} from '../transaction/terminal-action.ts';
import { confirmDeadline } from '../transaction/time-limits.ts';
import {
  type AuthorizationContext,
  authorizationContext,
  type OperationStatus,
  type StoredEvent,
  type StoredOperation,
  saleOutcome,
  saleOutcomeEvent,
  type TransactionRecord,
} from '../transaction/transaction.ts';

export type Receipt = { merchant: ReceiptCopy; cardholder: ReceiptCopy };

const responseTextByState: Readonly<Partial<Record<State, string>>> = {
  Declined: 'DECLINED',
  Cancelled: 'CANCELLED',
  Expired: 'EXPIRED',
};

/** For an unknown or failed outcome: the receipt must not look like a proof of payment. */
const notCompletedText = 'NOT COMPLETED';

const maskToLastFour = (masked: string) => masked.slice(-4).padStart(masked.length, '*');

const receiptOperationNames = {
  Sale: 'Sale',
  Authorization: 'Authorization',
  OfflineSale: 'Sale',
} as const;

/** The members of every receipt of a transaction. */
function receiptBase(
  transaction: TransactionRecord,
  { rrn, stan, terminalId }: AuthorizationContext['reference'],
  amount: number,
) {
  const { currency } = transaction.row;
  const { merchantName, merchantAddress, acquirerMerchantId, card, entryMode } =
    authorizationContext(transaction);
  return {
    merchantName,
    acquirerMerchantId,
    terminalId,
    scheme: card.scheme,
    entryMode,
    maskedNumber: card.maskedNumber,
    retrievalReferenceNumber: rrn,
    systemTraceAuditNumber: stan,
    amount,
    currency,
    amountText: formatAmount(amount, currency),
    ...defined({ merchantAddress }),
  };
}

const cardholderCopy = (merchant: ReceiptCopy): ReceiptCopy => ({
  ...merchant,
  ...defined({ maskedNumber: merchant.maskedNumber && maskToLastFour(merchant.maskedNumber) }),
});

/**
 * Undefined without an outcome. Follows EMV Book 4, 11.4: no expiry date, at most the first six and the last
 * four digits of the card number.
 */
function createReceipt(transaction: TransactionRecord): Receipt | undefined {
  const outcome = saleOutcomeEvent(transaction);
  if (outcome === undefined) return undefined;
  const { row } = transaction;
  const context = authorizationContext(transaction);
  const { purpose } = context.request;
  const { authorizationCode, amount: approvedAmount, acquirerData } = outcome.data;
  const isApproved = approvedStates.has(row.state);
  // An approval of the issuer verifies an online PIN, regardless of the chip data.
  const pinResult: ReceiptCopy['cardholderVerification'] = isApproved ? 'PinVerified' : 'None';
  const amount = (isApproved ? approvedAmount : undefined) ?? row.amount;
  const merchant: ReceiptCopy = {
    ...receiptBase(transaction, context.reference, amount),
    operation: purpose === undefined ? receiptOperationNames[context.kind] : String(purpose),
    ...context.receiptChipTags,
    at: context.offline?.authorizedAt ?? outcome.at,
    ...defined({
      panSequence: context.panSequenceNumber,
      authorizationCode,
      cardholderVerification: context.isPinSent && pinResult,
      acquirerText: acquirerData?.receiptText,
    }),
    responseText: isApproved ? 'APPROVED' : (responseTextByState[row.state] ?? notCompletedText),
  };
  const cardholder = cardholderCopy(merchant);
  // The decline reason is on the merchant copy only: it would help a thief.
  const reason = row.state === 'Declined' ? saleResponse(transaction)?.reason : undefined;
  if (reason !== undefined) merchant.responseReason = reason;
  return { merchant, cardholder };
}

const refundResponseTexts: Readonly<Partial<Record<OperationStatus, string>>> = {
  Succeeded: 'APPROVED',
  Declined: 'DECLINED',
  Failed: notCompletedText,
};

/** The receipt of a refund. It has no chip data, because the card was not read for the refund. */
export function createRefundReceipt(
  transaction: TransactionRecord,
  { amount, status, details, updatedAt }: StoredOperation,
): Receipt {
  const merchant: ReceiptCopy = {
    ...receiptBase(transaction, details.reference, amount),
    operation: 'Refund',
    at: updatedAt,
    responseText: refundResponseTexts[status] ?? 'PENDING',
  };
  return { merchant, cardholder: cardholderCopy(merchant) };
}

export function viewOperation(
  operation: StoredOperation,
  transaction: TransactionRecord,
): Operation {
  const { clientOperationId, details, status } = operation;
  return {
    operationId: operation.operationId,
    number: operation.operationNumber,
    kind: operation.kind,
    status: status === 'Sent' || status === 'Filed' ? 'Pending' : status,
    amount: operation.amount,
    currency: transaction.row.currency,
    ...defined({
      // The platform's own identifiers begin with `~`.
      clientOperationId: clientOperationId?.startsWith('~') ? undefined : clientOperationId,
      response:
        details.response &&
        summarizeResponse(details.response, { contactless: false, zeroAmount: false }),
      approvalCodeId: details.approvalCodeId,
      cancelReason: details.cancelReason,
      reversalReason: details.reversalReason as Operation['reversalReason'],
      settlementDate: details.settlementDate,
    }),
    createdAt: operation.createdAt,
    updatedAt: operation.updatedAt,
  };
}

function viewResponse(
  transaction: TransactionRecord,
): Pick<
  Transaction,
  'response' | 'authorizationCode' | 'emvResponse' | 'acquirerData' | 'addressVerification'
> {
  const outcome = saleOutcome(transaction);
  const response = saleResponse(transaction);
  if (outcome === undefined || response === undefined) return {};
  const { isAvsRequested } = authorizationContext(transaction);
  return defined({
    response,
    authorizationCode: outcome.authorizationCode,
    emvResponse: outcome.issuerData,
    acquirerData: outcome.acquirerData,
    addressVerification:
      isAvsRequested && outcome.response && addressVerificationOf(outcome.avsResultCode),
  });
}

function viewOffline({ offline }: AuthorizationContext): Partial<Transaction> {
  if (offline === undefined) return {};
  const { authorizationCode } = offline;
  // The response to an offline sale was sent before its submission to the acquirer.
  const answeredState = 'Stored';
  return { answeredState, offlineTransaction: true, offlineData: offline, authorizationCode };
}

export function viewTransaction(transaction: TransactionRecord): Transaction {
  const { row } = transaction;
  const { position } = row;
  const context = authorizationContext(transaction);
  const outcome = saleOutcome(transaction);
  const { purpose, order, metadata } = context.request as Partial<Transaction>;
  return {
    transactionId: row.transactionId,
    clientTransactionId: row.clientTransactionId,
    merchantId: row.merchantId,
    ...defined({ storeId: row.storeId, deviceId: row.deviceId }),
    state: row.state,
    approved: approvedStates.has(row.state),
    answeredState: outcome?.state ?? row.state,
    amount: row.amount,
    currency: row.currency,
    authorizedAmount: position.authorized,
    capturedAmount: position.captured,
    cancelledAmount: position.cancelled,
    refundedAmount: position.refunded,
    captureMode: context.captureMode,
    entryMode: context.entryMode as Transaction['entryMode'],
    card: context.card,
    ...viewResponse(transaction),
    ...viewOffline(context),
    retrievalReferenceNumber: context.reference.rrn,
    systemTraceAuditNumber: context.reference.stan,
    ...defined({
      confirmBy: confirmDeadline(transaction),
      terminalAction: terminalActionFor(transaction),
      receipt: createReceipt(transaction),
      purpose,
      order,
      metadata,
      stepUpOf: context.stepUpOf,
      settlementDate: outcome?.settlementDate,
    }),
    operations: transaction.operations.map((each) => viewOperation(each, transaction)),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

function viewEvent({ sequence, type, at, data }: StoredEvent): TransactionEvent {
  const {
    context: _context,
    changes: _changes,
    issuerData: _issuerData,
    avsResultCode: _avsResultCode,
    acquirerData: _acquirerData,
    retrievalReference: _retrievalReference,
    traceparent: _traceparent,
    ...eventData
  } = data;
  return { sequence, type: type as TransactionEventType, at, data: eventData };
}

export function viewWithEvents(transaction: TransactionRecord): TransactionWithEvents {
  return { ...viewTransaction(transaction), events: transaction.events.map(viewEvent) };
}
