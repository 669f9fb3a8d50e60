/** One thing that the provider SPI asks for, with the word for what is wrong where it is not so. */

import { setTimeout as delay } from 'node:timers/promises';
import type { CreateQrPayment, ProviderPaymentStatus, QrPaymentAnswer } from '@switchyard/contract';
import { demand } from '../acquirer/acquirer-test-client.ts';
import { heard, type ProviderBench, type Told } from './provider-test-client.ts';

/** What a run has to be told so that the check can be done. */
export type Need = 'paidAmount' | 'declinedAmount' | 'scanned';

export type ProviderCheck = {
  readonly group:
    | 'signatures'
    | 'messages'
    | 'payments'
    | 'cancels'
    | 'refunds'
    | 'events'
    | 'service';
  readonly name: string;
  readonly fault: string;
  readonly needs?: Need;
  run(bench: ProviderBench): Promise<void>;
};

const askEveryMs = 200;
const over: ReadonlySet<ProviderPaymentStatus> = new Set([
  ...(['Completed', 'Declined', 'Cancelled', 'Expired', 'Failed'] as const),
  ...(['PartiallyRefunded', 'Refunded'] as const),
]);

export function refused(told: Told, statuses: readonly number[], what: string): void {
  const { status } = told;
  demand(
    statuses.includes(status),
    `${what} is answered ${heard(told)}, not ${statuses.join(' or ')}`,
  );
}

export const money = (bench: ProviderBench, amount: number) => ({
  amount: { amount, currency: bench.terms.currency },
});

/** A payment that waits for the consumer, as long as nobody pays it. */
export async function pending(bench: ProviderBench) {
  const payment = bench.payment(money(bench, bench.terms.pendingAmount));
  const answer = await bench.begin(payment);
  const isOpen = ['Created', 'Pending', 'Scanned'].includes(answer.status);
  demand(
    isOpen,
    `a payment begins as ${answer.status}: name an amount that waits, with --pending-amount`,
  );
  return { payment, answer };
}

/** Asks until the payment is over. */
export async function ended(
  bench: ProviderBench,
  payment: CreateQrPayment,
): Promise<QrPaymentAnswer> {
  const until = bench.clock.now() + bench.terms.waitMs;
  for (;;) {
    const answer = await bench.status(payment);
    if (over.has(answer.status)) return answer;
    const seconds = bench.terms.waitMs / 1000;
    demand(bench.clock.now() < until, `the payment is ${answer.status} after ${seconds} s`);
    await delay(askEveryMs);
  }
}

/** A payment that was paid without anybody’s doing. */
export async function paid(bench: ProviderBench, failFirst = false) {
  const { paidAmount = bench.terms.amount } = bench.terms;
  const payment = bench.payment(money(bench, paidAmount));
  if (failFirst) bench.listener.failFirst(payment.platformTransactionId);
  await bench.begin(payment);
  const answer = await ended(bench, payment);
  demand(answer.status === 'Completed', `the payment of --paid-amount ends ${answer.status}`);
  return { payment, answer, paidAmount };
}
