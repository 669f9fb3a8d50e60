// Finds one page of payments, with the fastest statement for the filters.
import { findTransactionsByIdentifier } from '../../payments/index.ts';
import { isUuid, type Queries } from '../../platform/index.ts';
import { findQrPaymentsByIdentifier } from '../../qr/index.ts';
import { findMerchantSql } from '../infrastructure/find-merchant-sql.ts';
import { hasGroupFilters } from '../infrastructure/group-filters.ts';
import type { PagePosition, SearchPageRequest } from './page-position.ts';
import type { PaymentSearchCriteria } from './parse-search-filters.ts';
import {
  matchesFilters,
  type PaymentClass,
  type PaymentClassCache,
} from './payment-class-cache.ts';
import {
  amountCountStatement,
  amountStatement,
  indexScanEndStatement,
  indexScanStatement,
  mergeStatement,
  type PaymentRow,
  type ReferenceColumn,
  referenceStatement,
  type SearchIndex,
  type Statement,
} from './search-sql.ts';

export type FoundPayment = PaymentRow & { readonly paymentClass: PaymentClass };

export type FoundPayments = {
  readonly payments: FoundPayment[];
  /** The position after which more payments follow; undefined if there are no more. */
  readonly next: PagePosition | undefined;
};

/** One page scans at most this many rows of an entity, which lie apart in the table. */
const entityRowsMax = 20_000;
/** One page scans at most this many rows in the order of time, which lie together in the table. */
const lineRowsMax = 50_000;
/** After a scan of this many rows without a full page, the search merges the classes instead. */
const frequentRowsMax = 20_000;
/** If a scan fills the page within this many rows, it is faster than a merge of any classes. */
const shortScanRows = 1_000;
/** A scan reads this many rows in the time in which a merge starts one class. */
const rowsPerClass = 15;
/** With at most this many payments in the range of amounts, the search sorts them and does not scan the entity. */
const fewPaymentsInRange = 1_500;
/** With at most this many payments in the range of amounts, the search sorts them and does not scan all payments. */
const fewPaymentsInRangeOfAll = 10_000;
/** With at most this many payments in the classes, the search reads them to find an amount. */
const fewPaymentsInClasses = 20_000;
/** One page merges at most this many rows from the classes. */
const mergedRowsMax = 60_000;

type SearchTask = {
  readonly queries: Queries;
  readonly search: PaymentSearchCriteria;
  readonly page: SearchPageRequest;
  readonly classIds: readonly number[] | undefined;
  /** True if the index of classes contains all payments of those classes. */
  readonly areClassesIndexed: boolean;
  /** The number of payments in those classes, and in all classes. */
  readonly matching: number;
  readonly total: number;
};

type PageRows = { readonly rows: PaymentRow[]; readonly next?: PagePosition | undefined };

const toPosition = (row: Pick<PaymentRow, 'created_at' | 'payment_id'>): PagePosition => ({
  createdAt: row.created_at.toISOString(),
  paymentId: row.payment_id,
});

/** One more row than the page shows whether further rows exist. */
const withOneMore = (page: SearchPageRequest): SearchPageRequest => ({
  ...page,
  limit: page.limit + 1,
});

const runStatement = (queries: Queries, { text, values }: Statement) =>
  queries.query<PaymentRow>(text, values);

async function readPage({ queries, page }: SearchTask, statement: Statement): Promise<PageRows> {
  const rows = await runStatement(queries, statement);
  return rows.length > page.limit
    ? { rows: rows.slice(0, page.limit), next: toPosition(rows[page.limit - 1] as PaymentRow) }
    : { rows };
}

/** The scan of an index skips lines: it can reach its limit before the page is full. */
function hasFilterOnLines({ search, classIds }: SearchTask): boolean {
  const { amountMin, amountMax, merchantId, storeId, deviceId } = search;
  const entities = [merchantId, storeId, deviceId].filter((id) => id !== undefined);
  return (
    classIds !== undefined ||
    amountMin !== undefined ||
    amountMax !== undefined ||
    entities.length > 1
  );
}

async function scanIndex(
  task: SearchTask,
  index: SearchIndex,
  scannedMax: number,
): Promise<PageRows> {
  const { queries, search, classIds, page } = task;
  const scan = { search, classIds, page: withOneMore(page) };
  const pageRows = await readPage(task, indexScanStatement(index, scan, scannedMax));
  if (pageRows.next !== undefined || !hasFilterOnLines(task)) return pageRows;
  const end = indexScanEndStatement(index, scan, scannedMax);
  const [last] = await queries.query<PaymentRow>(end.text, end.values);
  return last === undefined ? pageRows : { ...pageRows, next: toPosition(last) };
}

async function findByAmount(task: SearchTask): Promise<PageRows> {
  const { search, classIds, page, matching, areClassesIndexed } = task;
  const scan = { search, classIds, page: withOneMore(page) };
  if (areClassesIndexed && matching <= fewPaymentsInClasses)
    return readPage(task, mergeStatement(scan));
  if (await hasFewPaymentsInRange(task, fewPaymentsInRangeOfAll))
    return readPage(task, amountStatement(scan));
  return scanIndex(task, 'time', lineRowsMax);
}

async function findByGroup(task: SearchTask): Promise<PageRows> {
  const { search, classIds = [], page, matching, total, areClassesIndexed } = task;
  const scan = { search, classIds, page: withOneMore(page) };
  const mustScan = !areClassesIndexed || classIds.length * (page.limit + 1) > mergedRowsMax;
  const rowsOfPage = ((page.limit + 1) * total) / Math.max(1, matching);
  const isShortScan = rowsOfPage <= Math.max(shortScanRows, classIds.length * rowsPerClass);
  if (isShortScan || mustScan) {
    const pageRows = await scanIndex(task, 'time', mustScan ? lineRowsMax : frequentRowsMax);
    const isIncomplete = pageRows.next !== undefined && pageRows.rows.length < page.limit;
    if (!isIncomplete || mustScan) return pageRows;
  }
  return readPage(task, mergeStatement(scan));
}

