// Runs the planned steps of payments and sends their events; state and event are one line of the journal.
import { randomUUID } from 'node:crypto';
import { defined } from '@switchyard/contract';
import type {
  EventQueue,
  ProviderEvent,
  ProviderPaymentStatus,
  QrDisplay,
} from '@switchyard/sdk-provider';
import type { Clock } from '../clock.ts';
import type { IsBroken } from './fault-modes.ts';
import { renderDisplay } from './merchant-qr-code.ts';
import type { PaymentJournal } from './payment-journal.ts';
import {
  amountOf,
  isOpen,
  type Payment,
  type PaymentStep,
  type Refund,
  refundTotals,
} from './payment-record.ts';
import { refundFailure, scriptForAmount } from './test-amounts.ts';

/** Runs the steps of payments. */
export type PaymentStepRunner = {
  /** Schedules the next step of a new payment, or of one that continues after a restart. */
  scheduleNextStep(payment: Payment): void;
  /** Runs a step now. */
  runStep(payment: Payment, step: PaymentStep): Promise<void>;
  /** Resolves when the platform has all events of this payment, or after a time limit. */
  waitUntilSent(payment: Payment): Promise<void>;
  /** Sets the status of a paid payment from its refunds. */
  settleRefunds(payment: Payment): void;
  stop(): Promise<void>;
};

type Deps = {
  readonly journal: PaymentJournal;
  readonly queue: Pick<EventQueue, 'add'>;
  readonly clock: Clock;
  readonly display: QrDisplay['type'];
  readonly isBroken: IsBroken;
  onFault(error: unknown): void;
  /** Registers the payment of an event before it is sent. */
  registerEvent(payment: Payment, event: ProviderEvent): void;
};

const longestTimerMs = 2 ** 31 - 1;
const sentPollMs = 5;
const sentLimitMs = 2_000;

