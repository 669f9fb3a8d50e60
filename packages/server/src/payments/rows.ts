// Turns rows of the database into the records of the room.
import type {
  EventData,
  LoadedTransaction,
  StoredEvent,
  StoredOperation,
  TransactionRow,
} from './model.ts';
import type { Phase, State } from './state.ts';

type Time = string | Date;
type EventRow = [sequence: number, type: string, at: Time, data: EventData];
type OperationRow = Omit<
  StoredOperation,
  'deadline' | 'createdAt' | 'updatedAt' | 'clientOperationId'
> & { deadline: Time; createdAt: Time; updatedAt: Time; clientOperationId: string | null };

export type LoadRow = {
  organization_id: string;
  transaction_id: string;
  merchant_id: string;
  client_transaction_id: string;
  store_id: string | null;
  device_id: string | null;
  contract_id: string;
  state: State;
  phase: Phase;
  amount: number;
  currency: string;
  over_capture: number;
  authorized: number;
  captured: number;
  cancelled: number;
  refunded: number;
  capture_reserved: number;
  cancel_reserved: number;
  refund_reserved: number;
  version: number;
  operation_count: number;
  deadline: Time;
  created_at: Time;
  updated_at: Time;
  events: EventRow[] | null;
  operations: OperationRow[] | null;
};

const ms = (time: Time) => (time instanceof Date ? time.getTime() : Date.parse(time));
const iso = (time: Time) => new Date(ms(time)).toISOString();

function toRow(row: LoadRow): TransactionRow {
  return {
    organizationId: row.organization_id,
    transactionId: row.transaction_id,
    merchantId: row.merchant_id,
    clientTransactionId: row.client_transaction_id,
    storeId: row.store_id ?? undefined,
    deviceId: row.device_id ?? undefined,
    contractId: row.contract_id,
    amount: row.amount,
    currency: row.currency,
    overCapture: row.over_capture,
    position: {
      phase: row.phase,
      authorized: row.authorized,
      captured: row.captured,
      cancelled: row.cancelled,
      refunded: row.refunded,
      captureReserved: row.capture_reserved,
      cancelReserved: row.cancel_reserved,
      refundReserved: row.refund_reserved,
    },
    state: row.state,
    version: row.version,
    operationCount: row.operation_count,
    deadline: ms(row.deadline),
    createdAt: iso(row.created_at),
    updatedAt: iso(row.updated_at),
  };
}

function toEvent([sequence, type, at, data]: EventRow): StoredEvent {
  return { sequence, type, at: iso(at), data };
}

function toOperation(row: OperationRow): StoredOperation {
  return {
    ...row,
    clientOperationId: row.clientOperationId ?? undefined,
    deadline: ms(row.deadline),
    createdAt: iso(row.createdAt),
    updatedAt: iso(row.updatedAt),
  };
}

export function toLoaded(row: LoadRow): LoadedTransaction {
  return {
    row: toRow(row),
    events: (row.events ?? []).map(toEvent),
    operations: (row.operations ?? []).map(toOperation),
  };
}
