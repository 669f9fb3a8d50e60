// Reads whole QR payments for reports, also in processes that accept no payments.
import type { QrTransactionWithEvents } from '@switchyard/contract';
import {
  allBuckets,
  bucketOf,
  bucketSql,
  encodeSimpleArray,
  isoTime,
  isUuid,
  type Queries,
  queryByShard,
} from '../../platform/index.ts';
import { viewWithEvents } from '../transaction/payment-views.ts';
import type { LoadedPayment, StoredEvent } from '../transaction/records.ts';
import {
  loadedColumns,
  organizationIndexCondition,
  type PaymentRow,
  toLoadedPayment,
} from './qr-rows.ts';

/** A payment with its events and the time zone of its store, or else of its merchant. */
export type ReportedQrPayment = {
  readonly loaded: LoadedPayment;
  readonly events: readonly StoredEvent[];
  readonly timeZone: string;
};

/** An upper limit for all events: of the payment, its operations and its provider. */
const eventsMax = 2000;

/** Only the view of a single payment needs the displays. */
const textOf = (data: string) => `SELECT ${loadedColumns},
    (SELECT json_agg(json_build_object('sequence', e.sequence, 'type', e.type, 'at', e.at,
        'data', ${data}) ORDER BY e.sequence)
      FROM (SELECT * FROM qr_events WHERE bucket = t.bucket /* one shard: qr_events */
        AND transaction_id = t.transaction_id ORDER BY sequence LIMIT ${eventsMax}) e) AS events
  FROM unnest($2::uuid[]) AS r(transaction_id)
  CROSS JOIN LATERAL (SELECT * FROM qr_transactions
    WHERE bucket = ${bucketSql('r.transaction_id')} /* one shard: qr_transactions */
    AND transaction_id = r.transaction_id AND organization_id = $1 LIMIT 1) t`;

export const readQrPaymentsText = textOf("e.data - 'display'");
const readWholeText = textOf('e.data');

type EventJson = Omit<StoredEvent, 'at'> & { at: string };
type Row = PaymentRow & { events: EventJson[] | null };

const timeZonesText = `SELECT coalesce(s.time_zone, m.time_zone) AS "timeZone"
  FROM unnest($2::uuid[], $3::uuid[]) WITH ORDINALITY AS r(merchant_id, store_id, i)
  LEFT JOIN merchants m ON m.organization_id = $1 AND m.merchant_id = r.merchant_id
  LEFT JOIN stores s ON s.organization_id = $1 AND s.store_id = r.store_id ORDER BY r.i`;

/** Returns the payments in no defined order, and leaves out unknown identifiers. */
export async function readQrPayments(
  queries: Queries,
  organizationId: string,
  transactionIds: readonly string[],
  options: { isWhole?: boolean } = {},
): Promise<ReportedQrPayment[]> {
  if (transactionIds.length === 0) return [];
  const text = options.isWhole === true ? readWholeText : readQrPaymentsText;
  const rows = await queryByShard(queries, { rows: transactionIds, bucketOf }, (ids, buckets) =>
    queries.query<Row>(text, [organizationId, encodeSimpleArray(ids)], buckets),
  );
  const timeZones = await queries.query<{ timeZone: string | null }>(timeZonesText, [
    organizationId,
    encodeSimpleArray(rows.map((row) => row.merchant_id)),
    encodeSimpleArray(rows.map((row) => row.store_id)),
  ]);
  return rows.map((row, index) => ({
    loaded: toLoadedPayment(row),
    events: (row.events ?? []).map((event) => ({
      ...event,
      at: isoTime(Date.parse(event.at)),
    })),
    timeZone: timeZones[index]?.timeZone ?? 'UTC',
  }));
}

export const listQrPaymentIdsText = `SELECT transaction_id FROM qr_transactions
  WHERE organization_id = $1 AND transaction_id > $2 AND ${organizationIndexCondition} ORDER BY transaction_id LIMIT $3`;

/** Returns identifiers after a given one, in order of time. */
export async function listQrPaymentIds(
  queries: Queries,
  organizationId: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await queries.query<{ transaction_id: string }>(listQrPaymentIdsText, [
    organizationId,
    after,
    limit,
  ]);
  return rows.map((row) => row.transaction_id);
}

const matchesMax = 20;

/** Finds by the client's identifier or the server's; $3 is null if it cannot be the server's. */
export const findQrPaymentsText = `(SELECT transaction_id, created_at FROM qr_transactions
    WHERE bucket = ANY ('${allBuckets}'::smallint[]) AND client_transaction_id = $2 AND organization_id = $1
    LIMIT ${matchesMax})
  UNION ALL
  (SELECT transaction_id, created_at FROM qr_transactions
    WHERE bucket = ${bucketSql('$3::uuid')} AND transaction_id = $3 AND organization_id = $1)`;

/**
 * The payments that an identifier can mean: one per merchant by the client's, one by the server's.
 */
export async function findQrPaymentsByIdentifier(
  queries: Queries,
  organizationId: string,
  name: string,
): Promise<{ paymentId: string; createdAt: string }[]> {
  const id = isUuid(name) ? name.toLowerCase() : null;
  type Row = { transaction_id: string; created_at: Date };
  const rows = await queries.query<Row>(findQrPaymentsText, [organizationId, name, id]);
  return rows.map((row) => ({
    paymentId: row.transaction_id,
    createdAt: isoTime(row.created_at.getTime()),
  }));
}

export const viewReportedQrPayment = ({
  loaded,
  events,
}: ReportedQrPayment): QrTransactionWithEvents => viewWithEvents(loaded, events);
