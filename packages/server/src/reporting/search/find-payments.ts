// Finds one page of payments, with the fastest statement for the filters.
import { findTransactionsByIdentifier } from '../../payments/index.ts';
import { isUuid, type Queries } from '../../platform/index.ts';
import { findQrPaymentsByIdentifier } from '../../qr/index.ts';
import type { PagePosition, SearchPageRequest } from './page-position.ts';
import { hasGroupFilters, type PaymentSearchCriteria } from './parse-search-filters.ts';
import {
  matchesFilters,
  type PaymentClass,
  type PaymentClassCache,
} from './payment-class-cache.ts';
import {
  amountCountStatement,
  amountStatement,
  findMerchantSql,
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

/** The rows that one page may read: those of an entity lie apart, those in the order of time together. */
const entityRowsMax = 20_000;
const lineRowsMax = 50_000;
/** Payments of all classes are mixed, so a walk fills a page of frequent payments quickly. */
const frequentRowsMax = 20_000;
const shortWalkRows = 1_000;
/** The payments that a walk reads in the time in which a merge starts one class. */
const rowsPerClass = 15;
/**
 * Up to this many payments in a range of amounts, the search reads and sorts them instead of a walk
 * along the payments of the entity, or along all payments.
 */
const fewPaymentsInRange = 1_500;
const fewPaymentsInRangeOfAll = 10_000;
/** Up to this many payments in the classes, the search reads those to find an amount. */
const fewPaymentsInClasses = 20_000;
/** The maximum number of rows that one page merges from the classes. */
const mergedRowsMax = 60_000;

type SearchTask = {
  readonly queries: Queries;
  readonly search: PaymentSearchCriteria;
  readonly page: SearchPageRequest;
  readonly classIds: readonly number[] | undefined;
  /** True if the index of classes contains all payments of those classes. */
  readonly isIndexed: boolean;
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
  const { search, classIds, page, matching, isIndexed } = task;
  const scan = { search, classIds, page: withOneMore(page) };
  if (isIndexed && matching <= fewPaymentsInClasses) return readPage(task, mergeStatement(scan));
  if (await hasFewAmounts(task, fewPaymentsInRangeOfAll))
    return readPage(task, amountStatement(scan));
  return scanIndex(task, 'time', lineRowsMax);
}

async function findByGroup(task: SearchTask): Promise<PageRows> {
  const { search, classIds = [], page, matching, total, isIndexed } = task;
  const scan = { search, classIds, page: withOneMore(page) };
  const mustWalk = !isIndexed || classIds.length * (page.limit + 1) > mergedRowsMax;
  const rowsOfPage = ((page.limit + 1) * total) / Math.max(1, matching);
  const isShortWalk = rowsOfPage <= Math.max(shortWalkRows, classIds.length * rowsPerClass);
  if (isShortWalk || mustWalk) {
    const pageRows = await scanIndex(task, 'time', mustWalk ? lineRowsMax : frequentRowsMax);
    const isIncomplete = pageRows.next !== undefined && pageRows.rows.length < page.limit;
    if (!isIncomplete || mustWalk) return pageRows;
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

async function hasFewAmounts({ queries, search }: SearchTask, few: number): Promise<boolean> {
  const { text, values } = amountCountStatement(search, few + 1);
  const [row] = await queries.query<{ count: number }>(text, values);
  return (row?.count ?? 0) <= few;
}

/** Scans the payments of an entity, or reads the payments in a range of amounts if they are few. */
async function findByEntity(task: SearchTask, index: SearchIndex): Promise<PageRows> {
  const { search, classIds, page } = task;
  const { amountMin, amountMax } = search;
  const isRange = amountMin !== undefined && amountMax !== undefined;
  if (isRange && (await hasFewAmounts(task, fewPaymentsInRange))) {
    return readPage(task, amountStatement({ search, classIds, page: withOneMore(page) }));
  }
  return scanIndex(task, index, entityRowsMax);
}

/**
 * A store always belongs to the same merchant. If the search names both, this check decides whether
 * results are possible. The walk along the store then needs no filter by merchant.
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
    isIndexed: hasGroupFilters(groupFilters) && !matching.some(({ isFrequent }) => isFrequent),
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
