// The SQL that writes reports: one organisation at a time, under the row that says how far they are.
import { nil, type RunQuery } from '../run.ts';
import {
  type Cell,
  type CellKey,
  endings,
  type HoursJson,
  type LatencyJson,
  readHours,
  readLatency,
  writeHours,
  writeLatency,
} from './cells.ts';
import { type Movement, type PaymentLine, type SettlementMove, sumNames } from './model.ts';

/** `Wiping` begins a walk anew; with the walk over it is `Following`. */
export type Stage = 'Wiping' | 'Cards' | 'Qr' | 'Files' | 'Following';
/** `swept` is up to where the feed was forgotten. */
export type Position = { position: number; stage: Stage; place: string; swept: number };

/** Where the feed of an organisation is now, all that was before is left to the walk. */
export const beginText = `INSERT INTO report_positions (organization_id, position, as_of, stage, place)
  SELECT $1, coalesce((SELECT position FROM feed_heads WHERE organization_id = $1), 0), $2, 'Cards',
    '${nil}'
  ON CONFLICT (organization_id) DO NOTHING`;

/** Nothing where another process has it now. */
export const holdText = `SELECT p.position, p.stage, coalesce(p.place, '${nil}') AS place,
    coalesce((SELECT swept FROM feed_heads h WHERE h.organization_id = p.organization_id), 0) AS swept
  FROM report_positions p WHERE p.organization_id = $1 FOR UPDATE OF p SKIP LOCKED`;

export const moveText = `UPDATE report_positions SET position = $2, as_of = $3, stage = $4, place = $5
  WHERE organization_id = $1`;

/** What has happened to whom behind a position; never the bodies. */
export const newsText = `SELECT position, type, subject_id AS "subjectId", created_at AS "createdAt"
  FROM feed_events WHERE organization_id = $1 AND position > $2 ORDER BY position LIMIT $3`;

export type News = { position: number; type: string; subjectId: string; createdAt: Date };

/** Organisations with something to do, behind one of them, and since when it waits. */
export const behindText = `SELECT h.organization_id AS "organizationId", p.position IS NULL AS "isNew",
    coalesce((SELECT e.created_at FROM feed_events e WHERE e.organization_id = h.organization_id
      AND e.position > coalesce(p.position, 0) ORDER BY e.position LIMIT 1), p.as_of) AS since
  FROM feed_heads h LEFT JOIN report_positions p ON p.organization_id = h.organization_id
  WHERE h.organization_id > $1
    AND (p.position IS NULL OR p.position < h.position OR p.stage <> 'Following')
  ORDER BY h.organization_id LIMIT $2`;

export const knownText = `SELECT p.payment_id AS "paymentId", p.class_id AS "classId", p.counted,
    p.time_zone AS "timeZone"
  FROM unnest($2::timestamptz[], $3::uuid[]) AS r(created_at, payment_id)
  CROSS JOIN LATERAL (SELECT * FROM report_payments WHERE organization_id = $1
    AND created_at = r.created_at AND payment_id = r.payment_id LIMIT 1) p`;

export type KnownPayment = {
  paymentId: string;
  classId: number;
  counted: number;
  timeZone: string;
};

/** What never changes of a payment is written once. */
export const upsertText = `INSERT INTO report_payments AS p (organization_id, created_at, payment_id, class_id,
    counted, merchant_id, store_id, device_id, link_id, amount, authorized, captured, cancelled, refunded,
    client_transaction_id, order_id, retrieval_reference, authorization_code, masked_number, last_four,
    card_token, response_code, is_offline, day, time_zone, updated_at)
  SELECT $1, r.created_at, r.payment_id, r.class_id, r.counted, r.merchant_id, r.store_id, r.device_id,
    r.link_id, r.amount, r.authorized, r.captured, r.cancelled, r.refunded, r.client_transaction_id,
    r.order_id, r.retrieval_reference, r.authorization_code, r.masked_number, right(r.masked_number, 4),
    r.card_token, r.response_code, r.is_offline, r.day, r.time_zone, r.updated_at
  FROM jsonb_to_recordset($2::jsonb) AS r(created_at timestamptz, payment_id uuid, class_id integer,
    counted integer, merchant_id uuid, store_id uuid, device_id uuid, link_id uuid, amount bigint,
    authorized bigint, captured bigint, cancelled bigint, refunded bigint, client_transaction_id text,
    order_id text, retrieval_reference text, authorization_code text, masked_number text,
    card_token uuid, response_code text, is_offline boolean, day date, time_zone text,
    updated_at timestamptz)
  ON CONFLICT (organization_id, created_at, payment_id) DO UPDATE SET class_id = excluded.class_id,
    counted = excluded.counted, link_id = excluded.link_id, authorized = excluded.authorized,
    captured = excluded.captured, cancelled = excluded.cancelled, refunded = excluded.refunded,
    retrieval_reference = excluded.retrieval_reference,
    authorization_code = excluded.authorization_code, response_code = excluded.response_code,
    updated_at = excluded.updated_at`;

