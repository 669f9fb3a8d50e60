// SQL for the search: each statement reads one index in the order of time, or merges several reads.
import { encodeSimpleArray } from '../../platform/index.ts';
import {
  keyCondition,
  organizationFilter,
  textKeySql,
  uuidKeySql,
} from '../infrastructure/index-keys-sql.ts';
import type { PagePosition, SearchPageRequest } from './page-position.ts';
import type { PaymentSearchCriteria } from './parse-search-filters.ts';

export type Statement = { readonly text: string; readonly values: readonly unknown[] };

const columns = `p.created_at, p.payment_id, p.class_id, p.merchant_id, p.store_id, p.device_id, p.amount,
    p.authorized, p.captured, p.cancelled, p.refunded, p.client_transaction_id, p.order_id,
    p.retrieval_reference, p.authorization_code, p.masked_number, p.card_token, p.response_code,
    p.is_offline, p.day::text AS day, p.updated_at`;

export type PaymentRow = {
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

/** The index that the statement reads. */
export type SearchIndex = 'time' | 'merchant' | 'store' | 'device';

type ParameterList = { values: unknown[]; add(value: unknown): string };

function createParameterList(organizationId: string): ParameterList {
  const values: unknown[] = [organizationId];
  return {
    values,
    add(value) {
      values.push(value);
      return `$${values.length}`;
    },
  };
}

const orderBySql = ({ isAscending }: SearchPageRequest, alias = '') => {
  const direction = isAscending ? 'ASC' : 'DESC';
  return `ORDER BY ${alias}created_at ${direction}, ${alias}payment_id ${direction}`;
};

/** The time range, and the position after the previous page. */
function timeCondition(
  { add }: ParameterList,
  { from, to }: PaymentSearchCriteria,
  { after, isAscending }: SearchPageRequest,
): string {
  const compare = isAscending ? '>' : '<';
  return [
    ...(from === undefined ? [] : [` AND created_at >= ${add(from)}::timestamptz`]),
    ...(to === undefined ? [] : [` AND created_at < ${add(to)}::timestamptz`]),
    ...(after === undefined
      ? []
      : [
          ` AND (created_at, payment_id) ${compare} (${add(after.createdAt)}::timestamptz, ${add(after.paymentId)}::uuid)`,
        ]),
  ].join('');
}

const entityColumns = {
  merchant: ['merchant_id', 'merchantId'],
  store: ['store_id', 'storeId'],
  device: ['device_id', 'deviceId'],
} as const;
type EntityName = keyof typeof entityColumns;
const entityNames = Object.keys(entityColumns) as EntityName[];

function entityConditions(
  { add }: ParameterList,
  search: PaymentSearchCriteria,
  names: readonly EntityName[],
): string {
  return names
    .map((name) => {
      const [column, member] = entityColumns[name];
      const value = search[member];
      return value === undefined ? '' : ` AND ${column} = ${add(value)}`;
    })
    .join('');
}

function amountCondition(
  { add }: ParameterList,
  { amountMin, amountMax }: PaymentSearchCriteria,
): string {
  const minimumSql = amountMin === undefined ? '' : ` AND amount >= ${add(amountMin)}::bigint`;
  return amountMax === undefined
    ? minimumSql
    : `${minimumSql} AND amount <= ${add(amountMax)}::bigint`;
}

const classCondition = ({ add }: ParameterList, classIds: readonly number[] | undefined): string =>
  classIds === undefined
    ? ''
    : ` AND class_id = ANY(${add(encodeSimpleArray(classIds))}::integer[])`;

/** Reads the lines of keys that a scan has found. */
const selectPaymentsSql = (
  keys: string,
  page: SearchPageRequest,
): string => `SELECT ${columns} FROM (${keys}) k
  CROSS JOIN LATERAL (SELECT * FROM report_payments WHERE organization_id = $1
    AND created_at = k.created_at AND payment_id = k.payment_id LIMIT 1) p
  ${orderBySql(page, 'p.')}`;

type IndexScan = {
  search: PaymentSearchCriteria;
  classIds: readonly number[] | undefined;
  page: SearchPageRequest;
};

/**
 * The rows that a scan reads: those of one index, in the order of time. A condition on other columns
 * would let the planner expect few rows and sort all of them.
 */
function indexRowsSql(
  parameters: ParameterList,
  index: SearchIndex,
  { search, page }: IndexScan,
): string {
  const [column, member] = index === 'time' ? [] : entityColumns[index];
  const condition =
    member === undefined
      ? 'organization_id = $1'
      : keyCondition(uuidKeySql, column, `${parameters.add(search[member])}::uuid`);
  return `FROM report_payments WHERE ${condition}${timeCondition(parameters, search, page)} ${orderBySql(page)}`;
}

/** The conditions on the rows of a scan. */
const scanConditions = (parameters: ParameterList, { search, classIds }: IndexScan): string =>
  `organization_id = $1${classCondition(parameters, classIds)}${amountCondition(parameters, search)}${entityConditions(parameters, search, entityNames)}`;

/**
 * Reads along an index until the page is full, but at most a number of rows. The next page
 * continues the search for rare payments.
 */
export function indexScanStatement(
  index: SearchIndex,
  scan: IndexScan,
  scannedMax: number,
): Statement {
  const { search, page } = scan;
  const parameters = createParameterList(search.organizationId);
  const scannedRows = `SELECT organization_id, created_at, payment_id, class_id, amount, merchant_id, store_id, device_id ${indexRowsSql(parameters, index, scan)} LIMIT ${parameters.add(scannedMax)}`;
  const keys = `SELECT created_at, payment_id FROM (${scannedRows}) part WHERE ${scanConditions(parameters, scan)} LIMIT ${parameters.add(page.limit)}`;
  return { text: selectPaymentsSql(keys, page), values: parameters.values };
}

/** The order identifier is last, because only its value may contain the separator. */
const scannedColumns = [
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
export function exportScanStatement(
  index: SearchIndex,
  scan: IndexScan,
  scannedMax: number,
): Statement {
  const { search, page } = scan;
  const parameters = createParameterList(search.organizationId);
  const scannedRows = `SELECT * ${indexRowsSql(parameters, index, scan)} LIMIT ${parameters.add(scannedMax)}`;
  const fields = scannedColumns.map((name) => `coalesce(p.${name}::text, '')`).join(', ');
  const text = `SELECT p.class_id, concat_ws('|', ${fields}) AS fields FROM (${scannedRows}) p
    WHERE ${scanConditions(parameters, scan)} ${orderBySql(page, 'p.')} LIMIT ${parameters.add(page.limit)}`;
  return { text, values: parameters.values };
}

/** Finds the end of such a scan; no row if the scan has reached the end of the index. */
export function indexScanEndStatement(
  index: SearchIndex,
  scan: IndexScan,
  scannedMax: number,
): Statement {
  const parameters = createParameterList(scan.search.organizationId);
  const text = `SELECT created_at, payment_id ${indexRowsSql(parameters, index, scan)} LIMIT 1 OFFSET ${parameters.add(scannedMax - 1)}`;
  return { text, values: parameters.values };
}

/** Merges the first rows of each rare class: exact, but slower with more classes. */
export function mergeStatement({ search, classIds = [], page }: IndexScan): Statement {
  const parameters = createParameterList(search.organizationId);
  const classes = `unnest(${parameters.add(encodeSimpleArray(classIds))}::integer[]) AS c(class_id)`;
  const limit = parameters.add(page.limit);
  const firstRowsSql = `SELECT created_at, payment_id FROM report_payments WHERE organization_id = $1
      AND rare_class_id = c.class_id${timeCondition(parameters, search, page)}${amountCondition(parameters, search)} ${orderBySql(page)} LIMIT ${limit}`;
  const keys = `SELECT q.created_at, q.payment_id FROM ${classes} CROSS JOIN LATERAL (${firstRowsSql}) q
    ${orderBySql(page, 'q.')} LIMIT ${limit}`;
  return { text: selectPaymentsSql(keys, page), values: parameters.values };
}

/** Counts the payments in a range of amounts, up to `limit`. */
export function amountCountStatement(search: PaymentSearchCriteria, limit: number): Statement {
  const parameters = createParameterList(search.organizationId);
  const text = `SELECT count(*)::int AS count FROM (SELECT 1 FROM report_payments
    WHERE organization_id = $1${amountCondition(parameters, search)} LIMIT ${parameters.add(limit)}) few`;
  return { text, values: parameters.values };
}

/** Reads all payments in a range with few amounts, sorted by time. */
export function amountStatement({ search, classIds, page }: IndexScan): Statement {
  const parameters = createParameterList(search.organizationId);
  const amountRowsSql = `SELECT created_at, payment_id, class_id, merchant_id, store_id, device_id FROM report_payments
    WHERE organization_id = $1${amountCondition(parameters, search)}`;
  const conditions = `${timeCondition(parameters, search, page)}${classCondition(parameters, classIds)}${entityConditions(parameters, search, entityNames)}`;
  const keys = `SELECT created_at, payment_id FROM few WHERE true${conditions} ${orderBySql(page)} LIMIT ${parameters.add(page.limit)}`;
  return {
    text: `WITH few AS MATERIALIZED (${amountRowsSql}) ${selectPaymentsSql(keys, page)}`,
    values: parameters.values,
  };
}

const referenceColumns = {
  retrieval_reference: ['retrieval_reference', 'text', textKeySql],
  authorization_code: ['authorization_code', 'text', textKeySql],
  last_four: ['right(masked_number, 4)', 'text', textKeySql],
  card_token: ['card_token', 'uuid', uuidKeySql],
  order_id: ['order_id', 'text', textKeySql],
} as const;
/** The columns that can contain a reference. */
export type ReferenceColumn = keyof typeof referenceColumns;

/** Finds payments with a reference in one of several columns, and payments found by identifier. */
export function referenceStatement(
  { search, classIds, page }: IndexScan,
  references: readonly (readonly [ReferenceColumn, string])[],
  foundByIdentifier: readonly PagePosition[],
): Statement {
  const parameters = createParameterList(search.organizationId);
  const limit = parameters.add(page.limit);
  const conditions = `${timeCondition(parameters, search, page)}${classCondition(parameters, classIds)}${amountCondition(parameters, search)}${entityConditions(parameters, search, entityNames)}`;
  const parts = references.map(([name, value]) => {
    const [column, type, keySql] = referenceColumns[name];
    const parameter = `${parameters.add(value)}::${type}`;
    return `(SELECT created_at, payment_id FROM report_payments WHERE ${keyCondition(keySql, column, parameter)}
      AND ${organizationFilter} AND ${column} = ${parameter}${conditions} ${orderBySql(page)} LIMIT ${limit})`;
  });
  const times = parameters.add(
    encodeSimpleArray(foundByIdentifier.map(({ createdAt }) => createdAt)),
  );
  const ids = parameters.add(
    encodeSimpleArray(foundByIdentifier.map(({ paymentId }) => paymentId)),
  );
  parts.push(`(SELECT n.created_at, n.payment_id
      FROM unnest(${times}::timestamptz[], ${ids}::uuid[]) AS r(at, id)
      CROSS JOIN LATERAL (SELECT created_at, payment_id FROM report_payments
        WHERE organization_id = $1 AND created_at = r.at AND payment_id = r.id${conditions} LIMIT 1) n)`);
  const keys = `SELECT created_at, payment_id FROM (${parts.join(' UNION ')}) found
    ${orderBySql(page)} LIMIT ${limit}`;
  return { text: selectPaymentsSql(keys, page), values: parameters.values };
}
