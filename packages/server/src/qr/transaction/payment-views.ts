// Converts a payment, its operations and its events to the types of the contract.
import {
  defined,
  type QrEvent,
  type QrOperation,
  type QrTransaction,
  type QrTransactionWithEvents,
} from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { LoadedPayment, StoredEvent, StoredOperation } from './records.ts';
import { isLive, type PaymentStatus, refundableAmount } from './state-machine.ts';
import { unansweredSum } from './unanswered-refunds.ts';

const lastValue = <Name extends keyof StoredEvent['data']>(
  events: readonly StoredEvent[],
  name: Name,
): StoredEvent['data'][Name] | undefined =>
  events.findLast(({ data }) => data[name] !== undefined)?.data[name];

/** Leaves out a failure without a code, because clients read the code. */
function failureOf(failure: StoredEvent['data']['failure']) {
  if (failure?.code === undefined) return {};
  const { code, text } = failure;
  return { failure: { code, ...defined({ text }) } };
}

export function viewOperation(operation: StoredOperation, currency: string): QrOperation {
  const { operationId, number, kind, status, amount, details, clientOperationId } = operation;
  return {
    operationId,
    number,
    kind,
    status,
    amount,
    currency,
    cause: details.cause,
    ...defined({ clientOperationId }),
    ...failureOf(details.failure),
    createdAt: operation.createdAt,
    updatedAt: operation.updatedAt,
  };
}

function holdView({ row, operations }: LoadedPayment, events: readonly StoredEvent[]) {
  const { hold, paid, currency } = row.position;
  if (hold === null) return {};
  const data = events.findLast(({ type }) => type === 'qr.held')?.data;
  if (hold === 'RefundDeclined')
    return { hold: { reason: hold, amount: refundableAmount(row.position), currency } };
  if (hold === 'RefundUnanswered')
    return { hold: { reason: hold, amount: unansweredSum({ operations }), currency } };
  return {
    hold: { reason: hold, amount: data?.amount ?? paid, currency: data?.currency ?? currency },
  };
}

const firstAnswer = (events: readonly StoredEvent[]): StoredEvent | undefined =>
  events.find(({ data }) => data.answered === true);

/** Whether the first caller has an answer; false during the provider call and after a crash. */
export const isAnswered = (events: readonly StoredEvent[]): boolean =>
  firstAnswer(events) !== undefined;

/** The status in the first answer; Created while the server still waits for the provider. */
function answeredStatusOf(
  row: LoadedPayment['row'],
  events: readonly StoredEvent[],
): PaymentStatus {
  return firstAnswer(events)?.data.status ?? (row.version === 1 ? row.status : 'Created');
}

/** @param events those with a display, a failure, a payer, a hold or the first answer */
export function viewPayment(loaded: LoadedPayment, events: readonly StoredEvent[]): QrTransaction {
  const { row, operations } = loaded;
  const { amount, currency, paid, refunded, settled } = row.position;
  // A held payment was paid already, so the consumer must not see its code again.
  const isPayable = isLive(row.position) && row.position.hold === null;
  const display = isPayable ? lastValue(events, 'display') : undefined;
  const payer = lastValue(events, 'payer');
  return {
    transactionId: row.transactionId,
    clientTransactionId: row.clientTransactionId,
    status: row.status,
    answeredStatus: answeredStatusOf(row, events),
    merchantId: row.merchantId,
    storeId: row.storeId,
    deviceId: row.deviceId,
    serviceId: row.serviceId,
    paymentType: row.facts.paymentType,
    paymentScenario: row.facts.paymentScenario,
    effectiveScenario: row.facts.scenario,
    paymentAmount: { amount, currency },
    paidAmount: paid,
    refundedAmount: refunded,
    ...(settled === 0 ? {} : { settledAmount: settled }),
    ...defined({ display }),
    expiresAt: isoTime(row.expiresAt),
    ...defined({ order: row.facts.order, providerTransactionId: row.providerTransactionId, payer }),
    ...failureOf(lastValue(events, 'failure')),
    ...holdView(loaded, events),
    operations: operations.map((each) => viewOperation(each, currency)),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** An event for its terminal, without the internal changes. */
export function viewEvent({ sequence, type, at, data }: StoredEvent): QrEvent {
  const { display, expiresAt, payer, amount, currency, reason, actor, note } = data;
  const { operation, provider } = data;
  return {
    sequence,
    type,
    at,
    status: data.status,
    ...defined({ display, expiresAt, payer }),
    ...failureOf(data.failure),
    ...defined({
      amount,
      currency,
      reason,
      actor,
      note,
      operation,
      provider:
        provider === undefined
          ? undefined
          : {
              eventId: provider.eventId,
              type: provider.type,
              sequence: provider.sequence,
              occurredAt: provider.occurredAt,
            },
    }),
  };
}

export function viewWithEvents(
  loaded: LoadedPayment,
  events: readonly StoredEvent[],
): QrTransactionWithEvents {
  return { ...viewPayment(loaded, events), events: events.map(viewEvent) };
}
