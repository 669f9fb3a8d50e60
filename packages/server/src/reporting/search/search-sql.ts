// SQL for the search: each statement reads one index in the order of time, or merges several reads.
import { encodeSimpleArray } from '../../platform/index.ts';
import type { Cut, Place } from './page-position.ts';
import type { Search } from './search-filters.ts';

export type Statement = { readonly text: string; readonly values: readonly unknown[] };

const columns = `p.created_at, p.payment_id, p.class_id, p.merchant_id, p.store_id, p.device_id, p.amount,
    p.authorized, p.captured, p.cancelled, p.refunded, p.client_transaction_id, p.order_id,
    p.retrieval_reference, p.authorization_code, p.masked_number, p.card_token, p.response_code,
    p.is_offline, p.day::text AS day, p.updated_at`;

export type LineRow = {
  created_at: Date;
  payment_id: string;
  class_id: number;
  merchant_id: string;
  store_id: string | null;
  device_id: string | null;
  amount: number;
  authorized: number;
  captured: number;
  cancelled: number;
  refunded: number;
  client_transaction_id: string;
  order_id: string | null;
  retrieval_reference: string | null;
  authorization_code: string | null;
  masked_number: string | null;
  card_token: string | null;
  response_code: string | null;
  is_offline: boolean;
  day: string;
  updated_at: Date;
};

/** The index that the statement reads; `amount` is for one single amount. */
export type Way = 'time' | 'merchant' | 'store' | 'device' | 'amount';

type Writer = { values: unknown[]; put(value: unknown): string };

function writer(organizationId: string): Writer {
  const values: unknown[] = [organizationId];
  return {
    values,
    put(value) {
      values.push(value);
      return `$${values.length}`;
    },
  };
}

const orderOf = ({ isAscending }: Cut, of = '') => {
  const way = isAscending ? 'ASC' : 'DESC';
  return `ORDER BY ${of}created_at ${way}, ${of}payment_id ${way}`;
};

/** The time range, and the position after the previous page. */
function spanOf({ put }: Writer, { from, to }: Search, { after, isAscending }: Cut): string {
  const compare = isAscending ? '>' : '<';
  return [
    ...(from === undefined ? [] : [` AND created_at >= ${put(from)}::timestamptz`]),
    ...(to === undefined ? [] : [` AND created_at < ${put(to)}::timestamptz`]),
    ...(after === undefined
      ? []
      : [
          ` AND (created_at, payment_id) ${compare} (${put(after.createdAt)}::timestamptz, ${put(after.paymentId)}::uuid)`,
        ]),
  ].join('');
}

const placeColumns = {
  merchant: ['merchant_id', 'merchantId'],
  store: ['store_id', 'storeId'],
  device: ['device_id', 'deviceId'],
} as const;
type PlaceName = keyof typeof placeColumns;
const placeNames = Object.keys(placeColumns) as PlaceName[];

function placesOf({ put }: Writer, search: Search, names: readonly PlaceName[]): string {
  return names
    .map((name) => {
      const [column, member] = placeColumns[name];
      const value = search[member];
      return value === undefined ? '' : ` AND ${column} = ${put(value)}`;
    })
    .join('');
}

function amountsOf({ put }: Writer, { amountMin, amountMax }: Search): string {
  const least = amountMin === undefined ? '' : ` AND amount >= ${put(amountMin)}::bigint`;
  return amountMax === undefined ? least : `${least} AND amount <= ${put(amountMax)}::bigint`;
}

const classesOf = ({ put }: Writer, classIds: readonly number[] | undefined): string =>
  classIds === undefined
    ? ''
    : ` AND class_id = ANY(${put(encodeSimpleArray(classIds))}::integer[])`;

/** Reads the lines of keys that an index-only scan has found. */
const linesOf = (keys: string, cut: Cut): string => `SELECT ${columns} FROM (${keys}) k
  CROSS JOIN LATERAL (SELECT * FROM report_payments WHERE organization_id = $1
    AND created_at = k.created_at AND payment_id = k.payment_id LIMIT 1) p
  ${orderOf(cut, 'p.')}`;

type Walked = { search: Search; classIds: readonly number[] | undefined; cut: Cut };

/** The rows that a walk reads: those of one index, in the order of time. */
function wayOf(to: Writer, way: Way, { search, cut }: Walked): string {
  const along =
    way === 'time'
      ? ''
      : way === 'amount'
        ? ` AND amount = ${to.put(search.amountMin)}::bigint`
        : placesOf(to, search, [way]);
  return `FROM report_payments WHERE organization_id = $1${along}${spanOf(to, search, cut)} ${orderOf(cut)}`;
}

/**
 * Reads along an index until the page is full, but at most a number of rows. The next page
 * continues the search for rare payments.
 */
export function walkStatement(way: Way, walked: Walked, scannedMax: number): Statement {
  const { search, classIds, cut } = walked;
  const to = writer(search.organizationId);
  const others = placeNames.filter(
    (name) => name !== way && search[placeColumns[name][1]] !== undefined,
  );
  const more = others.map((name) => `, ${placeColumns[name][0]}`).join('');
  const part = `SELECT created_at, payment_id, class_id, amount${more} ${wayOf(to, way, walked)} LIMIT ${to.put(scannedMax)}`;
  const wanted = `${classesOf(to, classIds)}${amountsOf(to, search)}${placesOf(to, search, others)}`;
  const keys = `SELECT created_at, payment_id FROM (${part}) part WHERE true${wanted} LIMIT ${to.put(cut.limit)}`;
  return { text: linesOf(keys, cut), values: to.values };
}

