// Reads the event data of finished terminal messages, without the answer of the terminal.
import { type OutboxEventMapper, toRecords } from '../../platform/index.ts';

type EventRecord = { outboxId: string; merchantId: string; [member: string]: unknown };

const readEventDataText = `SELECT r.outbox_id, m.message_id, m.merchant_id, m.store_id, m.logical_device_id AS device_id,
    m.sale_id, m.service_id, m.category, m.status, m.result, m.error_condition, m.fault
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS r(organization_id, message_id, outbox_id)
  JOIN retail_messages AS m ON m.organization_id = r.organization_id
    AND m.message_id = r.message_id`;

/** Reads the data of a batch with one query. */
export const retailEvents: OutboxEventMapper = {
  prefix: 'retail.',
  async read(rows, trx) {
    const values = [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.subjectId),
      rows.map((row) => row.outboxId),
    ];
    const events = toRecords<EventRecord>(await trx.query(readEventDataText, values));
    return new Map(
      events.map(({ outboxId, merchantId, ...data }) => [outboxId, { merchantId, data }]),
    );
  },
};
