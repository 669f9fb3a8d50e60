// The records of the QR room as the code holds them: plain data, no behaviour.
import type { QrDisplay, QrEventType } from '@switchyard/contract';
import type { Changes, Position, Status } from './state.ts';

export type Scenario = 'consumerscan' | 'merchantscan';

/** What the platform must know of a payment to go on with it; written once, with the intent. */
export type QrFacts = {
  paymentType: string;
  /** As the terminal wrote it. */
  paymentScenario: string;
  scenario: Scenario;
  order?: { orderId?: string; orderDescription?: string };
  /** What tells this request from another one under the same identifier; no member in clear. */
  request: Record<string, unknown>;
};

/** One row of `qr_transactions`. */
export type QrRow = {
  organizationId: string;
  transactionId: string;
  merchantId: string;
  storeId: string;
  deviceId: string;
  clientTransactionId: string;
  serviceId: string;
  /** The organisation that provides the service. */
  providerId: string;
  providerTransactionId: string | undefined;
  position: Position;
  status: Status;
  /** The number of events so far; every change adds one and names the version it was made on. */
  version: number;
  operationCount: number;
  /** Events of the provider that were taken. */
  providerEvents: number;
  /** Questions in a row that brought nothing. */
  looks: number;
  /** Epoch ms after which nobody can pay any more. */
  expiresAt: number;
  /** Epoch ms of the next look at it; undefined where nothing is left to do. */
  dueAt: number | undefined;
  facts: QrFacts;
  /** RFC 3339 with milliseconds. */
  createdAt: string;
  updatedAt: string;
};

export type Failure = { code?: string; text?: string };

export type EventData = {
  status: Status;
  changes: Changes;
  /** What the terminal shows from now on. */
  display?: QrDisplay;
  expiresAt?: string;
  failure?: Failure;
  payer?: { maskedId?: string };
  operation?: OperationSeen;
  amount?: number;
  currency?: string;
  reason?: string;
  actor?: string;
  /** What whoever ended a hold has to say about it. */
  note?: string;
  /** The first caller was told so. */
  answered?: true;
  /** Of an event that the provider sent: its own words. */
  provider?: {
    eventId: string;
    type: string;
    sequence: number;
    occurredAt: string;
    more?: Readonly<Record<string, unknown>>;
  };
};

export type OperationSeen = {
  operationId: string;
  number: number;
  kind: OperationKind;
  status: OperationStatus;
  amount: number;
};

export type StoredEvent = { sequence: number; type: QrEventType; at: string; data: EventData };

export type OperationKind = 'Cancel' | 'Refund';

/**
 * `Pending` may have been asked for or not: it is asked for again, with the same name. `Unanswered` is
 * a refund that nobody is asked for any more, and whose outcome is not known.
 */
export type OperationStatus = 'Pending' | 'Unanswered' | 'Succeeded' | 'Declined' | 'Failed';

/** Who wanted it: somebody, the clock, a provider that never heard of the payment, or the rule that late money goes back. */
export type OperationCause = 'Merchant' | 'Expiry' | 'Unknown' | 'LateCompletion' | 'Resolution';

export type OperationDetails = {
  cause: OperationCause;
  /** What the client sent, for telling a replay from another request. */
  request: Record<string, unknown>;
  actor?: string;
  failure?: Failure;
  providerRefundId?: string;
  /** The provider works on it: it is asked how it stands, and not for it again. */
  acknowledged?: true;
  /** Whoever asked first was told that it waits, and is told so again, whatever has become of it. */
  awaited?: true;
  /** Of a refund that somebody had asked for again: since when, RFC 3339. */
  askedSince?: string;
};

export type StoredOperation = {
  number: number;
  operationId: string;
  kind: OperationKind;
  status: OperationStatus;
  /** Minor units; 0 of a cancel. */
  amount: number;
  clientOperationId: string | undefined;
  details: OperationDetails;
  createdAt: string;
  updatedAt: string;
};

/** A payment with its operations: all that is needed to judge. */
export type LoadedQr = {
  row: QrRow;
  operations: StoredOperation[];
  /** The events since its intent, where all of them were made here: they need not be read. */
  news?: readonly StoredEvent[];
};

/** One step of a payment: one event, perhaps operations: one commit, guarded by the version. */
export type Change = {
  before: QrRow;
  after: QrRow;
  event: StoredEvent;
  operations: StoredOperation[];
};

export type QrKey = { organizationId: string; transactionId: string };
