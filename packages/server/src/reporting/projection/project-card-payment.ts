// Derives the report entries of a card payment from its events: the day and amount of each.
import {
  type AuthorizationContext,
  authorizationContext,
  type StoredEvent,
  saleOutcome,
  saleOutcomeEvent,
  saleResponse,
  settlementDayForContext,
  type TransactionRecord,
} from '../../payments/index.ts';
import {
  type Ending,
  type Entry,
  type Movement,
  type PaymentLine,
  type Reported,
  reasonWord,
  type SettlementMove,
  type Sums,
} from './reported-payment-types.ts';
import { localTimeAt } from './store-local-time.ts';

/** The time of the sale; for an offline sale, the time when the terminal approved it. */
function madeAt({ row }: TransactionRecord, { offline }: AuthorizationContext): number {
  const at = Date.parse(offline?.authorizedAt ?? row.createdAt);
  return Number.isFinite(at) ? at : Date.parse(row.createdAt);
}

function endingOf({ data }: StoredEvent): Ending {
  switch (data.changes.phase) {
    case 'Approved':
    case 'AwaitingConfirmation':
      return 'approved';
    case 'Declined':
      return 'declined';
    case 'Failed':
    case 'Reversing':
      return 'failed';
    default:
      return 'other';
  }
}

/**
 * The changes of amounts by an event. When a whole hold expires, the position keeps its amounts,
 * and the event contains the expired amount.
 */
function sumsOf({ data }: StoredEvent): Sums {
  const { authorized = 0, captured = 0, refunded = 0, cancelled = 0, phase } = data.changes;
  const lapsed = phase === 'Expired' ? (data.amount ?? 0) : 0;
  return {
    ...(authorized === 0 ? {} : { authorized }),
    ...(captured > 0 ? { captured } : {}),
    ...(captured < 0 ? { reversed: -captured } : {}),
    ...(refunded === 0 ? {} : { refunded }),
    ...(cancelled + lapsed === 0 ? {} : { cancelled: cancelled + lapsed }),
  };
}

function entriesOf(loaded: TransactionRecord, facts: AuthorizationContext): Map<number, Entry> {
  const entries = new Map<number, Entry>();
  const outcome = saleOutcomeEvent(loaded);
  const made = madeAt(loaded, facts);
  for (const event of loaded.events) {
    const sums = sumsOf(event);
    if (event !== outcome) {
      if (Object.keys(sums).length === 0) continue;
      entries.set(event.sequence, { ...localTimeAt(Date.parse(event.at), facts.timeZone), sums });
      continue;
    }
    const tookMs = Date.parse(event.at) - Date.parse(loaded.row.createdAt);
    entries.set(event.sequence, {
      ...localTimeAt(made, facts.timeZone),
      ending: endingOf(event),
      // An offline upload, or an automatic reversal by the till, does not measure the response
      // time.
      ...(facts.offline !== undefined || event.data.operation !== undefined
        ? {}
        : { latencyMs: Math.max(0, tookMs) }),
      sums,
    });
  }
  return entries;
}

/** The settlement day of a pending capture: the day of its file, or else the day of the request. */
function pendingDate({ at, data }: StoredEvent, facts: AuthorizationContext): string {
  return data.settlementDate ?? settlementDayForContext(facts, Date.parse(at)).date;
}

/** A finished capture reduces the pending amount of the day on which it was pending. */
function pendingMove(
  event: StoredEvent,
  { events }: TransactionRecord,
  facts: AuthorizationContext,
): SettlementMove | undefined {
  const { changes, operation } = event.data;
  const { captureReserved = 0 } = changes;
  if (captureReserved === 0) return undefined;
  const begun = events.find(
    ({ data }) =>
      data.operation?.operationId === operation?.operationId &&
      (data.changes.captureReserved ?? 0) > 0,
  );
  const count = captureReserved > 0 ? 1 : -1;
  const date = pendingDate(begun ?? event, facts);
  return { date, kind: 'Pending', count, amount: captureReserved };
}

/** The references by which the acquirer knows an event: those of its operation, or of the sale. */
function movementOf(
  event: StoredEvent,
  { operations }: TransactionRecord,
  facts: AuthorizationContext,
): Movement {
  const number = event.data.operation?.number ?? 0;
  const operation = operations.find((each) => each.operationNumber === number);
  const { terminalId, stan, rrn } = operation?.details.reference ?? facts.reference;
  return {
    number,
    merchantNumber: facts.acquirerMerchantId,
    terminal: terminalId,
    trace: stan,
    retrievalReference: rrn,
    movedAt: event.at,
  };
}

function movesOf(
  loaded: TransactionRecord,
  facts: AuthorizationContext,
): Map<number, SettlementMove[]> {
  const all = new Map<number, SettlementMove[]>();
  for (const event of loaded.events) {
    const { captured = 0, refunded = 0 } = event.data.changes;
    const moves: SettlementMove[] = [];
    const move = (kind: SettlementMove['kind'], amount: number, date: string | undefined) =>
      moves.push({
        date: date ?? settlementDayForContext(facts, Date.parse(event.at)).date,
        kind,
        count: 1,
        amount,
        movement: movementOf(event, loaded, facts),
      });
    if (captured > 0) move('Capture', captured, event.data.settlementDate);
    if (captured < 0) move('Reversal', -captured, undefined);
    if (refunded > 0) move('Refund', refunded, undefined);
    const pending = pendingMove(event, loaded, facts);
    if (pending !== undefined) moves.push(pending);
    if (moves.length > 0) all.set(event.sequence, moves);
  }
  return all;
}

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const textAt = (of: unknown, name: string): string | undefined => {
  const value = typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined;
  return typeof value === 'string' ? value : undefined;
};

function lineOf(loaded: TransactionRecord, facts: AuthorizationContext): PaymentLine {
  const { row } = loaded;
  const { position } = row;
  const response = saleResponse(loaded);
  const { card, offline, entryMode } = facts;
  return {
    paymentId: row.transactionId,
    createdAt: row.createdAt,
    state: row.state,
    group: {
      kind: 'Card',
      scheme: card.scheme,
      entryMode,
      currency: row.currency,
      category: response?.category ?? '',
      reason: reasonWord(response?.reason),
    },
    merchantId: row.merchantId,
    storeId: row.storeId,
    deviceId: row.deviceId,
    linkId: facts.linkId,
    amount: row.amount,
    authorized: position.authorized,
    captured: position.captured,
    cancelled: position.cancelled,
    refunded: position.refunded,
    clientTransactionId: row.clientTransactionId,
    orderId: textAt(facts.request['order'], 'orderId')?.toLowerCase(),
    retrievalReference: facts.reference.rrn,
    authorizationCode: saleOutcome(loaded)?.authorizationCode ?? offline?.authorizationCode,
    maskedNumber: card.maskedNumber,
    cardToken: uuidForm.test(card.token) ? card.token : undefined,
    responseCode: response?.code,
    isOffline: offline !== undefined,
    day: localTimeAt(madeAt(loaded, facts), facts.timeZone).day,
    timeZone: facts.timeZone,
    updatedAt: row.updatedAt,
    version: row.version,
  };
}

/** @example const { line, entries } = reportedCard(loaded); */
export function reportedCard(loaded: TransactionRecord): Reported {
  const facts = authorizationContext(loaded);
  return {
    line: lineOf(loaded, facts),
    entries: entriesOf(loaded, facts),
    moves: movesOf(loaded, facts),
  };
}