/** @example const stepRunner = createPaymentStepRunner(deps); stepRunner.scheduleNextStep(payment); */
export function createPaymentStepRunner(deps: Deps): PaymentStepRunner {
  const { journal, queue, clock, isBroken } = deps;
  const timers = new Map<Payment, NodeJS.Timeout>();
  const running = new Set<Promise<void>>();
  let isStopped = false;

  function scheduleNextStep(payment: Payment): void {
    clearTimeout(timers.get(payment));
    timers.delete(payment);
    const [next] = payment.steps.toSorted((one, other) => one.at - other.at);
    if (next === undefined || isStopped) return;
    const waitMs = Math.min(Math.max(next.at - clock.now(), 1), longestTimerMs);
    timers.set(
      payment,
      setTimeout(() => {
        timers.delete(payment);
        const work = runDueStep(payment, next)
          .catch(deps.onFault)
          .finally(() => running.delete(work));
        running.add(work);
      }, waitMs),
    );
  }

  async function runDueStep(payment: Payment, step: PaymentStep): Promise<void> {
    if (step.at <= clock.now()) {
      payment.steps = payment.steps.filter((each) => each !== step);
      await runStep(payment, step);
    }
    scheduleNextStep(payment);
  }

  /** A finished payment does not change, unless its script requires it. */
  function isRefused(payment: Payment, step: PaymentStep): boolean {
    return !isOpen(payment) && step.isForced !== true && step.isLie !== true;
  }

  async function runStep(payment: Payment, step: PaymentStep): Promise<void> {
    const script = scriptForAmount(payment.amount);
    if (step.refundId !== undefined) return endRefund(payment, step.refundId, step.to);
    if (isRefused(payment, step)) return journal.write(payment);
    const approves = isBroken('approves-declined') && step.to === 'Declined';
    const to = approves ? 'Completed' : step.to;
    if (step.isLie !== true) payment.status = to;
    if (script.failure !== undefined && (to === 'Declined' || to === 'Failed')) {
      payment.failure = script.failure;
    }
    if (!isOpen(payment)) payment.steps = payment.steps.filter((each) => !isRefused(payment, each));
    await recordAndSend(payment, await paymentEvent(payment, to));
  }

  async function paymentEvent(payment: Payment, to: ProviderPaymentStatus): Promise<ProviderEvent> {
    const { status, code, payer, failure } = payment;
    const shows = to === 'Pending' && code !== undefined;
    const display = scriptForAmount(payment.amount).display ?? deps.display;
    return {
      ...eventHead(payment),
      type: `payment.${to.toLowerCase()}`,
      status: to,
      amount: eventAmount(payment),
      ...defined({ payer }),
      ...(failure === undefined || status !== to ? {} : { failure }),
      ...(shows ? { display: await renderDisplay(code, display) } : {}),
    };
  }

  const eventHead = (payment: Payment) => ({
    eventId: randomUUID(),
    sequence: nextSequence(payment),
    occurredAt: new Date(clock.now()).toISOString(),
    providerTransactionId: payment.providerTransactionId,
  });

  function nextSequence(payment: Payment): number {
    payment.sequence += 1;
    return isBroken('event-out-of-sequence') ? 1 : payment.sequence;
  }

  function eventAmount(payment: Payment) {
    const amount = amountOf(payment);
    const isOther =
      isBroken('event-other-amount') ||
      scriptForAmount(payment.amount).eventDelivery === 'other-amount';
    return isOther ? { ...amount, amount: amount.amount - 1 } : amount;
  }

  /** Writes the change and its event as one line of the journal, then sends the event. */
  async function recordAndSend(payment: Payment, event: ProviderEvent): Promise<void> {
    const { eventDelivery: telling } = scriptForAmount(payment.amount);
    let events = [event];
    if (telling === 'not-at-all' || isBroken('sends-no-events')) events = [];
    else if (telling === 'in-wrong-order') {
      if (isOpen(payment)) {
        payment.heldBack = event;
        events = [];
      } else if (payment.heldBack !== undefined) {
        events.push(payment.heldBack);
        delete payment.heldBack;
      }
    }
    payment.unsent.push(...events);
    journal.write(payment);
    for (const one of events) {
      deps.registerEvent(payment, one);
      await queue.add(payment.eventsUrl, one);
    }
  }

  function settleRefunds(payment: Payment): void {
    const { done } = refundTotals(payment);
    if (done === 0) payment.status = 'Completed';
    else payment.status = done >= payment.amount ? 'Refunded' : 'PartiallyRefunded';
  }

  async function endRefund(
    payment: Payment,
    refundId: string,
    to: ProviderPaymentStatus,
  ): Promise<void> {
    const refund = payment.refunds.find((each) => each.refundId === refundId);
    if (refund?.status !== 'Pending') return journal.write(payment);
    refund.status = to === 'Completed' ? 'Completed' : 'Declined';
    if (refund.status === 'Declined') refund.failure = refundFailure;
    settleRefunds(payment);
    await recordAndSend(payment, refundEvent(payment, refund));
  }

  function refundEvent(payment: Payment, refund: Refund): ProviderEvent {
    const { refundId, providerRefundId, amount, failure } = refund;
    const isDone = refund.status === 'Completed';
    return {
      ...eventHead(payment),
      type: isDone ? 'refund.completed' : 'refund.declined',
      status: isDone ? 'Completed' : 'Declined',
      amount: { amount, currency: payment.currency },
      refundId,
      providerRefundId,
      ...defined({ failure }),
    };
  }

  async function waitUntilSent(payment: Payment): Promise<void> {
    const until = clock.now() + sentLimitMs;
    while (payment.unsent.length > 0 && clock.now() < until && !isStopped) {
      await new Promise((resolve) => setTimeout(resolve, sentPollMs));
    }
  }

  return {
    scheduleNextStep,
    runStep,
    waitUntilSent,
    settleRefunds,
    async stop() {
      isStopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      await Promise.all(running);
    },
  };
}
