// Derives the report entries of a card payment from its events: the day and amount of each.
import { defined } from '@switchyard/contract';
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
import { isUuid } from '../../platform/index.ts';
import {
  type MovementReferences,
  type PaymentLine,
  type PaymentOutcome,
  type ProjectedPayment,
  type SaleCapture,
  type SettlementMovement,
  type SumEntry,
  type Sums,
  toReasonName,
} from './reported-payment-types.ts';
import { localTimeAt } from './store-local-time.ts';

/** The time of the sale; for an offline sale, the time when the terminal approved it. */
function saleTimeMs({ row }: TransactionRecord, { offline }: AuthorizationContext): number {
  const at = Date.parse(offline?.authorizedAt ?? row.createdAt);
  return Number.isFinite(at) ? at : Date.parse(row.createdAt);
}

function toOutcome({ data }: StoredEvent): PaymentOutcome {
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
function toSums({ data }: StoredEvent): Sums {
  const { authorized = 0, captured = 0, refunded = 0, cancelled = 0, phase } = data.changes;
  const expired = phase === 'Expired' ? (data.amount ?? 0) : 0;
  return {
    ...(authorized === 0 ? {} : { authorized }),
    ...(captured > 0 ? { captured } : {}),
    ...(captured < 0 ? { reversed: -captured } : {}),
    ...(refunded === 0 ? {} : { refunded }),
    ...(cancelled + expired === 0 ? {} : { cancelled: cancelled + expired }),
  };
}

function toSumEntries(
  record: TransactionRecord,
  context: AuthorizationContext,
): Map<number, SumEntry> {
  const entries = new Map<number, SumEntry>();
  const outcome = saleOutcomeEvent(record);
  const saleTime = saleTimeMs(record, context);
  for (const event of record.events) {
    const sums = toSums(event);
    if (event !== outcome) {
      if (Object.keys(sums).length === 0) continue;
      entries.set(event.sequence, { ...localTimeAt(Date.parse(event.at), context.timeZone), sums });
      continue;
    }
    const responseMs = Date.parse(event.at) - Date.parse(record.row.createdAt);
    entries.set(event.sequence, {
      ...localTimeAt(saleTime, context.timeZone),
      outcome: toOutcome(event),
      // An offline upload, or an automatic reversal by the till, does not measure the response
      // time.
      ...(context.offline !== undefined || event.data.operation !== undefined
        ? {}
        : { latencyMs: Math.max(0, responseMs) }),
      sums,
    });
  }
  return entries;
}

/** The settlement day of a pending capture: the day of its file, or else the day of the request. */
function pendingSettlementDate({ at, data }: StoredEvent, context: AuthorizationContext): string {
  return data.settlementDate ?? settlementDayForContext(context, Date.parse(at)).date;
}

/** A finished capture reduces the pending amount of the day on which it was pending. */
function toPendingMovement(
  event: StoredEvent,
  { events }: TransactionRecord,
  context: AuthorizationContext,
): SettlementMovement | undefined {
  const { changes, operation } = event.data;
  const { captureReserved = 0 } = changes;
  if (captureReserved === 0) return undefined;
  const captureRequest = events.find(
    ({ data }) =>
      data.operation?.operationId === operation?.operationId &&
      (data.changes.captureReserved ?? 0) > 0,
  );
  const count = captureReserved > 0 ? 1 : -1;
  const date = pendingSettlementDate(captureRequest ?? event, context);
  return { date, kind: 'Pending', count, amount: captureReserved };
}

/** The references by which the acquirer knows an event: those of its operation, or of the sale. */
function toReferences(
  event: StoredEvent,
  { operations }: TransactionRecord,
  context: AuthorizationContext,
): MovementReferences {
  const number = event.data.operation?.number ?? 0;
  const operation = operations.find((each) => each.operationNumber === number);
  const { terminalId, stan, rrn } = operation?.details.reference ?? context.reference;
  return {
    number,
    merchantNumber: context.acquirerMerchantId,
    terminal: terminalId,
    trace: stan,
    retrievalReference: rrn,
  };
}

type SettlementMovements = {
  readonly movements: Map<number, SettlementMovement[]>;
  readonly saleCapture: SaleCapture | undefined;
};

function toSettlementMovements(
  record: TransactionRecord,
  context: AuthorizationContext,
): SettlementMovements {
  const movementsBySequence = new Map<number, SettlementMovement[]>();
  let saleCapture: SaleCapture | undefined;
  for (const event of record.events) {
    const { captured = 0, refunded = 0 } = event.data.changes;
    const movements: SettlementMovement[] = [];
    const addMovement = (
      kind: SettlementMovement['kind'],
      amount: number,
      knownDate: string | undefined,
    ) => {
      const date = knownDate ?? settlementDayForContext(context, Date.parse(event.at)).date;
      const references = toReferences(event, record, context);
      const isSaleCapture =
        kind === 'Capture' && references.number === 0 && saleCapture === undefined;
      if (isSaleCapture) saleCapture = { ...references, date, amount };
      movements.push(
        defined({
          date,
          kind,
          count: 1,
          amount,
          references: isSaleCapture ? undefined : references,
        }),
      );
    };
    if (captured > 0) addMovement('Capture', captured, event.data.settlementDate);
    if (captured < 0) addMovement('Reversal', -captured, undefined);
    if (refunded > 0) addMovement('Refund', refunded, undefined);
    const pending = toPendingMovement(event, record, context);
    if (pending !== undefined) movements.push(pending);
    if (movements.length > 0) movementsBySequence.set(event.sequence, movements);
  }
  return { movements: movementsBySequence, saleCapture };
}

const readText = (object: unknown, name: string): string | undefined => {
  const value =
    typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined;
  return typeof value === 'string' ? value : undefined;
};

function toPaymentLine(
  record: TransactionRecord,
  context: AuthorizationContext,
  saleCapture: SaleCapture | undefined,
): PaymentLine {
  const { row } = record;
  const { position } = row;
  const response = saleResponse(record);
  const { card, offline, entryMode } = context;
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
      reason: toReasonName(response?.reason),
    },
    merchantId: row.merchantId,
    storeId: row.storeId,
    deviceId: row.deviceId,
    linkId: context.linkId,
    amount: row.amount,
    authorized: position.authorized,
    captured: position.captured,
    cancelled: position.cancelled,
    refunded: position.refunded,
    clientTransactionId: row.clientTransactionId,
    orderId: readText(context.request['order'], 'orderId')?.toLowerCase(),
    retrievalReference: context.reference.rrn,
    authorizationCode: saleOutcome(record)?.authorizationCode ?? offline?.authorizationCode,
    maskedNumber: card.maskedNumber,
    cardToken: isUuid(card.token) ? card.token : undefined,
    responseCode: response?.code,
    isOffline: offline !== undefined,
    day: localTimeAt(saleTimeMs(record, context), context.timeZone).day,
    updatedAt: row.updatedAt,
    version: row.version,
    saleCapture,
  };
}

/** @example const { line, entries } = projectCardPayment(record); */
export function projectCardPayment(record: TransactionRecord): ProjectedPayment {
  const context = authorizationContext(record);
  const { movements, saleCapture } = toSettlementMovements(record, context);
  return {
    line: toPaymentLine(record, context, saleCapture),
    entries: toSumEntries(record, context),
    movements,
  };
}
