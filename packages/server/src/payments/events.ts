// What receivers of events are told of transactions: identifiers, amounts and the answer, never card data.
import type { ResponseSummary } from '@switchyard/contract';
import { CompiledQuery } from 'kysely';
import type { EventFacts, EventSource, OutboxRow } from '../platform/index.ts';
import { batchEvents } from './batch-events.ts';
import type { EventData } from './model.ts';
import { summaryOf } from './next-action.ts';

/** One look-up by key for each row: what a batch costs does not depend on how full the tables are. */
const factsText = `SELECT r.outbox_id AS "outboxId", t.merchant_id AS "merchantId",
    t.client_transaction_id AS "clientTransactionId", t.store_id AS "storeId",
    t.device_id AS "deviceId", t.amount, t.currency, e.data
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[])
    AS r(organization_id, outbox_id, transaction_id, sequence)
  CROSS JOIN LATERAL (SELECT merchant_id, client_transaction_id, store_id, device_id, amount, currency
    FROM transactions WHERE organization_id = r.organization_id
      AND transaction_id = r.transaction_id LIMIT 1) t
  CROSS JOIN LATERAL (SELECT data FROM transaction_events WHERE organization_id = r.organization_id
    AND transaction_id = r.transaction_id AND sequence = r.sequence LIMIT 1) e`;

type FactsRow = {
  outboxId: string;
  merchantId: string;
  clientTransactionId: string;
  storeId: string | null;
  deviceId: string | null;
  amount: number;
  currency: string;
  data: EventData;
};

function responseOf(row: FactsRow): ResponseSummary | undefined {
  const { response, reason } = row.data;
  if (response === undefined) return undefined;
  return summaryOf(
    { ...(reason === undefined ? {} : { reason }), ...response },
    { contactless: false, zeroAmount: row.amount === 0 },
  );
}

function eventFacts(row: FactsRow, transactionId: string): EventFacts {
  const { data, merchantId, storeId, deviceId } = row;
  const response = responseOf(row);
  return {
    merchantId,
    data: {
      ...(storeId === null ? {} : { storeId }),
      ...(deviceId === null ? {} : { deviceId }),
      transactionId,
      clientTransactionId: row.clientTransactionId,
      state: data.state,
      ...(data.amount === undefined ? {} : { amount: data.amount }),
      saleAmount: row.amount,
      currency: row.currency,
      ...(data.operation === undefined ? {} : { operation: data.operation }),
      ...(response === undefined ? {} : { response }),
      ...(data.authorizationCode === undefined
        ? {}
        : { authorizationCode: data.authorizationCode }),
      ...(data.confirmBy === undefined ? {} : { confirmBy: data.confirmBy }),
      ...(data.settlementDate === undefined ? {} : { settlementDate: data.settlementDate }),
      ...(data.missing === undefined ? {} : { missing: data.missing }),
      ...(data.reason === undefined ? {} : { reason: data.reason }),
    },
  };
}

const read: EventSource['read'] = async (rows, trx) => {
  const subjects = new Map(rows.map((row): [string, OutboxRow] => [row.outboxId, row]));
  const { rows: found } = await trx.executeQuery<FactsRow>(
    CompiledQuery.raw(factsText, [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.outboxId),
      rows.map((row) => row.subjectId),
      rows.map((row) => row.sequence),
    ]),
  );
  return new Map(
    found.map((row) => [
      row.outboxId,
      eventFacts(row, subjects.get(row.outboxId)?.subjectId ?? ''),
    ]),
  );
};

/** Speaks for what happens to payments; it reads by keys alone, in processes without cards too. */
export const paymentEvents: readonly EventSource[] = [
  { prefix: 'transaction.', read },
  { prefix: 'offline.', read },
  batchEvents,
];
