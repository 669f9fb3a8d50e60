/** One check of the provider SPI, and the payments that several checks use. */

import { setTimeout as delay } from 'node:timers/promises';
import type { CreateQrPayment, ProviderPaymentStatus, QrPaymentAnswer } from '@switchyard/contract';
import { expectConformity } from '../nonconformity-error.ts';
import {
  describeResponse,
  type ProviderTestClient,
  type TestResponse,
} from './provider-test-client.ts';

/** The option without which the check is skipped. */
export type RequiredOption = 'paidAmount' | 'declinedAmount' | 'scanned';

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
  readonly requires?: RequiredOption;
  run(client: ProviderTestClient): Promise<void>;
};

const pollIntervalMs = 200;
const finalStatuses: ReadonlySet<ProviderPaymentStatus> = new Set([
  ...(['Completed', 'Declined', 'Cancelled', 'Expired', 'Failed'] as const),
  ...(['PartiallyRefunded', 'Refunded'] as const),
]);

export function expectStatus(
  response: TestResponse,
  statuses: readonly number[],
  subject: string,
): void {
  const { status } = response;
  expectConformity(
    statuses.includes(status),
    `${subject} is answered ${describeResponse(response)}, not ${statuses.join(' or ')}`,
  );
}

export const amountOf = (client: ProviderTestClient, amount: number) => ({
  amount: { amount, currency: client.testData.currency },
});

/** Creates a payment that stays pending until the consumer pays. */
export async function createPendingPayment(client: ProviderTestClient) {
  const payment = client.payment(amountOf(client, client.testData.pendingAmount));
  const answer = await client.createPayment(payment);
  const isOpen = ['Created', 'Pending', 'Scanned'].includes(answer.status);
  expectConformity(
    isOpen,
    `a payment begins as ${answer.status}: name an amount that stays pending with --pending-amount`,
  );
  return { payment, answer };
}

/** Polls the status until it is final. */
export async function waitForFinalStatus(
  client: ProviderTestClient,
  payment: CreateQrPayment,
): Promise<QrPaymentAnswer> {
  const until = client.clock.now() + client.testData.waitMs;
  for (;;) {
    const answer = await client.status(payment);
    if (finalStatuses.has(answer.status)) return answer;
    const seconds = client.testData.waitMs / 1000;
    expectConformity(
      client.clock.now() < until,
      `the payment is ${answer.status} after ${seconds} s`,
    );
    await delay(pollIntervalMs);
  }
}

/** Creates a payment that the test server reports as paid without a consumer. */
export async function createPaidPayment(client: ProviderTestClient, failFirst = false) {
  const { paidAmount = client.testData.amount } = client.testData;
  const payment = client.payment(amountOf(client, paidAmount));
  if (failFirst) client.receiver.failFirst(payment.platformTransactionId);
  await client.createPayment(payment);
  const answer = await waitForFinalStatus(client, payment);
  expectConformity(
    answer.status === 'Completed',
    `the payment of --paid-amount ends ${answer.status}`,
  );
  return { payment, answer, paidAmount };
}
