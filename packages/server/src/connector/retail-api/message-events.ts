// Reads the event data of finished terminal messages, without the answer of the terminal.
import type { OutboxEventData, OutboxEventMapper } from '../../platform/index.ts';

type Row = {
  outbox_id: string;
  message_id: string;
  merchant_id: string;
  store_id: string;
  logical_device_id: string;
  sale_id: string;
  service_id: string;
  category: string;
  status: string;
  result: string | null;
  error_condition: string | null;
  fault: string | null;
};

const readEventDataText = `SELECT r.outbox_id, m.message_id, m.merchant_id, m.store_id, m.logical_device_id,
    m.sale_id, m.service_id, m.category, m.status, m.result, m.error_condition, m.fault
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS r(organization_id, message_id, outbox_id)
  JOIN retail_messages AS m ON m.organization_id = r.organization_id
    AND m.message_id = r.message_id`;

const eventDataOf = (row: Row): OutboxEventData => ({
  merchantId: row.merchant_id,
  data: {
    storeId: row.store_id,
    deviceId: row.logical_device_id,
    messageId: row.message_id,
    saleId: row.sale_id,
    serviceId: row.service_id,
    category: row.category,
    status: row.status,
    ...(row.result === null ? {} : { result: row.result }),
    ...(row.error_condition === null ? {} : { errorCondition: row.error_condition }),
    ...(row.fault === null ? {} : { fault: row.fault }),
  },
});

/** Reads the data of a batch with one query. */
export const retailEvents: OutboxEventMapper = {
  prefix: 'retail.',
  async read(rows, trx) {
    const values = [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.subjectId),
      rows.map((row) => row.outboxId),
    ];
    const result = await trx.query<Row>(readEventDataText, values);
    return new Map(result.map((row) => [row.outbox_id, eventDataOf(row)]));
  },
};
