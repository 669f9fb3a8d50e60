// Shows a transaction to clients in the words of the contract; internals stay behind.
import {
  addressVerificationOf,
  defined,
  type Operation,
  type Transaction,
  type TransactionEvent,
  type TransactionEventType,
  type TransactionWithEvents,
} from '@switchyard/contract';
import { confirmByOf } from '../operations/confirm-sale.ts';
import type { State } from '../transaction/state-machine.ts';
import {
  approvedStates,
  nextActionOf,
  responseOf,
  summaryOf,
} from '../transaction/terminal-action.ts';
import {
  factsOf,
  type LoadedTransaction,
  outcomeOf,
  type SaleFacts,
  type StoredEvent,
  type StoredOperation,
} from '../transaction/transaction.ts';
import { receiptOf } from './receipt.ts';

export function viewOperation(operation: StoredOperation, loaded: LoadedTransaction): Operation {
  const { details, status } = operation;
  return {
    operationId: operation.operationId,
    number: operation.number,
    kind: operation.kind,
    status: status === 'Sent' || status === 'Filed' ? 'Pending' : status,
    amount: operation.amount,
    currency: loaded.row.currency,
    // One that begins with `~` is the platform's own.
    ...(operation.clientOperationId === undefined || operation.clientOperationId.startsWith('~')
      ? {}
      : { clientOperationId: operation.clientOperationId }),
    ...defined({
      response:
        details.response === undefined
          ? undefined
          : summaryOf(details.response, { contactless: false, zeroAmount: false }),
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

function responseMembers(
  loaded: LoadedTransaction,
): Pick<Transaction, 'response' | 'authorizationCode' | 'emvResponse' | 'addressVerification'> {
  const outcome = outcomeOf(loaded);
  const response = responseOf(loaded);
  if (outcome === undefined || response === undefined) return {};
  const { addressAsked } = factsOf(loaded);
  return {
    response,
    ...defined({ authorizationCode: outcome.authorizationCode, emvResponse: outcome.issuerData }),
    ...(addressAsked === undefined || outcome.response === undefined
      ? {}
      : { addressVerification: addressVerificationOf(outcome.addressResult) }),
  };
}

function requestMembers(request: Record<string, unknown>) {
  const { order, metadata, purpose } = request;
  return defined({
    purpose: purpose === undefined ? undefined : (purpose as NonNullable<Transaction['purpose']>),
    order: order === undefined ? undefined : (order as NonNullable<Transaction['order']>),
    metadata:
      metadata === undefined ? undefined : (metadata as NonNullable<Transaction['metadata']>),
  });
}

/** An offline sale was answered before the acquirer knew of it. */
function answeredStateOf(loaded: LoadedTransaction): State {
  if (factsOf(loaded).offline !== undefined) return 'Stored';
  return outcomeOf(loaded)?.state ?? loaded.row.state;
}

function offlineMembers({ offline }: SaleFacts): Partial<Transaction> {
  if (offline === undefined) return {};
  return {
    offlineTransaction: true,
    offlineData: offline,
    authorizationCode: offline.authorizationCode,
  };
}

/** The whole transaction as it stands, as every verb answers it. */
export function viewTransaction(loaded: LoadedTransaction): Transaction {
  const { row } = loaded;
  const { position } = row;
  const facts = factsOf(loaded);
  const answer = responseMembers(loaded);
  const action = nextActionOf(loaded);
  const receipt = receiptOf(loaded);
  const confirmBy = confirmByOf(loaded);
  const settlementDate = outcomeOf(loaded)?.settlementDate;
  return {
    transactionId: row.transactionId,
    clientTransactionId: row.clientTransactionId,
    merchantId: row.merchantId,
    ...defined({ storeId: row.storeId, deviceId: row.deviceId }),
    state: row.state,
    approved: approvedStates.has(row.state),
    answeredState: answeredStateOf(loaded),
    amount: row.amount,
    currency: row.currency,
    authorizedAmount: position.authorized,
    capturedAmount: position.captured,
    cancelledAmount: position.cancelled,
    refundedAmount: position.refunded,
    captureMode: facts.captureMode,
    entryMode: facts.entryMode as Transaction['entryMode'],
    card: facts.card,
    ...answer,
    ...offlineMembers(facts),
    ...defined({ confirmBy }),
    retrievalReferenceNumber: facts.reference.rrn,
    systemTraceAuditNumber: facts.reference.stan,
    ...defined({ terminalAction: action, receipt }),
    ...requestMembers(facts.request),
    ...defined({ stepUpOf: facts.stepUpOf, settlementDate }),
    operations: loaded.operations.map((each) => viewOperation(each, loaded)),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

function viewEvent({ sequence, type, at, data }: StoredEvent): TransactionEvent {
  const {
    facts: _facts,
    changes: _changes,
    issuerData: _issuerData,
    addressResult: _addressResult,
    ...shown
  } = data;
  return { sequence, type: type as TransactionEventType, at, data: shown };
}

export function viewWithEvents(loaded: LoadedTransaction): TransactionWithEvents {
  return { ...viewTransaction(loaded), events: loaded.events.map(viewEvent) };
}
