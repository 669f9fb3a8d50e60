// What receivers of events are told of transactions: identifiers, amounts and the answer, never card data.
import { defined } from '@switchyard/contract';
import { CompiledQuery } from 'kysely';
import {
  type EventFacts,
  type EventSource,
  type OutboxRow,
  plainArray,
} from '../platform/index.ts';
import { batchEvents } from './batch-capture/batch-event-payloads.ts';
import { clearingEvents } from './clearing/clearing-event-payloads.ts';
import type { RecentSales } from './repository/recent-transactions.ts';
import { summaryOf } from './transaction/terminal-action.ts';
import type { EventData, TransactionRow } from './transaction/transaction.ts';

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
  const told = { ...defined({ reason }), ...response };
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

type Place = Pick<
  TransactionRow,
  'merchantId' | 'storeId' | 'deviceId' | 'amount' | 'currency' | 'clientTransactionId'
>;

function placeOf(fields: string): Place {
  const [merchantId = '', storeId, deviceId, amount, currency = '', ...client] = fields.split('|');
  // The identifier of the client stands last, whatever it holds.
  const clientTransactionId = client.length === 1 ? (client[0] ?? '') : client.join('|');
  return {
    merchantId,
    storeId: storeId || undefined,
    deviceId: deviceId || undefined,
    amount: Number(amount),
    currency,
    clientTransactionId,
  };
}

function eventFacts(event: EventData, place: Place, transactionId: string): EventFacts {
  const { merchantId, storeId, deviceId, amount, currency, clientTransactionId } = place;
  const data: Record<string, unknown> = {};
  if (storeId !== undefined) data['storeId'] = storeId;
  if (deviceId !== undefined) data['deviceId'] = deviceId;
  data['transactionId'] = transactionId;
  data['clientTransactionId'] = clientTransactionId;
  data['state'] = event.state;
  data['saleAmount'] = amount;
  data['currency'] = currency;
  for (const name of told) {
    if (event[name] !== undefined) data[name] = event[name];
  }
  const response = responseOf(event, amount === 0);
  if (response !== undefined) data['response'] = response;
  return { merchantId, data };
}

type Recent = Pick<RecentSales, 'find'>;

/** What never changes of a sale, and an event of it, as this process has committed them. */
function recentFacts(recent: Recent | undefined, row: OutboxRow): EventFacts | undefined {
  const { organizationId, subjectId, sequence } = row;
  const loaded = recent?.find(organizationId, subjectId, sequence);
  const event = loaded?.events[sequence - 1];
  if (loaded === undefined || event?.sequence !== sequence) return undefined;
  return eventFacts(event.data, loaded.row, subjectId);
}

const readingOf =
  (recent: Recent | undefined): EventSource['read'] =>
  async (rows, trx) => {
    const facts = new Map<string, EventFacts>();
    const unknown: OutboxRow[] = [];
    for (const row of rows) {
      const known = recentFacts(recent, row);
      if (known === undefined) unknown.push(row);
      else facts.set(row.outboxId, known);
    }
    if (unknown.length === 0) return facts;
    const { rows: found } = await trx.executeQuery<FactsRow>(
      CompiledQuery.raw(factsText, [
        plainArray(unknown.map((row) => row.organizationId)),
        plainArray(unknown.map((row) => row.subjectId)),
        plainArray(unknown.map((row) => row.sequence)),
      ]),
    );
    for (const { i, data, fields } of found) {
      const subject = unknown[i];
      if (subject === undefined) continue;
      facts.set(subject.outboxId, eventFacts(data, placeOf(fields), subject.subjectId));
    }
    return facts;
  };

/**
 * Speaks for what happens to payments; it reads by keys alone, in processes without cards too.
 *
 * @param recent sales that this process has committed
 */
export function paymentEvents(recent?: Recent): readonly EventSource[] {
  const read = readingOf(recent);
  return [
    { prefix: 'transaction.', read },
    { prefix: 'offline.', read },
    batchEvents,
    clearingEvents,
  ];
}
