// Maps a transaction record to the API response.
import {
  addressVerificationOf,
  defined,
  type Operation,
  type Transaction,
  type TransactionEvent,
  type TransactionEventType,
  type TransactionWithEvents,
} from '@switchyard/contract';
import { confirmDeadline } from '../transaction/confirm-deadline.ts';
import type { State } from '../transaction/state-machine.ts';
import {
  approvedStates,
  saleResponse,
  summarizeResponse,
  terminalActionFor,
} from '../transaction/terminal-action.ts';
import {
  type AuthorizationContext,
  authorizationContext,
  type StoredEvent,
  type StoredOperation,
  saleOutcome,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { createReceipt } from './receipt.ts';

export function viewOperation(
  operation: StoredOperation,
  transaction: TransactionRecord,
): Operation {
  const { details, status } = operation;
  return {
    operationId: operation.operationId,
    number: operation.operationNumber,
    kind: operation.kind,
    status: status === 'Sent' || status === 'Filed' ? 'Pending' : status,
    amount: operation.amount,
    currency: transaction.row.currency,
    // One that begins with `~` is the platform's own.
    ...(operation.clientOperationId === undefined || operation.clientOperationId.startsWith('~')
      ? {}
      : { clientOperationId: operation.clientOperationId }),
    ...defined({
      response:
        details.response === undefined
          ? undefined
          : summarizeResponse(details.response, { contactless: false, zeroAmount: false }),
      approvalCodeId: details.approvalCodeId,
      cancelReason: details.cancelReason,
      reversalReason:
        details.reversalReason === undefined
          ? undefined
          : (details.reversalReason as NonNullable<Operation['reversalReason']>),
      settlementDate: details.settlementDate,
    }),
    createdAt: operation.createdAt,
    updatedAt: operation.updatedAt,
  };
}

function viewResponse(
  transaction: TransactionRecord,
): Pick<Transaction, 'response' | 'authorizationCode' | 'emvResponse' | 'addressVerification'> {
  const outcome = saleOutcome(transaction);
  const response = saleResponse(transaction);
  if (outcome === undefined || response === undefined) return {};
  const { isAvsRequested } = authorizationContext(transaction);
  return {
    response,
    ...defined({ authorizationCode: outcome.authorizationCode, emvResponse: outcome.issuerData }),
    ...(isAvsRequested === undefined || outcome.response === undefined
      ? {}
      : { addressVerification: addressVerificationOf(outcome.avsResultCode) }),
  };
}

function viewRequest(request: Record<string, unknown>) {
  const { order, metadata, purpose } = request;
  return defined({
    purpose: purpose === undefined ? undefined : (purpose as NonNullable<Transaction['purpose']>),
    order: order === undefined ? undefined : (order as NonNullable<Transaction['order']>),
    metadata:
      metadata === undefined ? undefined : (metadata as NonNullable<Transaction['metadata']>),
  });
}

/** An offline sale was answered before the acquirer knew of it. */
function answeredState(transaction: TransactionRecord): State {
  if (authorizationContext(transaction).offline !== undefined) return 'Stored';
  return saleOutcome(transaction)?.state ?? transaction.row.state;
}

function viewOffline({ offline }: AuthorizationContext): Partial<Transaction> {
  if (offline === undefined) return {};
  return {
    offlineTransaction: true,
    offlineData: offline,
    authorizationCode: offline.authorizationCode,
  };
}

/** The complete transaction as returned by every operation. */
export function viewTransaction(transaction: TransactionRecord): Transaction {
  const { row } = transaction;
  const { position } = row;
  const context = authorizationContext(transaction);
  const responseView = viewResponse(transaction);
  const action = terminalActionFor(transaction);
  const receipt = createReceipt(transaction);
  const confirmBy = confirmDeadline(transaction);
  const settlementDate = saleOutcome(transaction)?.settlementDate;
  return {
    transactionId: row.transactionId,
    clientTransactionId: row.clientTransactionId,
    merchantId: row.merchantId,
    ...defined({ storeId: row.storeId, deviceId: row.deviceId }),
    state: row.state,
    approved: approvedStates.has(row.state),
    answeredState: answeredState(transaction),
    amount: row.amount,
    currency: row.currency,
    authorizedAmount: position.authorized,
    capturedAmount: position.captured,
    cancelledAmount: position.cancelled,
    refundedAmount: position.refunded,
    captureMode: context.captureMode,
    entryMode: context.entryMode as Transaction['entryMode'],
    card: context.card,
    ...responseView,
    ...viewOffline(context),
    ...defined({ confirmBy }),
    retrievalReferenceNumber: context.reference.rrn,
    systemTraceAuditNumber: context.reference.stan,
    ...defined({ terminalAction: action, receipt }),
    ...viewRequest(context.request),
    ...defined({ stepUpOf: context.stepUpOf, settlementDate }),
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
    ...eventData
  } = data;
  return { sequence, type: type as TransactionEventType, at, data: eventData };
}

export function viewWithEvents(transaction: TransactionRecord): TransactionWithEvents {
  return { ...viewTransaction(transaction), events: transaction.events.map(viewEvent) };
}
