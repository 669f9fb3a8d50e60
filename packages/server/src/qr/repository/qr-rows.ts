// Turns rows of the QR tables into the records of the model.
import { isoTime } from '../../platform/index.ts';
import type {
  LoadedPayment,
  OperationDetails,
  OperationKind,
  OperationStatus,
  QrFacts,
  QrRow,
  StoredEvent,
  StoredOperation,
} from '../transaction/records.ts';
import type {
  EndCause,
  PaymentPhase,
  PaymentStatus,
  ReviewReason,
} from '../transaction/state-machine.ts';

// True for every row. A partial index is used only by a query that repeats its condition (see 0001-baseline.sql).
export const merchantIndexCondition = 'amount > 0';
export const providerIndexCondition = 'amount > 0';
export const organizationIndexCondition = 'settled >= 0';

type OperationJson = {
  number: number;
  operation_id: string;
  kind: OperationKind;
  status: OperationStatus;
  amount: number;
  client_operation_id: string | null;
  details: OperationDetails;
  created_at: string;
  updated_at: string;
};

export type PaymentRow = {
  organization_id: string;
  transaction_id: string;
  merchant_id: string;
  store_id: string;
  device_id: string;
  client_transaction_id: string;
  service_id: string;
  provider_id: string;
  provider_transaction_id: string | null;
  status: PaymentStatus;
  phase: PaymentPhase;
  amount: number;
  currency: string;
  paid: number;
  refunded: number;
  refund_reserved: number;
  settled: number;
  ending: EndCause | null;
  hold: ReviewReason | null;
  provider_sequence: number;
  provider_events: number;
  version: number;
  operation_count: number;
  looks: number;
  expires_at: Date;
  due_at: Date | null;
  facts: QrFacts;
  created_at: Date;
  updated_at: Date;
  operations: OperationJson[] | null;
};

const columns = [
  'organization_id',
  'transaction_id',
  'merchant_id',
  'store_id',
  'device_id',
  'client_transaction_id',
  'service_id',
  'provider_id',
  'provider_transaction_id',
  'status',
  'phase',
  'amount',
  'currency',
  'paid',
  'refunded',
  'refund_reserved',
  'ending',
  'hold',
  'settled',
  'provider_sequence',
  'provider_events',
  'version',
  'operation_count',
  'looks',
  'expires_at',
  'due_at',
  'facts',
  'created_at',
  'updated_at',
];

/** The columns of a row `t`, and its operations. */
export const loadedColumns = `${columns.map((name) => `t.${name}`).join(', ')},
    (SELECT jsonb_agg(to_jsonb(o) - 'bucket' - 'organization_id' - 'transaction_id' - 'merchant_id' ORDER BY o.number)
      FROM qr_operations o WHERE o.bucket = t.bucket /* one shard: o */
        AND o.transaction_id = t.transaction_id) AS operations`;

function toOperation(json: OperationJson): StoredOperation {
  return {
    number: json.number,
    operationId: json.operation_id,
    kind: json.kind,
    status: json.status,
    amount: json.amount,
    clientOperationId: json.client_operation_id ?? undefined,
    details: json.details,
    createdAt: isoTime(Date.parse(json.created_at)),
    updatedAt: isoTime(Date.parse(json.updated_at)),
  };
}

function toRow(row: PaymentRow, fromDue: (dueAt: number) => number): QrRow {
  const { phase, amount, currency, paid, refunded, settled, ending, hold } = row;
  return {
    organizationId: row.organization_id,
    transactionId: row.transaction_id,
    merchantId: row.merchant_id,
    storeId: row.store_id,
    deviceId: row.device_id,
    clientTransactionId: row.client_transaction_id,
    serviceId: row.service_id,
    providerId: row.provider_id,
    providerTransactionId: row.provider_transaction_id ?? undefined,
    position: {
      phase,
      amount,
      currency,
      paid,
      refunded,
      settled,
      ending,
      hold,
      refundReserved: row.refund_reserved,
      sequence: row.provider_sequence,
    },
    status: row.status,
    version: row.version,
    operationCount: row.operation_count,
    providerEvents: row.provider_events,
    pollAttempts: row.looks,
    expiresAt: row.expires_at.getTime(),
    dueAt: row.due_at === null ? undefined : fromDue(row.due_at.getTime()),
    facts: row.facts,
    createdAt: isoTime(row.created_at.getTime()),
    updatedAt: isoTime(row.updated_at.getTime()),
  };
}

/** @param fromDue converts the due time to the process clock, if the caller needs it */
export function toLoadedPayment(
  row: PaymentRow,
  fromDue: (dueAt: number) => number = (dueAt) => dueAt,
): LoadedPayment {
  return { row: toRow(row, fromDue), operations: (row.operations ?? []).map(toOperation) };
}

export type EventRow = {
  sequence: number;
  type: StoredEvent['type'];
  at: Date;
  data: StoredEvent['data'];
};

export function toEvent({ sequence, type, at, data }: EventRow): StoredEvent {
  return { sequence, type, at: isoTime(at.getTime()), data };
}
