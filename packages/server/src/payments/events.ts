// What receivers of events are told of transactions: identifiers, amounts and the answer, never card data.
import { CompiledQuery } from 'kysely';
import { type EventFacts, type EventSource, plainArray } from '../platform/index.ts';
import { batchEvents } from './batch-events.ts';
import { clearingEvents } from './clearing/index.ts';
import type { EventData } from './model.ts';
import { summaryOf } from './next-action.ts';

/** One look-up by key for each row: what a batch costs does not depend on how full the tables are. */
const factsText = `SELECT r.i - 1 AS i, e.data, concat_ws('|', t.merchant_id,
    coalesce(t.store_id::text, ''), coalesce(t.device_id::text, ''), t.amount, t.currency,
    t.client_transaction_id) AS fields
  FROM unnest($1::uuid[], $2::uuid[], $3::int[]) WITH ORDINALITY
    AS r(organization_id, transaction_id, sequence, i)
  CROSS JOIN LATERAL (SELECT merchant_id, client_transaction_id, store_id, device_id, amount, currency
    FROM transactions WHERE organization_id = r.organization_id
      AND transaction_id = r.transaction_id LIMIT 1) t
  CROSS JOIN LATERAL (SELECT data FROM transaction_events WHERE organization_id = r.organization_id
    AND transaction_id = r.transaction_id AND sequence = r.sequence LIMIT 1) e`;

/** One text in place of six columns, since the driver reads each column on its own; see rows.ts. */
type FactsRow = { i: number; data: EventData; fields: string };

function responseOf({ response, reason }: EventData, zeroAmount: boolean) {
  if (response === undefined) return undefined;
  const told = { ...(reason === undefined ? {} : { reason }), ...response };
  return summaryOf(told, { contactless: false, zeroAmount });
}

/** Of the event as it is stored: what says something to others, where it is there. */
const told = [
  'amount',
  'operation',
  'authorizationCode',
  'confirmBy',
  'settlementDate',
  'missing',
  'reason',
] as const satisfies (keyof EventData)[];

function eventFacts({ data: event, fields }: FactsRow, transactionId: string): EventFacts {
  const [merchantId = '', storeId, deviceId, amount, currency, ...client] = fields.split('|');
  const saleAmount = Number(amount);
  const data: Record<string, unknown> = {};
  if (storeId !== '') data['storeId'] = storeId;
  if (deviceId !== '') data['deviceId'] = deviceId;
  data['transactionId'] = transactionId;
  // The identifier of the client stands last, whatever it holds.
  data['clientTransactionId'] = client.length === 1 ? client[0] : client.join('|');
  data['state'] = event.state;
  data['saleAmount'] = saleAmount;
  data['currency'] = currency;
  for (const name of told) {
    if (event[name] !== undefined) data[name] = event[name];
  }
  const response = responseOf(event, saleAmount === 0);
  if (response !== undefined) data['response'] = response;
  return { merchantId, data };
}

const read: EventSource['read'] = async (rows, trx) => {
  const { rows: found } = await trx.executeQuery<FactsRow>(
    CompiledQuery.raw(factsText, [
      plainArray(rows.map((row) => row.organizationId)),
      plainArray(rows.map((row) => row.subjectId)),
      plainArray(rows.map((row) => row.sequence)),
    ]),
  );
  const facts = new Map<string, EventFacts>();
  for (const row of found) {
    const subject = rows[row.i];
    if (subject !== undefined) facts.set(subject.outboxId, eventFacts(row, subject.subjectId));
  }
  return facts;
};

/** Speaks for what happens to payments; it reads by keys alone, in processes without cards too. */
export const paymentEvents: readonly EventSource[] = [
  { prefix: 'transaction.', read },
  { prefix: 'offline.', read },
  batchEvents,
  clearingEvents,
];
