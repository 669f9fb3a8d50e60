// The records of the payments room as the code holds them: plain data, no behaviour.
import type { CaptureMode, EntryMode } from '@switchyard/contract';
import type { AcquirerReference, AcquirerRequestKind } from '../acquiring/index.ts';
import type { AmountParts } from './amount-parts.ts';
import type { Changes, Position, State } from './state.ts';

/** One row of `transactions`: what changes, and what is needed to judge. */
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
  overCapture: number;
  position: Position;
  state: State;
  /** The number of events so far; every change adds one and names the version it was made on. */
  version: number;
  operationCount: number;
  /** Epoch ms after which a running sale counts as unanswered. */
  deadline: number;
  /** RFC 3339 with milliseconds. */
  createdAt: string;
  updatedAt: string;
};

export type StoredEvent = {
  sequence: number;
  type: string;
  at: string;
  data: EventData;
};

export type OperationKind = 'Capture' | 'Refund' | 'Cancel' | 'Reversal';

/** `Sent` runs in some process until its deadline; `Pending` waits in the jobs table. */
export type OperationStatus = 'Sent' | 'Pending' | 'Succeeded' | 'Declined' | 'Failed';

export type OperationDetails = {
  reference: AcquirerReference;
  /** What the client sent, for telling a replay from another request. */
  request: Record<string, unknown>;
  actor?: string;
  /** The approval code that approved it. */
  approvalCodeId?: string;
  final?: boolean;
  /** What a final capture gives back of the hold, minor units; reserved together with it. */
  released?: number;
  cancelReason?: 'Technical' | 'Functional';
  reversalReason?: string;
  /** Why the platform itself takes a sale back. */
  cause?: string;
  /** What stays authorised after a partial cancel. */
  remainingAmount?: number;
  response?: { code?: string; reason?: string };
};

export type StoredOperation = {
  number: number;
  operationId: string;
  kind: OperationKind;
  status: OperationStatus;
  amount: number;
  clientOperationId: string | undefined;
  details: OperationDetails;
  deadline: number;
  createdAt: string;
  updatedAt: string;
};

/** What the platform must know of a sale to go on with it; written once, with the intent. */
export type SaleFacts = {
  captureMode: CaptureMode;
  entryMode: EntryMode;
  card: { scheme: string; maskedNumber: string; token: string };
  request: Record<string, unknown>;
  linkId: string;
  merchantNumber: string;
  merchantName: string;
  /** In one line, of the store where it has one. */
  merchantAddress?: string;
  mcc: string;
  timeZone: string;
  kind: Extract<AcquirerRequestKind, 'Authorization' | 'Sale'>;
  reference: AcquirerReference;
  panSequence?: string;
  partialApproval: boolean;
  /** Chip data that a receipt prints. */
  chip?: Record<string, string>;
  /** Parts of the amount that the issuer was told. */
  amounts?: AmountParts;
  /** Address verification was asked for. */
  addressAsked?: true;
};

export type EventData = {
  state: State;
  changes: Changes;
  amount?: number;
  operation?: { operationId: string; number: number; kind: OperationKind; status: OperationStatus };
  response?: { code?: string; reason?: string };
  authorizationCode?: string;
  issuerData?: string;
  /** The letter of the address verification. */
  addressResult?: string;
  actor?: string;
  reason?: string;
  /** With the first event alone, and never shown. */
  facts?: SaleFacts;
};

export type LoadedTransaction = {
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
  lane?: string;
};

/** One step of a transaction: new amounts, one event, perhaps an operation and a job: one commit. */
export type Change = {
  before: TransactionRow;
  after: TransactionRow;
  event: StoredEvent;
  operation?: StoredOperation;
  job?: JobRequest;
};

/** The event that told the first caller how the sale ended; what came late was told to nobody. */
export function outcomeOf(loaded: LoadedTransaction): EventData | undefined {
  return outcomeEventOf(loaded)?.data;
}

/** The event that told it. */
export function outcomeEventOf({ events }: LoadedTransaction): StoredEvent | undefined {
  return events.find(({ sequence, type }) => sequence > 1 && type !== 'transaction.late_response');
}

/** The facts of the sale that the first event holds. */
export function factsOf(loaded: LoadedTransaction): SaleFacts {
  const facts = loaded.events[0]?.data.facts;
  if (facts === undefined) throw new Error('a transaction without its facts');
  return facts;
}
