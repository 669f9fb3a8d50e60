// Reads payments in bulk for exports, oldest first, as plain records at low cost.
import type { Queries } from '../../platform/index.ts';
import { hasGroupFilters } from '../infrastructure/group-filters.ts';
import { chooseEntityIndex, findPayments } from './find-payments.ts';
import { formatPagePosition, parsePagePosition } from './page-position.ts';
import type { PaymentSearchCriteria } from './parse-search-filters.ts';
import {
  matchesFilters,
  type PaymentClass,
  type PaymentClassCache,
} from './payment-class-cache.ts';
import { toPaymentView } from './payment-view.ts';
import { exportScanStatement, indexScanEndStatement } from './search-sql.ts';

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
function toIsoTime(text: string): string {
  const [whole = '', rest = ''] = text.slice(0, -3).split('.');
  return `${whole.replace(' ', 'T')}.${rest.padEnd(3, '0').slice(0, 3)}Z`;
}

/** The position of the order identifier, which is last because it may contain the separator. */
const orderIdIndex = 20;

function parseRow(fields: string, classesById: ReadonlyMap<number, PaymentClass>): ScannedPayment {
  const texts = fields.split('|');
  const readField = (index: number): string => texts[index] ?? '';
  const paymentClass = classesById.get(Number(readField(2)));
  return {
    createdAt: toIsoTime(readField(0)),
    transactionId: readField(1),
    kind: paymentClass?.kind ?? '',
    state: paymentClass?.state ?? '',
    merchantId: readField(3),
    storeId: readField(4),
    deviceId: readField(5),
    amount: Number(readField(6)),
    currency: paymentClass?.currency ?? '',
    authorizedAmount: Number(readField(7)),
    capturedAmount: Number(readField(8)),
    cancelledAmount: Number(readField(9)),
    refundedAmount: Number(readField(10)),
    scheme: paymentClass?.scheme ?? '',
    maskedNumber: readField(11),
    cardToken: readField(12),
    entryMode: paymentClass?.entryMode ?? '',
    responseCategory: paymentClass?.category ?? '',
    responseCode: readField(13),
    responseReason: paymentClass?.reason ?? '',
    authorizationCode: readField(14),
    retrievalReferenceNumber: readField(15),
    orderId:
      texts.length === orderIdIndex + 1
        ? readField(orderIdIndex)
        : texts.slice(orderIdIndex).join('|'),
    offline: readField(16) === 'true',
    day: readField(17),
    updatedAt: toIsoTime(readField(18)),
    clientTransactionId: readField(19),
  };
}

/** A text matches few payments, so the normal search finds them. */
async function scanByText(
  queries: Queries,
  paymentClasses: PaymentClassCache,
  search: PaymentSearchCriteria,
  part: ScanPart,
) {
  const page = { isAscending: true, limit: part.limit, after: parsePagePosition(part.after) };
  const { payments, next } = await findPayments(queries, paymentClasses, search, page);
  const rows = payments.map((payment): ScannedPayment => {
    const view = toPaymentView(payment);
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
  return { rows, next: next === undefined ? undefined : formatPagePosition(next) };
}

export type ScanPart = { readonly after: string | undefined; readonly limit: number };

/** @example const { rows, next } = await scanPayments(run, paymentClasses, search, { after, limit: 2000 }); */
export async function scanPayments(
  queries: Queries,
  paymentClasses: PaymentClassCache,
  search: PaymentSearchCriteria,
  part: ScanPart,
): Promise<ScannedPart> {
  const limit = Math.min(part.limit, scanLimitMax);
  if (search.text !== undefined)
    return scanByText(queries, paymentClasses, search, { ...part, limit });
  const { organizationId, groupFilters } = search;
  let classesById = await paymentClasses.read(queries, organizationId);
  const classIds = hasGroupFilters(groupFilters)
    ? [...classesById.values()]
        .filter((each) => matchesFilters(groupFilters, each))
        .map(({ classId }) => classId)
    : undefined;
  if (classIds?.length === 0) return { rows: [], next: undefined };
  const page = { isAscending: true, limit, after: parsePagePosition(part.after) };
  const scan = { search, classIds, page };
  const index = chooseEntityIndex(search) ?? 'time';
  const { text, values } = exportScanStatement(index, scan, scannedMax);
  const scannedRows = await queries.query<{ fields: string; class_id: number }>(text, values);
  if (scannedRows.some((row) => !classesById.has(row.class_id))) {
    paymentClasses.clear(organizationId);
    classesById = await paymentClasses.read(queries, organizationId);
  }
  const rows = scannedRows.map(({ fields }) => parseRow(fields, classesById));
  const last = rows.at(-1);
  if (rows.length === limit && last !== undefined) {
    return { rows, next: `${last.createdAt}|${last.transactionId}` };
  }
  const end = indexScanEndStatement(index, scan, scannedMax);
  const [scanEnd] = await queries.query<{ created_at: Date; payment_id: string }>(
    end.text,
    end.values,
  );
  if (scanEnd === undefined) return { rows, next: undefined };
  const { created_at: at, payment_id: paymentId } = scanEnd;
  return { rows, next: formatPagePosition({ createdAt: at.toISOString(), paymentId }) };
}
