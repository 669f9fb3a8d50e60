// Derives the report entries of a QR payment: a payment is authorised and captured at once.
import type { ReportedQrPayment } from '../../qr/index.ts';
import type {
  PaymentGroup,
  PaymentLine,
  PaymentOutcome,
  ProjectedPayment,
  SumEntry,
  Sums,
} from './reported-payment-types.ts';
import { localTimeAt } from './store-local-time.ts';

const outcomesByPhase: Readonly<Record<string, PaymentOutcome>> = {
  Completed: 'approved',
  Declined: 'declined',
  Failed: 'failed',
  Cancelled: 'other',
  Expired: 'other',
};

/** Providers have unlimited reason texts; these are the categories that a summary can use. */
const responsesByPhase: Readonly<Record<string, Pick<PaymentGroup, 'category' | 'reason'>>> = {
  Completed: { category: 'Approved', reason: 'Approved' },
  Declined: { category: 'HardDecline', reason: 'DeclinedByProvider' },
  Failed: { category: 'TechnicalFailure', reason: 'FailedAtProvider' },
};

type QrEvent = ReportedQrPayment['events'][number];

const isOutcome = ({ data }: QrEvent): boolean =>
  data.changes.phase !== undefined && data.changes.phase in outcomesByPhase;

/** The paid amount after an event; an amount in another currency does not count. */
type PaidAmount = { readonly reported: number; readonly isForeign: boolean };

const addPaid = ({ data }: QrEvent, { reported, isForeign }: PaidAmount): PaidAmount => {
  const { paid, hold } = data.changes;
  if (paid === undefined) return { reported, isForeign };
  return { reported: reported + paid, isForeign: hold === 'CurrencyDiffers' };
};

const zeroPaid: PaidAmount = { reported: 0, isForeign: false };
const countedAmount = ({ reported, isForeign }: PaidAmount): number => (isForeign ? 0 : reported);

/** An amount that was settled elsewhere counts as reversed. */
function toSums({ data }: QrEvent, before: PaidAmount, after: PaidAmount): Sums {
  const paid = countedAmount(after) - countedAmount(before);
  const { refunded = 0, settled = 0 } = after.isForeign ? {} : data.changes;
  const reversed = Math.max(0, -paid) + settled;
  return {
    ...(paid > 0 ? { authorized: paid, captured: paid } : {}),
    ...(reversed === 0 ? {} : { reversed }),
    ...(refunded === 0 ? {} : { refunded }),
  };
}

function toSumEntries({ loaded, events, timeZone }: ReportedQrPayment): Map<number, SumEntry> {
  const entries = new Map<number, SumEntry>();
  const outcome = events.find(isOutcome);
  const made = Date.parse(loaded.row.createdAt);
  let paid = zeroPaid;
  for (const event of events) {
    const before = paid;
    paid = addPaid(event, before);
    const sums = toSums(event, before, paid);
    if (event === outcome) {
      const ending = outcomesByPhase[event.data.changes.phase ?? ''] ?? 'other';
      entries.set(event.sequence, { ...localTimeAt(made, timeZone), outcome: ending, sums });
    } else if (Object.keys(sums).length > 0) {
      entries.set(event.sequence, { ...localTimeAt(Date.parse(event.at), timeZone), sums });
    }
  }
  return entries;
}

function toPaymentLine({ loaded, events, timeZone }: ReportedQrPayment): PaymentLine {
  const { row } = loaded;
  const { amount, currency, refunded, settled } = row.position;
  const last = events.reduce((paid, event) => addPaid(event, paid), zeroPaid);
  const paid = countedAmount(last);
  const response = responsesByPhase[events.find(isOutcome)?.data.changes.phase ?? ''];
  return {
    paymentId: row.transactionId,
    createdAt: row.createdAt,
    state: row.status,
    group: {
      kind: 'Qr',
      scheme: row.facts.paymentType,
      entryMode: '',
      currency,
      ...(response ?? { category: '', reason: '' }),
    },
    merchantId: row.merchantId,
    storeId: row.storeId,
    deviceId: row.deviceId,
    linkId: undefined,
    ...(last.isForeign
      ? { amount, authorized: 0, captured: 0, cancelled: 0, refunded: 0 }
      : { amount, authorized: paid, captured: paid - settled, cancelled: 0, refunded }),
    clientTransactionId: row.clientTransactionId,
    orderId: row.facts.order?.orderId?.toLowerCase(),
    retrievalReference: undefined,
    authorizationCode: undefined,
    maskedNumber: undefined,
    cardToken: undefined,
    responseCode: undefined,
    isOffline: false,
    day: localTimeAt(Date.parse(row.createdAt), timeZone).day,
    updatedAt: row.updatedAt,
    version: row.version,
    saleCapture: undefined,
  };
}

/** @example const { line, entries } = projectQrPayment(payment); */
export function projectQrPayment(payment: ReportedQrPayment): ProjectedPayment {
  return { line: toPaymentLine(payment), entries: toSumEntries(payment), movements: new Map() };
}