export function upsertRow(line: PaymentLine, classId: number): Record<string, unknown> {
  return {
    ...{ created_at: line.createdAt, payment_id: line.paymentId, class_id: classId },
    ...{ counted: line.version, merchant_id: line.merchantId, store_id: line.storeId },
    ...{ device_id: line.deviceId, link_id: line.linkId, amount: line.amount },
    ...{ authorized: line.authorized, captured: line.captured, cancelled: line.cancelled },
    ...{ refunded: line.refunded, client_transaction_id: line.clientTransactionId },
    ...{ order_id: line.orderId, retrieval_reference: line.retrievalReference },
    ...{ authorization_code: line.authorizationCode, masked_number: line.maskedNumber },
    ...{ card_token: line.cardToken, response_code: line.responseCode, is_offline: line.isOffline },
    ...{ day: line.day, time_zone: line.timeZone, updated_at: line.updatedAt },
  };
}

/** In the order of the key: whoever else writes them comes the same way. */
export const countText = `UPDATE report_classes c SET payments = c.payments + r.delta
  FROM unnest($2::integer[], $3::bigint[]) AS r(class_id, delta)
  WHERE c.organization_id = $1 AND c.class_id = r.class_id`;

const sumColumns = sumNames.map((name) => `c.${name}::text`).join(', ');

export const cellsText = `SELECT r.i, ${endings.map((name) => `c.${name}`).join(', ')}, ${sumColumns}, c.hours,
    c.latency
  FROM jsonb_to_recordset($2::jsonb) AS r(i integer, level integer, day date, "merchantId" uuid,
    "storeId" uuid, "deviceId" uuid, "groupId" integer)
  CROSS JOIN LATERAL (SELECT * FROM report_cells WHERE organization_id = $1 AND level = r.level
    AND day = r.day AND merchant_id = r."merchantId" AND store_id = r."storeId"
    AND device_id = r."deviceId" AND group_id = r."groupId" LIMIT 1) c`;

type CellRow = {
  i: number;
  approved: number;
  declined: number;
  failed: number;
  other: number;
  authorized: string;
  captured: string;
  refunded: string;
  cancelled: string;
  reversed: string;
  hours: HoursJson;
  latency: LatencyJson;
};

export type StoredCell = Omit<Cell, keyof CellKey>;

export function toCell(row: Omit<CellRow, 'i'>): StoredCell {
  return {
    figures: {
      ...{ approved: row.approved, declined: row.declined, failed: row.failed, other: row.other },
      authorized: BigInt(row.authorized),
      captured: BigInt(row.captured),
      refunded: BigInt(row.refunded),
      cancelled: BigInt(row.cancelled),
      reversed: BigInt(row.reversed),
    },
    hours: readHours(row.hours),
    latency: readLatency(row.latency),
  };
}

const keyOf = ({ level, day, merchantId, storeId, deviceId, groupId }: CellKey) => ({
  ...{ level, day, merchantId, storeId, deviceId, groupId },
});

/** What is stored of these, by their place in the list. */
export async function readCells(
  run: RunQuery,
  organizationId: string,
  keys: readonly CellKey[],
): Promise<Map<number, StoredCell>> {
  const wanted = keys.map((key, i) => ({ i, ...keyOf(key) }));
  const rows = await run<CellRow>(cellsText, [organizationId, JSON.stringify(wanted)]);
  return new Map(rows.map((row) => [row.i, toCell(row)]));
}

