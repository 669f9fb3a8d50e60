// Defines the records of the QR payments module as plain data.
import type { QrDisplay, QrEventType } from '@switchyard/contract';
import type { PaymentPosition, PaymentStatus, PositionChanges } from './state-machine.ts';

export type ScanScenario = 'consumerscan' | 'merchantscan';

/** Facts that the platform needs to continue a payment; it stores them once, with the intent. */
export type QrFacts = {
  paymentType: string;
  /** The value from the terminal's request, unchanged. */
  paymentScenario: string;
  scenario: ScanScenario;
  order?: { orderId?: string; orderDescription?: string };
  /**
   * The fingerprint that detects another request with the same identifier. It contains the scanned
   * code only as a keyed digest.
   */
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
  position: PaymentPosition;
  status: PaymentStatus;
  /**
   * The number of events; each change adds one and is guarded by the version that it is based on.
   */
  version: number;
  operationCount: number;
  /** The number of stored provider events. */
  providerEvents: number;
  /** The number of consecutive polls without a result. */
  pollAttempts: number;
  /** Epoch ms after which the consumer can no longer pay. */
  expiresAt: number;
  /** Epoch ms of the next poll; undefined if nothing is left to do. */
  dueAt: number | undefined;
  facts: QrFacts;
  /** RFC 3339 with milliseconds. */
  createdAt: string;
  updatedAt: string;
};

export type Failure = { code?: string; text?: string };

export type QrEventData = {
  status: PaymentStatus;
  changes: PositionChanges;
  /** The display for the terminal from now on. */
  display?: QrDisplay;
  expiresAt?: string;
  failure?: Failure;
  payer?: { maskedId?: string };
  operation?: OperationSummary;
  amount?: number;
  currency?: string;
  reason?: string;
  actor?: string;
  /** The operator's note on the decision about a hold. */
  note?: string;
  /** The server answered the first caller with this status. */
  answered?: true;
  /** Only for events from the provider: the provider's own values. */
  provider?: {
    eventId: string;
    type: string;
    sequence: number;
    occurredAt: string;
    more?: Readonly<Record<string, unknown>>;
  };
};

export type OperationSummary = {
  operationId: string;
  number: number;
  kind: OperationKind;
  status: OperationStatus;
  amount: number;
};

export type StoredEvent = { sequence: number; type: QrEventType; at: string; data: QrEventData };

export type OperationKind = 'Cancel' | 'Refund';

/**
 * The server repeats a `Pending` operation with the same identifier. `Unanswered` is a refund with
 * an unknown outcome that the server no longer retries.
 */
export type OperationStatus = 'Pending' | 'Unanswered' | 'Succeeded' | 'Declined' | 'Failed';

/**
 * `Unknown`: the provider does not know the payment. `LateCompletion`: the consumer paid after the
 * end, and the server refunds it. `Resolution`: an operator ended a hold.
 */
export type OperationCause = 'Merchant' | 'Expiry' | 'Unknown' | 'LateCompletion' | 'Resolution';

export type OperationDetails = {
  cause: OperationCause;
  /** The client's request, to distinguish a replay from another request. */
  request: Record<string, unknown>;
  actor?: string;
  failure?: Failure;
  providerRefundId?: string;
  /** The provider processes it: the server polls its status and does not request it again. */
  acknowledged?: true;
  /** The server answered the first caller with 202 and answers each replay with 202. */
  awaited?: true;
  /** For a refund that became pending again: since when, RFC 3339. */
  askedSince?: string;
};

export type StoredOperation = {
  number: number;
  operationId: string;
  kind: OperationKind;
  status: OperationStatus;
  /** Minor units; 0 for a cancel. */
  amount: number;
  clientOperationId: string | undefined;
  details: OperationDetails;
  createdAt: string;
  updatedAt: string;
};

/** A payment with its operations: the input of every decision. */
export type LoadedPayment = {
  row: QrRow;
  operations: StoredOperation[];
  /** All events after the intent, if this process made them; saves a database read. */
  newEvents?: readonly StoredEvent[];
};

/** One step of a payment: one event and its operations in one commit, guarded by the version. */
export type PaymentChange = {
  before: QrRow;
  after: QrRow;
  event: StoredEvent;
  operations: StoredOperation[];
};

export type QrKey = { organizationId: string; transactionId: string };
