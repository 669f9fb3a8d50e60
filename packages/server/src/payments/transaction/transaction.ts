// A transaction as it is stored: row, events and operations.
import {
  type CaptureMode,
  defined,
  type EntryMode,
  type OfflineData,
  type Order,
  responseCodeFacts,
} from '@switchyard/contract';
import type {
  AcquirerData,
  AcquirerReference,
  AcquirerRequestKind,
  ClearingLine,
} from '../../acquiring/index.ts';
import type { OperationType, Position, PositionChanges, State } from './state-machine.ts';

/** Parts of the amount in minor units; an absent part is not included in the amount. */
export type AmountParts = { readonly tip?: number; readonly cashback?: number };

export type TransactionRow = {
  organizationId: string;
  transactionId: string;
  merchantId: string;
  clientTransactionId: string;
  storeId: string | undefined;
  deviceId: string | undefined;
  contractId: string;
  amount: number;
  currency: string;
  /** Minor units that may be captured above the authorised amount. */
  overCaptureAllowance: number;
  position: Position;
  state: State;
  /** Number of events. An update is refused when the version has changed. */
  version: number;
  operationCount: number;
  /** Epoch ms. After this time a sale in progress counts as unanswered. */
  deadline: number;
  /** RFC 3339 with milliseconds. */
  createdAt: string;
  updatedAt: string;
};

export type StoredEvent = { sequence: number; type: string; at: string; data: EventData };

/**
 * `Sent`: stored directly before its message is sent, until its deadline. `Pending`: has a retry job.
 * `Filed`: waits for a clearing acknowledgement.
 */
export type OperationStatus = 'Sent' | 'Pending' | 'Filed' | 'Succeeded' | 'Declined' | 'Failed';

export type OperationDetails = {
  reference: AcquirerReference;
  /** The request members that distinguish a replay from another request. */
  request: Record<string, unknown>;
  actor?: string;
  approvalCodeId?: string;
  final?: boolean;
  /** Amount of the authorization that a final capture releases, in minor units. */
  releasedAmount?: number;
  cancelReason?: 'Technical' | 'Functional';
  reversalReason?: string;
  systemReversalReason?: string;
  /** DE55 chip completion data of a pending reversal, without card data. */
  chipData?: string;
  /** Authorised amount after a partial cancel, in minor units. */
  remainingAmount?: number;
  /** The host already knew the references of the first message, so a duplicate response proves nothing. */
  hasReferenceCollision?: true;
  /** Number of new references allocated because the host already knew the old ones. */
  referenceRenewalCount?: number;
  /** The host accepted the reversal and approved the sale; the order of both is unknown. */
  reversalAcceptedBefore?: true;
  /** The acquirer approved the sale, but the platform recorded no authorized amount. */
  approvedAtHost?: true;
  response?: { code?: string; reason?: string };
  /** YYYY-MM-DD: the day of the store to which a capture belongs. */
  settlementDate?: string;
};

/** Response reason of an operation that a user resolved manually. */
export const manualResolutionReason = 'Resolved';

export type StoredOperation = {
  operationNumber: number;
  operationId: string;
  kind: OperationType;
  status: OperationStatus;
  amount: number;
  clientOperationId: string | undefined;
  details: OperationDetails;
  deadline: number;
  createdAt: string;
  updatedAt: string;
};

/** Authorization data that later operations need; stored once with the intent. */
export type AuthorizationContext = {
  captureMode: CaptureMode;
  entryMode: EntryMode;
  card: { scheme: string; maskedNumber: string; token: string };
  request: Record<string, unknown>;
  linkId: string;
  acquirerMerchantId: string;
  merchantName: string;
  /** One line; the address of the store if it has one. */
  merchantAddress?: string;
  mcc: string;
  timeZone: string;
  /** `HH:MM` local time at which the settlement day ends; default midnight. */
  cutOverTime?: string;
  /** Days of 24 hours until the authorization expires. */
  holdDays?: number;
  /** Captures are lines of a clearing file instead of messages. */
  captureTransport?: 'File';
  kind: Extract<AcquirerRequestKind, 'Authorization' | 'Sale' | 'OfflineSale'>;
  reference: AcquirerReference;
  panSequenceNumber?: string;
  partialApproval: boolean;
  receiptChipTags?: Record<string, string>;
  amounts?: AmountParts;
  isAvsRequested?: true;
  isPinSent?: true;
  confirmWithinSeconds?: number;
  offline?: OfflineData;
  /** Transaction id of the declined sale that this sale steps up. */
  stepUpOf?: string;
};

