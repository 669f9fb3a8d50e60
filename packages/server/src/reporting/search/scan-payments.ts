// Reads payments in bulk for exports, oldest first, as plain records at low cost.
import type { RunQuery } from '../infrastructure/run-query.ts';
import { findLines, wayOf } from './find-payments.ts';
import { readPlace, writePlace } from './page-position.ts';
import { type Classes, matches, type PaymentClass } from './payment-class-cache.ts';
import { viewLine } from './payment-view.ts';
import { hasWords, type Search } from './search-filters.ts';
import { scanStatement, walkEndStatement } from './search-sql.ts';

/** Amounts in minor units; an absent value is an empty text. */
export type ScannedPayment = {
  readonly createdAt: string;
  readonly transactionId: string;
  readonly kind: string;
  readonly state: string;
  readonly merchantId: string;
  readonly storeId: string;
  readonly deviceId: string;
  readonly amount: number;
  readonly currency: string;
  readonly authorizedAmount: number;
  readonly capturedAmount: number;
  readonly cancelledAmount: number;
  readonly refundedAmount: number;
  readonly scheme: string;
  readonly maskedNumber: string;
  readonly cardToken: string;
  readonly entryMode: string;
  readonly responseCategory: string;
  readonly responseCode: string;
  readonly responseReason: string;
  readonly authorizationCode: string;
  readonly retrievalReferenceNumber: string;
  readonly orderId: string;
  readonly offline: boolean;
  readonly day: string;
  readonly updatedAt: string;
  readonly clientTransactionId: string;
};

export type ScannedPart = {
  readonly rows: ScannedPayment[];
  /**
   * The value of `after` for the next part, at any time and in any process; undefined at the end.
   */
  readonly next: string | undefined;
};

export const scanLimitMax = 2_000;
/** The maximum number of rows that one part reads to find rare payments. */
const scannedMax = 100_000;

/** Converts `2026-03-01 12:30:00.123+00`, with up to six or no decimal digits. */
function isoOf(text: string): string {
  const [whole = '', rest = ''] = text.slice(0, -3).split('.');
  return `${whole.replace(' ', 'T')}.${rest.padEnd(3, '0').slice(0, 3)}Z`;
}

/** The position of the order identifier, which is last because it may contain the separator. */
const orderAt = 20;

function rowOf(fields: string, known: ReadonlyMap<number, PaymentClass>): ScannedPayment {
  const texts = fields.split('|');
  const at = (place: number): string => texts[place] ?? '';
  const of = known.get(Number(at(2)));
  return {
    createdAt: isoOf(at(0)),
    transactionId: at(1),
    kind: of?.kind ?? '',
    state: of?.state ?? '',
    merchantId: at(3),
    storeId: at(4),
    deviceId: at(5),
    amount: Number(at(6)),
    currency: of?.currency ?? '',
    authorizedAmount: Number(at(7)),
    capturedAmount: Number(at(8)),
    cancelledAmount: Number(at(9)),
    refundedAmount: Number(at(10)),
    scheme: of?.scheme ?? '',
    maskedNumber: at(11),
    cardToken: at(12),
    entryMode: of?.entryMode ?? '',
    responseCategory: of?.category ?? '',
    responseCode: at(13),
    responseReason: of?.reason ?? '',
    authorizationCode: at(14),
    retrievalReferenceNumber: at(15),
    orderId: texts.length === orderAt + 1 ? at(orderAt) : texts.slice(orderAt).join('|'),
    offline: at(16) === 'true',
    day: at(17),
    updatedAt: isoOf(at(18)),
    clientTransactionId: at(19),
  };
}

/** A text matches few payments, so the normal search finds them. */
async function scanFound(run: RunQuery, classes: Classes, search: Search, part: ScanPart) {
  const cut = { isAscending: true, limit: part.limit, after: readPlace(part.after) };
  const { lines, next } = await findLines(run, classes, search, cut);
  const rows = lines.map((line): ScannedPayment => {
    const view = viewLine(line);
    return {
      ...view,
      storeId: view.storeId ?? '',
      deviceId: view.deviceId ?? '',
      scheme: view.scheme ?? '',
      maskedNumber: view.maskedNumber ?? '',
      cardToken: view.cardToken ?? '',
      entryMode: view.entryMode ?? '',
      responseCategory: view.response?.category ?? '',
      responseCode: view.response?.code ?? '',
      orderId: view.orderId ?? '',
      responseReason: view.response?.reason ?? '',
      authorizationCode: view.authorizationCode ?? '',
      retrievalReferenceNumber: view.retrievalReferenceNumber ?? '',
      offline: view.offline ?? false,
    };
  });
  return { rows, next: next === undefined ? undefined : writePlace(next) };
}

export type ScanPart = { readonly after: string | undefined; readonly limit: number };

/** @example const { rows, next } = await scanPayments(run, classes, search, { after, limit: 2000 }); */
export async function scanPayments(
  run: RunQuery,
  classes: Classes,
  search: Search,
  part: ScanPart,
): Promise<ScannedPart> {
  const limit = Math.min(part.limit, scanLimitMax);
  if (search.text !== undefined) return scanFound(run, classes, search, { ...part, limit });
  const { organizationId, words } = search;
  let known = await classes.of(run, organizationId);
  const classIds = hasWords(words)
    ? [...known.values()].filter((each) => matches(words, each)).map(({ classId }) => classId)
    : undefined;
  if (classIds?.length === 0) return { rows: [], next: undefined };
  const cut = { isAscending: true, limit, after: readPlace(part.after) };
  const walked = { search, classIds, cut };
  const way = wayOf(search) ?? 'time';
  const { text, values } = scanStatement(way, walked, scannedMax);
  const found = await run<{ fields: string; class_id: number }>(text, values);
  if (found.some((row) => !known.has(row.class_id))) {
    classes.forget(organizationId);
    known = await classes.of(run, organizationId);
  }
  const rows = found.map(({ fields }) => rowOf(fields, known));
  const last = rows.at(-1);
  if (rows.length === limit && last !== undefined) {
    return { rows, next: `${last.createdAt}|${last.transactionId}` };
  }
  const end = walkEndStatement(way, walked, scannedMax);
  const [stopped] = await run<{ created_at: Date; payment_id: string }>(end.text, end.values);
  if (stopped === undefined) return { rows, next: undefined };
  const { created_at: at, payment_id: paymentId } = stopped;
  return { rows, next: writePlace({ createdAt: at.toISOString(), paymentId }) };
}