const written = [...endings, ...sumNames, 'hours', 'latency'];

export const writeCellsText = `INSERT INTO report_cells (organization_id, level, day, merchant_id, store_id,
    device_id, group_id, ${written.join(', ')})
  SELECT $1, r.level, r.day, r."merchantId", r."storeId", r."deviceId", r."groupId",
    ${written.map((name) => `r.${name}`).join(', ')}
  FROM jsonb_to_recordset($2::jsonb) AS r(level integer, day date, "merchantId" uuid, "storeId" uuid,
    "deviceId" uuid, "groupId" integer, ${[...endings, ...sumNames].map((name) => `${name} bigint`).join(', ')},
    hours jsonb, latency jsonb)
  ON CONFLICT (organization_id, level, day, merchant_id, store_id, device_id, group_id)
  DO UPDATE SET ${written.map((name) => `${name} = excluded.${name}`).join(', ')}`;

export async function writeCells(
  run: RunQuery,
  organizationId: string,
  cells: readonly Cell[],
): Promise<void> {
  const rows = cells.map((cell) => ({
    ...keyOf(cell),
    ...Object.fromEntries(endings.map((name) => [name, cell.figures[name]])),
    ...Object.fromEntries(sumNames.map((name) => [name, String(cell.figures[name])])),
    hours: writeHours(cell.hours),
    latency: writeLatency(cell.latency),
  }));
  await run(writeCellsText, [organizationId, JSON.stringify(rows)]);
}

const summed = [...endings, ...sumNames];

/** Of cells without hours and times: they are added where they are, and read by nobody before. */
export const addSumsText = `INSERT INTO report_cells AS c (organization_id, level, day, merchant_id, store_id,
    device_id, group_id, ${written.join(', ')})
  SELECT $1, r.level, r.day, r."merchantId", r."storeId", r."deviceId", r."groupId",
    ${summed.map((name) => `r.${name}`).join(', ')}, '{}', '{}'
  FROM jsonb_to_recordset($2::jsonb) AS r(level integer, day date, "merchantId" uuid, "storeId" uuid,
    "deviceId" uuid, "groupId" integer, ${summed.map((name) => `${name} bigint`).join(', ')})
  ON CONFLICT (organization_id, level, day, merchant_id, store_id, device_id, group_id)
  DO UPDATE SET ${summed.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')}`;

export async function addSums(
  run: RunQuery,
  organizationId: string,
  cells: readonly Cell[],
): Promise<void> {
  const rows = cells.map((cell) => ({
    ...keyOf(cell),
    ...Object.fromEntries(endings.map((name) => [name, cell.figures[name]])),
    ...Object.fromEntries(sumNames.map((name) => [name, String(cell.figures[name])])),
  }));
  await run(addSumsText, [organizationId, JSON.stringify(rows)]);
}

export type SettlementKey = {
  readonly date: string;
  readonly linkId: string;
  readonly merchantId: string;
  readonly currency: string;
};

/** By name of the column. */
export type SettlementSums = SettlementKey & { readonly sums: Map<string, bigint> };

export const settlementColumns = [
  ...['captures', 'captured', 'refunds', 'refunded', 'reversals', 'reversed'],
  ...['pending_captures', 'pending'],
] as const;

export const settleText = `INSERT INTO report_settlements AS s (organization_id, settlement_date, link_id,
    merchant_id, currency, ${settlementColumns.join(', ')}, updated_at)
  SELECT $1, r.date, r."linkId", r."merchantId", r.currency,
    ${settlementColumns.map((name) => `r.${name}`).join(', ')}, $3
  FROM jsonb_to_recordset($2::jsonb) AS r(date date, "linkId" uuid, "merchantId" uuid, currency text,
    ${settlementColumns.map((name) => `${name} bigint`).join(', ')})
  ON CONFLICT (organization_id, settlement_date, link_id, merchant_id, currency)
  DO UPDATE SET ${settlementColumns.map((name) => `${name} = s.${name} + excluded.${name}`).join(', ')},
    updated_at = excluded.updated_at`;

