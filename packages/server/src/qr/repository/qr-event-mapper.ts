// Selects the QR payment events for publication and reads their facts.
import { defined, type QrEventType } from '@switchyard/contract';
import { bucketOf, type OutboxEventData, type OutboxEventMapper } from '../../platform/index.ts';
import type { QrEventData, QrFacts } from '../transaction/records.ts';

/** These types appear only in the event list of the payment and are not published. */
const unpublished: ReadonlySet<QrEventType> = new Set<QrEventType>([
  'qr.created',
  'qr.display',
  'qr.noted',
  'qr.cancel_confirmed',
]);

export const isPublishedEventType = (type: QrEventType): boolean => !unpublished.has(type);

type Row = {
  outbox_id: string;
  transaction_id: string;
  client_transaction_id: string;
  merchant_id: string;
  store_id: string;
  device_id: string;
  service_id: string;
  provider_transaction_id: string | null;
  amount: number;
  currency: string;
  facts: QrFacts;
  data: QrEventData;
};

const readEventDataText = `SELECT r.outbox_id, t.transaction_id, t.client_transaction_id, t.merchant_id, t.store_id,
    t.device_id, t.service_id, t.provider_transaction_id, t.amount, t.currency, t.facts,
    e.data - 'display' AS data
  FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::integer[])
    AS r(bucket, transaction_id, outbox_id, sequence)
  JOIN qr_transactions t ON t.bucket = r.bucket AND t.transaction_id = r.transaction_id
  JOIN qr_events e ON e.bucket = r.bucket
    AND e.transaction_id = r.transaction_id AND e.sequence = r.sequence`;

/** The amount that the consumer paid; a refund event has `refundAmount` in its place. */
function paidAmountOf({ amount, currency, changes }: QrEventData) {
  if (amount === undefined || changes.paid === undefined) return {};
  return { paidAmount: amount, ...defined({ paidCurrency: currency }) };
}

function eventDataOf({ merchant_id: merchantId, data, facts, ...row }: Row): OutboxEventData {
  const { operation, failure, reason, payer } = data;
  const isRefund = operation?.kind === 'Refund';
  return {
    merchantId,
    data: {
      transactionId: row.transaction_id,
      clientTransactionId: row.client_transaction_id,
      storeId: row.store_id,
      deviceId: row.device_id,
      serviceId: row.service_id,
      paymentType: facts.paymentType,
      status: data.status,
      amount: row.amount,
      currency: row.currency,
      ...(row.provider_transaction_id === null
        ? {}
        : { providerTransactionId: row.provider_transaction_id }),
      ...(isRefund ? { refundId: operation.operationId, refundAmount: operation.amount } : {}),
      ...paidAmountOf(data),
      ...defined({ failure, payer, reason }),
    },
  };
}

/** Reads the facts of a batch with one query. */
export const qrEvents: OutboxEventMapper = {
  prefix: 'qr.',
  async read(rows, trx) {
    const values = [
      rows.map((row) => bucketOf(row.subjectId)),
      rows.map((row) => row.subjectId),
      rows.map((row) => row.outboxId),
      rows.map((row) => row.sequence),
    ];
    const result = await trx.query<Row>(readEventDataText, values);
    return new Map(result.map((row) => [row.outbox_id, eventDataOf(row)]));
  },
};
