// Finds one page of payments, with the fastest statement for the filters.
import { findTransactionsByIdentifier } from '../../payments/index.ts';
import { namedQrPayments } from '../../qr/index.ts';
import type { RunQuery } from '../infrastructure/run-query.ts';
import type { Cut, Place } from './page-position.ts';
import { type Classes, matches, type PaymentClass } from './payment-class-cache.ts';
import { hasWords, type Search } from './search-filters.ts';
import {
  amountCountStatement,
  amountStatement,
  type LineRow,
  mergeStatement,
  ownStoreText,
  type ReferenceColumn,
  referenceStatement,
  type Statement,
  type Way,
  walkEndStatement,
  walkStatement,
} from './search-sql.ts';

export type FoundLine = LineRow & { readonly of: PaymentClass };

export type FoundLines = {
  readonly lines: FoundLine[];
  /** The position after which more payments follow; undefined if there are no more. */
  readonly next: Place | undefined;
};

/** The rows that one page may read: from an index alone, and lines in the order of time. */
const indexRowsMax = 60_000;
const lineRowsMax = 50_000;
/** Payments of all classes are mixed, so a walk fills a page of frequent payments quickly. */
const commonRowsMax = 20_000;
const shortWalkRows = 1_000;
/** The payments that a walk reads in the time in which a merge starts one class. */
const rowsPerClass = 15;
/** Up to this many payments of one amount, the search reads them instead of a whole place. */
const fewOfAmount = 1_500;
/** Up to this many payments in a range of amounts, the search sorts them instead of a walk. */
const fewAmounts = 40_000;
/** The maximum number of rows that one page merges from the classes. */
const mergedRowsMax = 60_000;

type Task = {
  readonly run: RunQuery;
  readonly search: Search;
  readonly cut: Cut;
  readonly classIds: readonly number[] | undefined;
  /** The number of payments in those classes, and in all classes. */
  readonly matching: number;
  readonly total: number;
};

type Rows = { readonly rows: LineRow[]; readonly next?: Place | undefined };

const placeOf = (row: Pick<LineRow, 'created_at' | 'payment_id'>): Place => ({
  createdAt: row.created_at.toISOString(),
  paymentId: row.payment_id,
});

/** One more row than the page shows whether further rows exist. */
const more = (cut: Cut): Cut => ({ ...cut, limit: cut.limit + 1 });

const ask = (run: RunQuery, { text, values }: Statement) => run<LineRow>(text, values);

async function exactly({ run, cut }: Task, statement: Statement): Promise<Rows> {
  const rows = await ask(run, statement);
  return rows.length > cut.limit
    ? { rows: rows.slice(0, cut.limit), next: placeOf(rows[cut.limit - 1] as LineRow) }
    : { rows };
}

async function walk(task: Task, way: Way, scannedMax: number): Promise<Rows> {
  const { run, search, classIds, cut } = task;
  const walked = { search, classIds, cut: more(cut) };
  const found = await exactly(task, walkStatement(way, walked, scannedMax));
  const wantsAll = classIds === undefined && search.amountMin === undefined;
  if (found.next !== undefined || (wantsAll && search.amountMax === undefined)) return found;
  const end = walkEndStatement(way, walked, scannedMax);
  const [last] = await run<LineRow>(end.text, end.values);
  return last === undefined ? found : { ...found, next: placeOf(last) };
}

async function byAmount(task: Task): Promise<Rows> {
  const { search, classIds, cut, matching } = task;
  const walked = { search, classIds, cut: more(cut) };
  if (classIds !== undefined && matching <= indexRowsMax) {
    return exactly(task, mergeStatement(walked));
  }
  if (search.amountMin === search.amountMax) return walk(task, 'amount', indexRowsMax);
  if ((await countAmounts(task, fewAmounts + 1)) <= fewAmounts)
    return exactly(task, amountStatement(walked));
  return walk(task, 'time', lineRowsMax);
}

async function byWords(task: Task): Promise<Rows> {
  const { search, classIds = [], cut, matching, total } = task;
  const walked = { search, classIds, cut: more(cut) };
  const isLongMerge = classIds.length * (cut.limit + 1) > mergedRowsMax;
  const rowsOfPage = ((cut.limit + 1) * total) / Math.max(1, matching);
  const isShortWalk = rowsOfPage <= Math.max(shortWalkRows, classIds.length * rowsPerClass);
  if (isShortWalk || isLongMerge) {
    const found = await walk(task, 'time', isLongMerge ? lineRowsMax : commonRowsMax);
    const isCut = found.next !== undefined && found.rows.length < cut.limit;
    if (!isCut || isLongMerge) return found;
  }
  return exactly(task, mergeStatement(walked));
}

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const fourDigits = /^[0-9]{4}$/;

