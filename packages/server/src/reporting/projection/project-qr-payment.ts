// Derives the report entries of a QR payment: a payment is authorised and captured at once.
import type { ReportedQr } from '../../qr/index.ts';
import type {
  Ending,
  Entry,
  Group,
  PaymentLine,
  Reported,
  Sums,
} from './reported-payment-types.ts';
import { localTimeAt } from './store-local-time.ts';

const endings: Readonly<Record<string, Ending>> = {
  Completed: 'approved',
  Declined: 'declined',
  Failed: 'failed',
  Cancelled: 'other',
  Expired: 'other',
};

/** Providers have unlimited reason texts; these are the categories that a summary can use. */
const answers: Readonly<Record<string, Pick<Group, 'category' | 'reason'>>> = {
  Completed: { category: 'Approved', reason: 'Approved' },
  Declined: { category: 'HardDecline', reason: 'DeclinedByProvider' },
  Failed: { category: 'TechnicalFailure', reason: 'FailedAtProvider' },
};

type QrEvent = ReportedQr['events'][number];

const isOutcome = ({ data }: QrEvent): boolean =>
  data.changes.phase !== undefined && data.changes.phase in endings;

/** The paid amount after an event; an amount in another currency does not count. */
type Paid = { readonly told: number; readonly isForeign: boolean };

const paidAfter = ({ data }: QrEvent, { told, isForeign }: Paid): Paid => {
  const { paid, hold } = data.changes;
  if (paid === undefined) return { told, isForeign };
  return { told: told + paid, isForeign: hold === 'CurrencyDiffers' };
};

const nothingPaid: Paid = { told: 0, isForeign: false };
const counted = ({ told, isForeign }: Paid): number => (isForeign ? 0 : told);

/** An amount that was settled elsewhere counts as reversed. */
function sumsOf({ data }: QrEvent, before: Paid, after: Paid): Sums {
  const paid = counted(after) - counted(before);
  const { refunded = 0, settled = 0 } = after.isForeign ? {} : data.changes;
  const reversed = Math.max(0, -paid) + settled;
  return {
    ...(paid > 0 ? { authorized: paid, captured: paid } : {}),
    ...(reversed === 0 ? {} : { reversed }),
    ...(refunded === 0 ? {} : { refunded }),
  };
}

function entriesOf({ loaded, events, timeZone }: ReportedQr): Map<number, Entry> {
  const entries = new Map<number, Entry>();
  const outcome = events.find(isOutcome);
  const made = Date.parse(loaded.row.createdAt);
  let paid = nothingPaid;
  for (const event of events) {
    const before = paid;
    paid = paidAfter(event, before);
    const sums = sumsOf(event, before, paid);
    if (event === outcome) {
      const ending = endings[event.data.changes.phase ?? ''] ?? 'other';
      entries.set(event.sequence, { ...localTimeAt(made, timeZone), ending, sums });
    } else if (Object.keys(sums).length > 0) {
      entries.set(event.sequence, { ...localTimeAt(Date.parse(event.at), timeZone), sums });
    }
  }
  return entries;
}

function lineOf({ loaded, events, timeZone }: ReportedQr): PaymentLine {
  const { row } = loaded;
  const { amount, currency, refunded, settled } = row.position;
  const last = events.reduce((paid, event) => paidAfter(event, paid), nothingPaid);
  const paid = counted(last);
  const answer = answers[events.find(isOutcome)?.data.changes.phase ?? ''];
  return {
    paymentId: row.transactionId,
    createdAt: row.createdAt,
    state: row.status,
    group: {
      kind: 'Qr',
      scheme: row.facts.paymentType,
      entryMode: '',
      currency,
      ...(answer ?? { category: '', reason: '' }),
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
    timeZone,
    updatedAt: row.updatedAt,
    version: row.version,
  };
}

/** @example const { line, entries } = reportedQr(payment); */
export function reportedQr(payment: ReportedQr): Reported {
  return { line: lineOf(payment), entries: entriesOf(payment), moves: new Map() };
}