export async function writeSettlements(
  run: RunQuery,
  organizationId: string,
  all: readonly SettlementSums[],
  at: string,
): Promise<void> {
  const rows = all.map(({ sums, ...key }) => ({
    ...key,
    ...Object.fromEntries(settlementColumns.map((name) => [name, String(sums.get(name) ?? 0n)])),
  }));
  await run(settleText, [organizationId, JSON.stringify(rows), at]);
}

/** One that is there already was written before the reports were made anew, and is the same. */
export const movementsText = `INSERT INTO report_movements (organization_id, link_id, settlement_date,
    payment_id, number, merchant_id, kind, amount, currency, acquirer_merchant_number, terminal,
    trace_number, retrieval_reference, authorization_code, masked_number, moved_at)
  SELECT $1, r.link_id, r.settlement_date, r.payment_id, r.number, r.merchant_id, r.kind, r.amount,
    r.currency, r.acquirer_merchant_number, r.terminal, r.trace_number, r.retrieval_reference,
    r.authorization_code, r.masked_number, r.moved_at
  FROM jsonb_to_recordset($2::jsonb) AS r(link_id uuid, settlement_date date, payment_id uuid,
    number integer, merchant_id uuid, kind text, amount bigint, currency text,
    acquirer_merchant_number text, terminal text, trace_number text, retrieval_reference text,
    authorization_code text, masked_number text, moved_at timestamptz)
  ON CONFLICT (organization_id, link_id, settlement_date, payment_id, number) DO NOTHING`;

export function movementRow(
  line: PaymentLine,
  linkId: string,
  { date, kind, amount }: SettlementMove,
  movement: Movement,
): Record<string, unknown> {
  return {
    ...{ link_id: linkId, settlement_date: date, payment_id: line.paymentId },
    ...{ number: movement.number, merchant_id: line.merchantId, kind, amount },
    ...{ currency: line.group.currency, acquirer_merchant_number: movement.merchantNumber },
    ...{ terminal: movement.terminal, trace_number: movement.trace },
    retrieval_reference: movement.retrievalReference,
    authorization_code: line.authorizationCode,
    masked_number: line.maskedNumber,
    moved_at: movement.movedAt,
  };
}

/** A file once told is told again the same: what was refused has given its lines back, and keeps what it held. */
export const filesText = `INSERT INTO report_settlement_files (organization_id, settlement_date, link_id,
    merchant_id, currency, file_id, lines, amount)
  SELECT $1, r."settlementDate", r."linkId", r."merchantId", r.currency, r."fileId", r.lines, r.amount
  FROM jsonb_to_recordset($2::jsonb) AS r("settlementDate" date, "linkId" uuid, "merchantId" uuid,
    currency text, "fileId" uuid, lines bigint, amount bigint)
  ON CONFLICT (organization_id, settlement_date, link_id, merchant_id, currency, file_id) DO NOTHING`;

const wipedAtOnce = 5000;

/** The dictionaries stay: processes remember them. */
const wipedTables = [
  ['report_payments', 'created_at, payment_id'],
  ['report_cells', 'level, day, merchant_id, store_id, device_id, group_id'],
  ['report_settlements', 'settlement_date, link_id, merchant_id, currency'],
  ['report_settlement_files', 'settlement_date, link_id, merchant_id, currency, file_id'],
  ['report_movements', 'link_id, settlement_date, payment_id, number'],
] as const;

/** Deletes a part of the reports of an organisation; false once nothing is left. */
export async function wipePart(run: RunQuery, organizationId: string): Promise<boolean> {
  for (const [table, key] of wipedTables) {
    const [row] = await run<{ count: number }>(
      `WITH gone AS (DELETE FROM ${table} WHERE organization_id = $1 AND (${key}) IN (
         SELECT ${key} FROM ${table} WHERE organization_id = $1 ORDER BY ${key} LIMIT ${wipedAtOnce})
         RETURNING 1)
       SELECT count(*)::int AS count FROM gone`,
      [organizationId],
    );
    if ((row?.count ?? 0) > 0) return true;
  }
  await run('UPDATE report_classes SET payments = 0 WHERE organization_id = $1', [organizationId]);
  return false;
}
