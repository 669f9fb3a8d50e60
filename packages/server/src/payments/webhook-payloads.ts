// Webhook payloads of transactions: identifiers, amounts and response, never card data.
import { defined } from '@switchyard/contract';
import { CompiledQuery } from 'kysely';
import {
  type EventFacts,
  type EventSource,
  type OutboxRow,
  plainArray,
} from '../platform/index.ts';
import { batchEvents } from './batch-capture/batch-completed-event.ts';
import { clearingEvents } from './clearing/clearing-event-payloads.ts';
import type { RecentTransactions } from './repository/transaction-repository.ts';
import { summarizeResponse } from './transaction/terminal-action.ts';
import type { EventData, TransactionRow } from './transaction/transaction.ts';

/** One index look-up for each row, so the cost does not depend on the size of the tables. */
const selectEventDataText = `SELECT r.i - 1 AS i, e.data, concat_ws('|', t.merchant_id,
    coalesce(t.store_id::text, ''), coalesce(t.device_id::text, ''), t.amount, t.currency,
    t.client_transaction_id) AS fields
  FROM unnest($1::uuid[], $2::uuid[], $3::int[]) WITH ORDINALITY
    AS r(organization_id, transaction_id, sequence, i)
  CROSS JOIN LATERAL (SELECT merchant_id, client_transaction_id, store_id, device_id, amount, currency
    FROM transactions WHERE organization_id = r.organization_id
      AND transaction_id = r.transaction_id LIMIT 1) t
  CROSS JOIN LATERAL (SELECT data FROM transaction_events WHERE organization_id = r.organization_id
    AND transaction_id = r.transaction_id AND sequence = r.sequence LIMIT 1) e`;

/** One text instead of six columns: the driver parses each column separately. */
type EventDataRow = { i: number; data: EventData; fields: string };

const publishedMembers = [
  'amount',
  'operation',
  'authorizationCode',
  'confirmBy',
  'settlementDate',
  'missing',
  'reason',
] as const satisfies (keyof EventData)[];

type SaleMembers = Pick<
  TransactionRow,
  'merchantId' | 'storeId' | 'deviceId' | 'amount' | 'currency' | 'clientTransactionId'
>;

function parseSaleMembers(fields: string): SaleMembers {
  const [merchantId = '', storeId, deviceId, amount, currency = '', ...client] = fields.split('|');
  // The client's identifier is last, since it may contain the separator.
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

function createEventFacts(event: EventData, sale: SaleMembers, transactionId: string): EventFacts {
  const { merchantId, storeId, deviceId, amount, currency, clientTransactionId } = sale;
  const data: Record<string, unknown> = {};
  if (storeId !== undefined) data['storeId'] = storeId;
  if (deviceId !== undefined) data['deviceId'] = deviceId;
  data['transactionId'] = transactionId;
  data['clientTransactionId'] = clientTransactionId;
  data['state'] = event.state;
  data['saleAmount'] = amount;
  data['currency'] = currency;
  for (const name of publishedMembers) {
    if (event[name] !== undefined) data[name] = event[name];
  }
  if (event.response !== undefined) {
    const response = { ...defined({ reason: event.reason }), ...event.response };
    data['response'] = summarizeResponse(response, {
      contactless: false,
      zeroAmount: amount === 0,
    });
  }
  return { merchantId, data };
}

type RecentLookup = Pick<RecentTransactions, 'find'>;

function recentEventFacts(
  recent: RecentLookup | undefined,
  { organizationId, subjectId, sequence }: OutboxRow,
): EventFacts | undefined {
  const transaction = recent?.find(organizationId, subjectId, sequence);
  const event = transaction?.events[sequence - 1];
  if (transaction === undefined || event?.sequence !== sequence) return undefined;
  return createEventFacts(event.data, transaction.row, subjectId);
}

const createEventReader =
  (recent: RecentLookup | undefined): EventSource['read'] =>
  async (rows, trx) => {
    const facts = new Map<string, EventFacts>();
    const missing: OutboxRow[] = [];
    for (const row of rows) {
      const cached = recentEventFacts(recent, row);
      if (cached === undefined) missing.push(row);
      else facts.set(row.outboxId, cached);
    }
    if (missing.length === 0) return facts;
    const { rows: eventRows } = await trx.executeQuery<EventDataRow>(
      CompiledQuery.raw(selectEventDataText, [
        plainArray(missing.map((row) => row.organizationId)),
        plainArray(missing.map((row) => row.subjectId)),
        plainArray(missing.map((row) => row.sequence)),
      ]),
    );
    for (const { i, data, fields } of eventRows) {
      const row = missing[i];
      if (row === undefined) continue;
      const sale = parseSaleMembers(fields);
      facts.set(row.outboxId, createEventFacts(data, sale, row.subjectId));
    }
    return facts;
  };

/** Also for processes without vault keys. `recent` has the transactions that this process has committed. */
export function paymentEvents(recent?: RecentLookup): readonly EventSource[] {
  const read = createEventReader(recent);
  return [
    { prefix: 'transaction.', read },
    { prefix: 'offline.', read },
    batchEvents,
    clearingEvents,
  ];
}