export type EventData = {
  state: State;
  changes: PositionChanges;
  amount?: number;
  operation?: { operationId: string; number: number; kind: OperationType; status: OperationStatus };
  response?: { code?: string; reason?: string };
  authorizationCode?: string;
  /** RFC 3339. */
  confirmBy?: string;
  /** Ranges of terminal sequence numbers that the terminal has not uploaded. */
  missing?: { first: number; last: number }[];
  /** YYYY-MM-DD. */
  settlementDate?: string;
  issuerData?: string;
  avsResultCode?: string;
  acquirerData?: AcquirerData;
  /** The number that the host assigned to the sale (DE37); the references of a response show it. */
  retrievalReference?: string;
  actor?: string;
  reason?: string;
  note?: string;
  /** Set on the first event and on each failover; never part of a response. */
  context?: AuthorizationContext;
  /** The sampled span that caused the event; never part of a response. */
  traceparent?: string;
};

export type TransactionRecord = {
  row: TransactionRow;
  events: StoredEvent[];
  operations: StoredOperation[];
};

export type JobRequest = {
  jobId: string;
  kind: string;
  payload: Record<string, unknown>;
  /** RFC 3339. */
  dueAt: string;
  /** The acquirer link whose messages leave in order. */
  queueId?: string;
};

/** A capture that waits for the next clearing file of its link. */
export type ClearingEntry = {
  linkId: string;
  /** YYYY-MM-DD. */
  settlementDate: string;
  /** RFC 3339: the end of that day. */
  dueAt: string;
  line: ClearingLine;
};

/** One update of a transaction: amounts, one event, optional operation and job, in one commit. */
export type TransactionChange = {
  before: TransactionRow;
  after: TransactionRow;
  event: StoredEvent;
  operation?: StoredOperation;
  job?: JobRequest;
  clearing?: ClearingEntry;
};

export const operationByNumber = (
  { operations }: TransactionRecord,
  number: number,
): StoredOperation | undefined =>
  operations.find(({ operationNumber }) => operationNumber === number);

/** The member of a job that refers to the request of the sale; empty if the request was not sampled. */
export function traceOfSale({ events }: Pick<TransactionRecord, 'events'>): {
  traceparent?: string;
} {
  const traceparent = events[0]?.data.traceparent;
  return traceparent === undefined ? {} : { traceparent };
}

/** The message of the operation is sent now, or a job sends it again. */
export const isUnfinishedMessage = ({ status }: StoredOperation): boolean =>
  status === 'Sent' || status === 'Pending';

export const transactionSummary = ({
  row: { transactionId, clientTransactionId, state },
}: TransactionRecord) => ({ transactionId, clientTransactionId, state });

/** Event types that do not decide the outcome of a sale. */
const nonOutcomeEventTypes: ReadonlySet<string> = new Set([
  'transaction.sent',
  'transaction.rerouted',
  'transaction.late_response',
  'offline.gap_detected',
]);

export function saleOutcomeEvent({ events }: TransactionRecord): StoredEvent | undefined {
  return events.find(({ sequence, type }) => sequence > 1 && !nonOutcomeEventTypes.has(type));
}

export const saleOutcome = (transaction: TransactionRecord): EventData | undefined =>
  saleOutcomeEvent(transaction)?.data;

/** The reference with the number that the host assigned, if it assigned one. */
export const withAssignedReference = (
  reference: AcquirerReference,
  rrn: string | undefined,
): AcquirerReference =>
  rrn === undefined ? reference : { ...reference, rrn, rrnAssignedBy: 'Host' };

/** Authorization context of the intent or of the last failover, with the host's number of the sale. */
export function authorizationContext({ events }: TransactionRecord): AuthorizationContext {
  const context = events.findLast(({ data }) => data.context !== undefined)?.data.context;
  if (context === undefined) throw new Error('the transaction has no authorization context');
  const rrn = events.findLast(({ data }) => data.retrievalReference !== undefined)?.data
    .retrievalReference;
  if (rrn === undefined) return context;
  return { ...context, reference: withAssignedReference(context.reference, rrn) };
}

/** Members of an acquirer message about the merchant and its order. */
export function merchantData({ merchantName, merchantAddress, request }: AuthorizationContext) {
  const { orderId } = (request['order'] ?? {}) as Partial<Order>;
  return defined({ merchantName, merchantAddress, orderId });
}

const saleRequestKinds: ReadonlySet<string> = new Set(['Sale', 'Authorization', 'OfflineSale']);

/** Not a capture, a refund or a reversal. */
export const isMessageOfSale = (kind: string): boolean => saleRequestKinds.has(kind);

export const isApprovalOfSale = (kind: string | undefined, responseCode: string): boolean =>
  kind !== undefined && isMessageOfSale(kind) && responseCodeFacts(responseCode).approved;

/** Evidence is a response, an approval that was reversed at once, or a late response. */
export function wasApprovedAtHost({ row, events, operations }: TransactionRecord): boolean {
  return (
    row.position.authorized > 0 ||
    operations.some(({ details }) => details.approvedAtHost === true) ||
    events.some(
      ({ type, data }) =>
        type === 'transaction.late_response' &&
        isApprovalOfSale(data.reason, data.response?.code ?? ''),
    )
  );
}