const fourDigits = /^[0-9]{4}$/;

/** The columns that can contain a text of this form. */
export function listReferenceColumns(text: string): (readonly [ReferenceColumn, string])[] {
  const lower = text.toLowerCase();
  if (isUuid(text)) {
    return [
      ['card_token', lower],
      ['order_id', lower],
    ];
  }
  return [
    ['retrieval_reference', text],
    ['authorization_code', text],
    ['order_id', lower],
    ...(fourDigits.test(text) ? [['last_four', text] as const] : []),
  ];
}

async function findByText(task: SearchTask, text: string): Promise<PageRows> {
  const { queries, search, classIds, page } = task;
  const { organizationId } = search;
  const foundByIdentifier = [
    ...(await findTransactionsByIdentifier(queries, organizationId, text)),
    ...(await findQrPaymentsByIdentifier(queries, organizationId, text)),
  ];
  const scan = { search, classIds, page: withOneMore(page) };
  return readPage(task, referenceStatement(scan, listReferenceColumns(text), foundByIdentifier));
}

/** The lowest level that the search names. */
export function chooseEntityIndex({
  deviceId,
  storeId,
  merchantId,
}: PaymentSearchCriteria): SearchIndex | undefined {
  if (deviceId !== undefined) return 'device';
  if (storeId !== undefined) return 'store';
  return merchantId === undefined ? undefined : 'merchant';
}

async function hasFewPaymentsInRange(
  { queries, search }: SearchTask,
  few: number,
): Promise<boolean> {
  const { text, values } = amountCountStatement(search, few + 1);
  const [row] = await queries.query<{ count: number }>(text, values);
  return (row?.count ?? 0) <= few;
}

/** Scans the payments of an entity, or reads the payments in a range of amounts if they are few. */
async function findByEntity(task: SearchTask, index: SearchIndex): Promise<PageRows> {
  const { search, classIds, page } = task;
  const { amountMin, amountMax } = search;
  const isRange = amountMin !== undefined && amountMax !== undefined;
  if (isRange && (await hasFewPaymentsInRange(task, fewPaymentsInRange))) {
    return readPage(task, amountStatement({ search, classIds, page: withOneMore(page) }));
  }
  return scanIndex(task, index, entityRowsMax);
}

/**
 * A store always belongs to the same merchant. If the search names both, this check decides whether
 * results are possible. The scan of the store then needs no filter by merchant.
 */
async function dropRedundantMerchant(
  queries: Queries,
  search: PaymentSearchCriteria,
): Promise<PaymentSearchCriteria | undefined> {
  const { organizationId, merchantId, storeId, deviceId } = search;
  if (merchantId === undefined || storeId === undefined || deviceId !== undefined) return search;
  const [owner] = await queries.query<{ merchantId: string }>(findMerchantSql('store_id'), [
    organizationId,
    storeId,
  ]);
  return owner?.merchantId === merchantId.toLowerCase()
    ? { ...search, merchantId: undefined }
    : undefined;
}

async function findRows(task: SearchTask): Promise<PageRows> {
  const { search } = task;
  const { text, amountMin, amountMax } = search;
  if (text !== undefined) return findByText(task, text);
  const index = chooseEntityIndex(search);
  if (index !== undefined) return findByEntity(task, index);
  if (amountMin !== undefined || amountMax !== undefined) return findByAmount(task);
  if (task.classIds !== undefined) return findByGroup(task);
  return scanIndex(task, 'time', lineRowsMax);
}

/**
 * Finds one page of payments. If matching payments are rare, a page may be short or empty although
 * more follow.
 *
 * @example const { payments, next } = await findPayments(run, paymentClasses, search, { limit: 50, isAscending: false, after });
 */
export async function findPayments(
  queries: Queries,
  paymentClasses: PaymentClassCache,
  requested: PaymentSearchCriteria,
  page: SearchPageRequest,
): Promise<FoundPayments> {
  const search = await dropRedundantMerchant(queries, requested);
  if (search === undefined) return { payments: [], next: undefined };
  const { organizationId, groupFilters } = search;
  let classesById = await paymentClasses.read(queries, organizationId);
  const matching = [...classesById.values()].filter((each) => matchesFilters(groupFilters, each));
  if (hasGroupFilters(groupFilters) && matching.length === 0)
    return { payments: [], next: undefined };
  const count = (all: Iterable<PaymentClass>) =>
    [...all].reduce((sum, { payments }) => sum + payments, 0);
  const { rows, next } = await findRows({
    queries,
    search,
    page,
    classIds: hasGroupFilters(groupFilters) ? matching.map(({ classId }) => classId) : undefined,
    areClassesIndexed:
      hasGroupFilters(groupFilters) && !matching.some(({ isFrequent }) => isFrequent),
    matching: count(matching),
    total: count(classesById.values()),
  });
  if (rows.some((row) => !classesById.has(row.class_id))) {
    paymentClasses.clear(organizationId);
    classesById = await paymentClasses.read(queries, organizationId);
  }
  const payments = rows.flatMap((row) => {
    const paymentClass = classesById.get(row.class_id);
    return paymentClass === undefined ? [] : [{ ...row, paymentClass }];
  });
  return { payments, next };
}
