// The records of the payments room as the code holds them: plain data, no behaviour.
import type { CaptureMode, EntryMode, OfflineData } from '@switchyard/contract';
import type {
  AcquirerReference,
  AcquirerRequestKind,
  ClearingLine,
} from '../../acquiring/index.ts';
import type { AmountParts } from '../validation/tip-and-cashback.ts';
import type { Changes, Position, State } from './state-machine.ts';

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

/**
 * `Sent` runs in some process until its deadline; `Pending` waits in the jobs table, `Filed` for the
 * acknowledgement of a clearing file.
 */
export type OperationStatus = 'Sent' | 'Pending' | 'Filed' | 'Succeeded' | 'Declined' | 'Failed';

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
  /** Of a reversal that is under way: what the chip said at last (DE55), without card data. */
  chipData?: string;
  /** What stays authorised after a partial cancel. */
  remainingAmount?: number;
  /** The host had the numbers of its first message already: that it has them proves nothing then. */
  collided?: true;
  /** How often a reversal was given new numbers, where the host had had the old ones. */
  renewals?: number;
  /** The host took it, and approved the sale meanwhile: nobody knows which it had first. */
  takenBefore?: true;
  /** The acquirer approved what this takes back, though no amount of it was taken over. */
  approvedAtHost?: true;
  response?: { code?: string; reason?: string };
  /** YYYY-MM-DD: the day of the store to which a capture belongs. */
  settlementDate?: string;
};

/** The response of an operation that somebody has ended, where no acquirer did. */
export const resolvedByHand = 'Resolved';

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
  /** `HH:MM` on the store's clocks at which its settlement day ends; midnight where left out. */
  cutOverTime?: string;
  /** Days of 24 hours after which the hold lapses; of an authorisation alone. */
  holdDays?: number;
  /** Captures are lines of a clearing file, and no messages. */
  captureTransport?: 'File';
  kind: Extract<AcquirerRequestKind, 'Authorization' | 'Sale' | 'OfflineSale'>;
  reference: AcquirerReference;
  panSequence?: string;
  partialApproval: boolean;
  /** Chip data that a receipt prints. */
  chip?: Record<string, string>;
  /** Parts of the amount that the issuer was told. */
  amounts?: AmountParts;
  /** Address verification was asked for. */
  addressAsked?: true;
  /** A PIN went to the acquirer. */
  pinSent?: true;
  /** The till has to confirm the approval within this time. */
  confirmWithinSeconds?: number;
  /** How the terminal approved it alone. */
  offline?: OfflineData;
  /** The server's identifier of the declined sale that this one repeats. */
  stepUpOf?: string;
};

export type EventData = {
  state: State;
  changes: Changes;
  amount?: number;
  operation?: { operationId: string; number: number; kind: OperationKind; status: OperationStatus };
  response?: { code?: string; reason?: string };
  authorizationCode?: string;
  /** RFC 3339: until when the approval must be confirmed. */
  confirmBy?: string;
  /** Numbers that the terminal has counted and not uploaded. */
  missing?: { first: number; last: number }[];
  /** YYYY-MM-DD, of what was captured. */
  settlementDate?: string;
  issuerData?: string;
  /** The letter of the address verification. */
  addressResult?: string;
  actor?: string;
  reason?: string;
  /** What somebody wrote to what he decided. */
  note?: string;
  /** With the intent, and where the sale takes another way; never shown. */
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

/** A capture that waits for the next clearing file of its link. */
export type ClearingEntry = {
  linkId: string;
  /** YYYY-MM-DD. */
  settlementDate: string;
  /** RFC 3339: the end of that day. */
  dueAt: string;
  line: ClearingLine;
};

/** One step of a transaction: new amounts, one event, perhaps an operation and a job: one commit. */
export type Change = {
  before: TransactionRow;
  after: TransactionRow;
  event: StoredEvent;
  operation?: StoredOperation;
  job?: JobRequest;
  /** Of a capture that goes into a clearing file. */
  clearing?: ClearingEntry;
};

/** The event that told the first caller how the sale ended; what came late was told to nobody. */
export function outcomeOf(loaded: LoadedTransaction): EventData | undefined {
  return outcomeEventOf(loaded)?.data;
}

/** Told beside the outcome of a sale, and no outcome themselves. */
const besides: ReadonlySet<string> = new Set([
  'transaction.sent',
  'transaction.rerouted',
  'transaction.late_response',
  'offline.gap_detected',
]);

/** The event that told it. */
export function outcomeEventOf({ events }: LoadedTransaction): StoredEvent | undefined {
  return events.find(({ sequence, type }) => sequence > 1 && !besides.has(type));
}

/** The facts of the sale: those of its intent, or of the way that it took last. */
export function factsOf({ events }: LoadedTransaction): SaleFacts {
  const facts = events.findLast(({ data }) => data.facts !== undefined)?.data.facts;
  if (facts === undefined) throw new Error('a transaction without its facts');
  return facts;
}
