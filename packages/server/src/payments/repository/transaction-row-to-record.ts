// SELECT list of a transaction with its events and operations, and the mapping to a record.
import { safeInteger } from '../../platform/index.ts';
import type { Phase, State } from '../transaction/state-machine.ts';
import type {
  EventData,
  StoredEvent,
  StoredOperation,
  TransactionRecord,
  TransactionRow,
} from '../transaction/transaction.ts';

/** Columns of the transaction. client_transaction_id is last because it may contain the separator. */
const transactionColumns = [
  'organization_id',
  'transaction_id',
  'merchant_id',
  'store_id',
  'device_id',
  'contract_id',
  'state',
  'phase',
  'currency',
  'amount',
  'over_capture_allowance',
  'authorized',
  'captured',
  'cancelled',
  'refunded',
  'capture_reserved',
  'cancel_reserved',
  'refund_reserved',
  'version',
  'operation_count',
  'deadline',
  'created_at',
  'updated_at',
  'client_transaction_id',
] as const;

const nullableColumns: ReadonlySet<string> = new Set(['store_id', 'device_id']);
const fieldSeparator = '|';

const asText = (column: string) =>
  nullableColumns.has(column) ? `coalesce(t.${column}::text, '')` : `t.${column}`;

/** For {@link toTransactionRecord}. One text in place of 24 columns: the driver parses each column separately. */
export const transactionSelectList = `concat_ws('${fieldSeparator}', ${transactionColumns.map(asText).join(', ')}) AS fields,
    (SELECT json_agg(json_build_array(e.sequence, e.type, e.at, e.data) ORDER BY e.sequence)
      FROM transaction_events e WHERE e.organization_id = t.organization_id
        AND e.transaction_id = t.transaction_id) AS events,
    CASE WHEN t.operation_count > 0 THEN
      (SELECT json_agg(json_build_object('operationNumber', o.operation_number, 'operationId', o.operation_id,
          'kind', o.kind, 'status', o.status, 'amount', o.amount,
          'clientOperationId', o.client_operation_id, 'details', o.details,
          'deadline', o.deadline, 'createdAt', o.created_at, 'updatedAt', o.updated_at)
          ORDER BY o.operation_number)
        FROM operations o WHERE o.organization_id = t.organization_id
          AND o.transaction_id = t.transaction_id)
    END AS operations`;

type EventRow = [sequence: number, type: string, at: string, data: EventData];
type OperationRow = Omit<StoredOperation, 'deadline' | 'clientOperationId'> & {
  deadline: string;
  clientOperationId: string | null;
};

export type TransactionResultRow = {
  fields: string;
  events: EventRow[] | null;
  operations: OperationRow[] | null;
};

type TextTuple<Names extends readonly string[]> = { [Index in keyof Names]: string };

const millisecondTimeLength = '2026-01-02T03:04:05.678'.length;

/** PostgreSQL separates date and time by a space or `T` and has up to six fractional digits and an offset. */
function toIsoTime(text: string): string {
  const zone = text.indexOf('+', millisecondTimeLength);
  const isUtc = zone > 0 && (text.endsWith('+00') || text.endsWith('+00:00'));
  if (!isUtc) return new Date(text).toISOString();
  return `${text.slice(0, 10)}T${text.slice(11, millisecondTimeLength)}Z`;
}

function toTransactionRow(text: string): TransactionRow {
  const [
    organizationId,
    transactionId,
    merchantId,
    storeId,
    deviceId,
    contractId,
    state,
    phase,
    currency,
    amount,
    overCaptureAllowance,
    authorized,
    captured,
    cancelled,
    refunded,
    captureReserved,
    cancelReserved,
    refundReserved,
    version,
    operationCount,
    deadline,
    createdAt,
    updatedAt,
    ...client
  ] = text.split(fieldSeparator) as unknown as [
    ...TextTuple<typeof transactionColumns>,
    ...string[],
  ];
  return {
    organizationId,
    transactionId,
    merchantId,
    clientTransactionId: client.join(fieldSeparator),
    storeId: storeId || undefined,
    deviceId: deviceId || undefined,
    contractId,
    amount: safeInteger(amount),
    currency,
    overCaptureAllowance: safeInteger(overCaptureAllowance),
    position: {
      phase: phase as Phase,
      authorized: safeInteger(authorized),
      captured: safeInteger(captured),
      cancelled: safeInteger(cancelled),
      refunded: safeInteger(refunded),
      captureReserved: safeInteger(captureReserved),
      cancelReserved: safeInteger(cancelReserved),
      refundReserved: safeInteger(refundReserved),
    },
    state: state as State,
    version: Number(version),
    operationCount: Number(operationCount),
    deadline: Date.parse(toIsoTime(deadline)),
    createdAt: toIsoTime(createdAt),
    updatedAt: toIsoTime(updatedAt),
  };
}

const toEvent = ([sequence, type, at, data]: EventRow): StoredEvent => ({
  sequence,
  type,
  at: toIsoTime(at),
  data,
});

const toOperation = (row: OperationRow): StoredOperation => ({
  ...row,
  clientOperationId: row.clientOperationId ?? undefined,
  deadline: Date.parse(toIsoTime(row.deadline)),
  createdAt: toIsoTime(row.createdAt),
  updatedAt: toIsoTime(row.updatedAt),
});

export const toTransactionRecord = (result: TransactionResultRow): TransactionRecord => ({
  row: toTransactionRow(result.fields),
  events: (result.events ?? []).map(toEvent),
  operations: (result.operations ?? []).map(toOperation),
});