/** The columns that can contain a text of this form. */
export function placesOfText(text: string): (readonly [ReferenceColumn, string])[] {
  const lower = text.toLowerCase();
  if (uuidForm.test(text)) {
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

async function byText(task: Task, text: string): Promise<Rows> {
  const { run, search, classIds, cut } = task;
  const { organizationId } = search;
  const named = [
    ...(await findTransactionsByIdentifier(run, organizationId, text)),
    ...(await namedQrPayments(run, organizationId, text)),
  ];
  const walked = { search, classIds, cut: more(cut) };
  return exactly(task, referenceStatement(walked, placesOfText(text), named));
}

/** The lowest level that the search names. */
export function wayOf({ deviceId, storeId, merchantId }: Search): Way | undefined {
  if (deviceId !== undefined) return 'device';
  if (storeId !== undefined) return 'store';
  return merchantId === undefined ? undefined : 'merchant';
}

async function countAmounts({ run, search }: Task, most: number): Promise<number> {
  const { text, values } = amountCountStatement(search, most);
  const [row] = await run<{ count: number }>(text, values);
  return row?.count ?? 0;
}

/** Walks along a place, or reads the payments of a single amount if they are few. */
async function byPlace(task: Task, way: Way): Promise<Rows> {
  const { amountMin, amountMax } = task.search;
  const isOneAmount = amountMin !== undefined && amountMin === amountMax;
  const isFew = isOneAmount && (await countAmounts(task, fewOfAmount + 1)) <= fewOfAmount;
  return walk(task, isFew ? 'amount' : way, indexRowsMax);
}

/**
 * A store always belongs to the same merchant. If the search names both, this check decides whether
 * results are possible. The walk along the store then needs no filter by merchant.
 */
async function withinStore(run: RunQuery, search: Search): Promise<Search | undefined> {
  const { organizationId, merchantId, storeId, deviceId } = search;
  if (merchantId === undefined || storeId === undefined || deviceId !== undefined) return search;
  const values = [organizationId, storeId, merchantId];
  const [owner] = await run<{ isOwn: boolean }>(ownStoreText, values);
  return owner?.isOwn === true ? { ...search, merchantId: undefined } : undefined;
}

async function rowsOf(task: Task): Promise<Rows> {
  const { search } = task;
  const { text, amountMin, amountMax } = search;
  if (text !== undefined) return byText(task, text);
  const way = wayOf(search);
  if (way !== undefined) return byPlace(task, way);
  if (amountMin !== undefined || amountMax !== undefined) return byAmount(task);
  if (task.classIds !== undefined) return byWords(task);
  return walk(task, 'time', lineRowsMax);
}

/**
 * Finds one page of payments. If matching payments are rare, a page may be short or empty although
 * more follow.
 *
 * @example const { lines, next } = await findLines(run, classes, search, { limit: 50, isAscending: false, after });
 */
export async function findLines(
  run: RunQuery,
  classes: Classes,
  asked: Search,
  cut: Cut,
): Promise<FoundLines> {
  const search = await withinStore(run, asked);
  if (search === undefined) return { lines: [], next: undefined };
  const { organizationId, words } = search;
  let known = await classes.of(run, organizationId);
  const wanted = [...known.values()].filter((each) => matches(words, each));
  if (hasWords(words) && wanted.length === 0) return { lines: [], next: undefined };
  const count = (all: Iterable<PaymentClass>) =>
    [...all].reduce((sum, { payments }) => sum + payments, 0);
  const { rows, next } = await rowsOf({
    run,
    search,
    cut,
    classIds: hasWords(words) ? wanted.map(({ classId }) => classId) : undefined,
    matching: count(wanted),
    total: count(known.values()),
  });
  if (rows.some((row) => !known.has(row.class_id))) {
    classes.forget(organizationId);
    known = await classes.of(run, organizationId);
  }
  const lines = rows.flatMap((row) => {
    const of = known.get(row.class_id);
    return of === undefined ? [] : [{ ...row, of }];
  });
  return { lines, next };
}