/** The order identifier is last, because only its value may contain the separator. */
const scanned = [
  'created_at',
  'payment_id',
  'class_id',
  'merchant_id',
  'store_id',
  'device_id',
  'amount',
]
  .concat(['authorized', 'captured', 'cancelled', 'refunded', 'masked_number', 'card_token'])
  .concat(['response_code', 'authorization_code', 'retrieval_reference', 'is_offline'])
  .concat(['day', 'updated_at', 'client_transaction_id', 'order_id']);

/**
 * The same for exports, directly from the lines. It selects one text instead of 21 columns, because
 * the driver decodes each column separately. Only the last value may contain the separator.
 */
export function scanStatement(way: Way, walked: Walked, scannedMax: number): Statement {
  const { search, classIds, cut } = walked;
  const to = writer(search.organizationId);
  const part = `SELECT * ${wayOf(to, way, walked)} LIMIT ${to.put(scannedMax)}`;
  const others = placeNames.filter((name) => name !== way);
  const wanted = `${classesOf(to, classIds)}${amountsOf(to, search)}${placesOf(to, search, others)}`;
  const fields = scanned.map((name) => `coalesce(p.${name}::text, '')`).join(', ');
  const text = `SELECT p.class_id, concat_ws('|', ${fields}) AS fields FROM (${part}) p
    WHERE true${wanted} ${orderOf(cut, 'p.')} LIMIT ${to.put(cut.limit)}`;
  return { text, values: to.values };
}

/** Finds the end of such a walk; no row if the walk has reached the end of the index. */
export function walkEndStatement(way: Way, walked: Walked, scannedMax: number): Statement {
  const to = writer(walked.search.organizationId);
  const text = `SELECT created_at, payment_id ${wayOf(to, way, walked)} LIMIT 1 OFFSET ${to.put(scannedMax - 1)}`;
  return { text, values: to.values };
}

/** Merges the first rows of each class: exact, but slower with more classes. */
export function mergeStatement({ search, classIds = [], cut }: Walked): Statement {
  const to = writer(search.organizationId);
  const classes = `unnest(${to.put(encodeSimpleArray(classIds))}::integer[]) AS c(class_id)`;
  const limit = to.put(cut.limit);
  const each = `SELECT created_at, payment_id FROM report_payments WHERE organization_id = $1
      AND class_id = c.class_id${spanOf(to, search, cut)}${amountsOf(to, search)} ${orderOf(cut)} LIMIT ${limit}`;
  const keys = `SELECT q.created_at, q.payment_id FROM ${classes} CROSS JOIN LATERAL (${each}) q
    ${orderOf(cut, 'q.')} LIMIT ${limit}`;
  return { text: linesOf(keys, cut), values: to.values };
}

/** Checks whether a store with payments belongs to a merchant. */
export const ownStoreText = `SELECT merchant_id = $3::uuid AS "isOwn" FROM report_payments
  WHERE organization_id = $1 AND store_id = $2 ORDER BY created_at DESC, payment_id DESC LIMIT 1`;

/** Counts the payments in a range of amounts, up to `most`. */
export function amountCountStatement(search: Search, most: number): Statement {
  const to = writer(search.organizationId);
  const text = `SELECT count(*)::int AS count FROM (SELECT 1 FROM report_payments
    WHERE organization_id = $1${amountsOf(to, search)} LIMIT ${to.put(most)}) few`;
  return { text, values: to.values };
}

/** Reads all payments in a range with few amounts, sorted by time. */
export function amountStatement({ search, classIds, cut }: Walked): Statement {
  const to = writer(search.organizationId);
  const few = `SELECT created_at, payment_id, class_id FROM report_payments
    WHERE organization_id = $1${amountsOf(to, search)}`;
  const wanted = `${spanOf(to, search, cut)}${classesOf(to, classIds)}`;
  const keys = `SELECT created_at, payment_id FROM few WHERE true${wanted} ${orderOf(cut)} LIMIT ${to.put(cut.limit)}`;
  return {
    text: `WITH few AS MATERIALIZED (${few}) ${linesOf(keys, cut)}`,
    values: to.values,
  };
}

/** The columns that can contain a reference. */
export type ReferenceColumn =
  | 'retrieval_reference'
  | 'authorization_code'
  | 'last_four'
  | 'card_token'
  | 'order_id';

/** Finds payments with a reference in one of several columns, and payments found by identifier. */
export function referenceStatement(
  { search, classIds, cut }: Walked,
  references: readonly (readonly [ReferenceColumn, string])[],
  named: readonly Place[],
): Statement {
  const to = writer(search.organizationId);
  const limit = to.put(cut.limit);
  const wanted = `${spanOf(to, search, cut)}${classesOf(to, classIds)}${amountsOf(to, search)}${placesOf(to, search, placeNames)}`;
  const parts = references.map(
    ([column, value]) => `(SELECT created_at, payment_id FROM report_payments
      WHERE organization_id = $1 AND ${column} = ${to.put(value)}${wanted} ${orderOf(cut)} LIMIT ${limit})`,
  );
  const times = to.put(encodeSimpleArray(named.map(({ createdAt }) => createdAt)));
  const ids = to.put(encodeSimpleArray(named.map(({ paymentId }) => paymentId)));
  parts.push(`(SELECT n.created_at, n.payment_id
      FROM unnest(${times}::timestamptz[], ${ids}::uuid[]) AS r(at, id)
      CROSS JOIN LATERAL (SELECT created_at, payment_id FROM report_payments
        WHERE organization_id = $1 AND created_at = r.at AND payment_id = r.id${wanted} LIMIT 1) n)`);
  const keys = `SELECT created_at, payment_id FROM (${parts.join(' UNION ')}) found
    ${orderOf(cut)} LIMIT ${limit}`;
  return { text: linesOf(keys, cut), values: to.values };
}
