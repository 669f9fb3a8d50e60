// Shows a transaction to clients in the words of the contract; internals stay behind.
import {
  addressVerificationOf,
  type Operation,
  type ResponseSummary,
  responseCodeFacts,
  type Transaction,
  type TransactionEvent,
  type TransactionEventType,
  type TransactionWithEvents,
} from '@switchyard/contract';
import {
  factsOf,
  type LoadedTransaction,
  outcomeOf,
  type StoredEvent,
  type StoredOperation,
} from './model.ts';
import { receiptOf } from './receipt.ts';
import type { State } from './state.ts';

type Response = { code?: string; reason?: string };

function viewResponse(response: Response, contactless: boolean): ResponseSummary {
  if (response.code === undefined) {
    return { category: 'TechnicalFailure' as const, reason: response.reason ?? 'NoAnswer' };
  }
  const { category, reason, retry } = responseCodeFacts(response.code, { contactless });
  return { category, code: response.code, reason, ...(retry === undefined ? {} : { retry }) };
}

export function viewOperation(operation: StoredOperation, loaded: LoadedTransaction): Operation {
  const { details, status } = operation;
  return {
    operationId: operation.operationId,
    number: operation.number,
    kind: operation.kind,
    status: status === 'Sent' ? 'Pending' : status,
    amount: operation.amount,
    currency: loaded.row.currency,
    // One that begins with `~` is the platform's own.
    ...(operation.clientOperationId === undefined || operation.clientOperationId.startsWith('~')
      ? {}
      : { clientOperationId: operation.clientOperationId }),
    ...(details.response === undefined ? {} : { response: viewResponse(details.response, false) }),
    ...(details.approvalCodeId === undefined ? {} : { approvalCodeId: details.approvalCodeId }),
    ...(details.cancelReason === undefined ? {} : { cancelReason: details.cancelReason }),
    ...(details.reversalReason === undefined
      ? {}
      : { reversalReason: details.reversalReason as NonNullable<Operation['reversalReason']> }),
    createdAt: operation.createdAt,
    updatedAt: operation.updatedAt,
  };
}

const approvedStates: ReadonlySet<State> = new Set([
  'Authorized',
  'PartiallyCaptured',
  'Captured',
  'PartiallyRefunded',
  'Refunded',
]);

function terminalAction(
  state: State,
  retry: string | undefined,
): 'Approve' | 'Decline' | 'AskPin' | 'UseChip' | undefined {
  if (approvedStates.has(state)) return 'Approve';
  if (state === 'Received' || state === 'Stored') return undefined;
  if (state !== 'Declined') return 'Decline';
  if (retry === 'WithPin') return 'AskPin';
  return retry === 'OtherInterface' ? 'UseChip' : 'Decline';
}

function responseMembers(
  loaded: LoadedTransaction,
): Pick<Transaction, 'response' | 'authorizationCode' | 'emvResponse' | 'addressVerification'> {
  const outcome = outcomeOf(loaded);
  const { entryMode, addressAsked } = factsOf(loaded);
  const contactless = entryMode.startsWith('Contactless');
  if (outcome?.response === undefined && outcome?.reason === undefined) return {};
  const response = viewResponse(
    { ...(outcome.reason === undefined ? {} : { reason: outcome.reason }), ...outcome.response },
    contactless,
  );
  return {
    response,
    ...(outcome.authorizationCode === undefined
      ? {}
      : { authorizationCode: outcome.authorizationCode }),
    ...(outcome.issuerData === undefined ? {} : { emvResponse: outcome.issuerData }),
    ...(addressAsked === undefined || outcome.response === undefined
      ? {}
      : { addressVerification: addressVerificationOf(outcome.addressResult) }),
  };
}

function requestMembers(request: Record<string, unknown>) {
  const { order, metadata } = request;
  return {
    ...(order === undefined ? {} : { order: order as NonNullable<Transaction['order']> }),
    ...(metadata === undefined
      ? {}
      : { metadata: metadata as NonNullable<Transaction['metadata']> }),
  };
}

/** The whole transaction as it stands, as every verb answers it. */
export function viewTransaction(loaded: LoadedTransaction): Transaction {
  const { row } = loaded;
  const { position } = row;
  const facts = factsOf(loaded);
  const answer = responseMembers(loaded);
  const action = terminalAction(row.state, answer.response?.retry);
  const receipt = receiptOf(loaded);
  return {
    transactionId: row.transactionId,
    clientTransactionId: row.clientTransactionId,
    merchantId: row.merchantId,
    ...(row.storeId === undefined ? {} : { storeId: row.storeId }),
    ...(row.deviceId === undefined ? {} : { deviceId: row.deviceId }),
    state: row.state,
    approved: approvedStates.has(row.state),
    answeredState: outcomeOf(loaded)?.state ?? row.state,
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
    retrievalReferenceNumber: facts.reference.rrn,
    systemTraceAuditNumber: facts.reference.stan,
    ...(action === undefined ? {} : { terminalAction: action }),
    ...(receipt === undefined ? {} : { receipt }),
    ...requestMembers(facts.request),
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
