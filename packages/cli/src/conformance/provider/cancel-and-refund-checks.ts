/** Checks of cancels and refunds: they work once, and never return more than was paid. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CreateQrPayment,
  providerPaths,
  type RefundAnswer,
  RefundAnswer as RefundShape,
} from '@switchyard/contract';
import { expectConformity } from '../nonconformity-error.ts';
import {
  createPaidPayment,
  createPendingPayment,
  expectStatus,
  type ProviderCheck,
} from './check-steps.ts';
import { describeResponse, expectShape, type ProviderTestClient } from './provider-test-client.ts';

const pollIntervalMs = 200;
const refusals = [400, 409, 422];

/** Expects an error response or a declined refund: no money moves in both cases. */
async function expectNoRefund(
  client: ProviderTestClient,
  payment: CreateQrPayment,
  request: object,
  subject: string,
): Promise<void> {
  const response = await client.post(providerPaths.refunds(payment.platformTransactionId), request);
  const { status } = response.value;
  const isDeclined = response.status === 200 && status === 'Declined';
  expectConformity(
    isDeclined || refusals.includes(response.status),
    `${subject} is answered ${describeResponse(response)} ${String(status)}`,
  );
}

/** Requests a refund and waits until it is completed. */
async function completeRefund(
  client: ProviderTestClient,
  payment: CreateQrPayment,
  amount: number,
  refundId: string = randomUUID(),
): Promise<RefundAnswer> {
  const deadline = client.clock.now() + client.testData.waitMs;
  let answer = await client.refund(payment, amount, refundId);
  while (answer.status === 'Pending') {
    expectConformity(
      client.clock.now() < deadline,
      `a refund is Pending after ${client.testData.waitMs / 1000} s`,
    );
    await delay(pollIntervalMs);
    const path = providerPaths.refund(payment.platformTransactionId, refundId);
    const response = await client.get(path);
    expectShape(response, RefundShape, 'the refund');
    answer = response.value as RefundAnswer;
  }
  expectConformity(answer.status === 'Completed', `a refund of ${amount} is ${answer.status}`);
  return answer;
}

export const cancelChecks: readonly ProviderCheck[] = [
  {
    group: 'cancels',
    fault: 'refuses-cancel',
    name: 'a pending payment is cancelled, also by a repeated cancel',
    async run(client) {
      const { payment } = await createPendingPayment(client);
      for (const time of ['the first', 'the second']) {
        const { status } = await client.cancel(payment);
        expectConformity(status === 'Cancelled', `${time} cancel is answered ${status}`);
      }
      const { status } = await client.status(payment);
      expectConformity(status === 'Cancelled', `its status is ${status} afterwards`);
    },
  },
  {
    group: 'cancels',
    fault: 'pays-cancelled',
    name: 'a cancelled payment is never paid',
    async run(client) {
      const { payment } = await createPendingPayment(client);
      const { status: response } = await client.cancel(payment, 'Expired');
      expectConformity(response === 'Cancelled', `the cancel is answered ${response}`);
      const isPaid = () =>
        client.receiver
          .eventsOf(payment.platformTransactionId)
          .some(({ value }) => value['type'] === 'payment.completed');
      const isPaymentCompleted = await client.receiver.waitUntil(isPaid, client.testData.settleMs);
      expectConformity(
        !isPaymentCompleted,
        'payment.completed came after the cancel was answered Cancelled',
      );
      const { status } = await client.status(payment);
      expectConformity(status === 'Cancelled', `its status is ${status} afterwards`);
    },
  },
  {
    group: 'cancels',
    fault: 'forgets-cancel',
    name: 'a cancel of an unknown payment is stored and cancels the payment when it comes',
    async run(client) {
      const payment = client.payment();
      const { status: response } = await client.cancel(payment, 'Unknown');
      expectConformity(response === 'Cancelled', `the cancel is answered ${response}`);
      const { status } = await client.createPayment(payment);
      expectConformity(status === 'Cancelled', `the payment that comes after it is ${status}`);
    },
  },
  {
    group: 'cancels',
    fault: 'cancels-paid',
    requires: 'paidAmount',
    name: 'a cancel of a paid payment answers Completed (--paid-amount)',
    async run(client) {
      const { payment } = await createPaidPayment(client);
      const { status } = await client.cancel(payment);
      expectConformity(
        status === 'Completed',
        `it says ${status}: the platform would not refund the payment`,
      );
    },
  },
];

export const refundChecks: readonly ProviderCheck[] = [
  {
    group: 'refunds',
    fault: 'refuses-refund',
    requires: 'paidAmount',
    name: 'a paid payment is refunded in two parts',
    async run(client) {
      const { payment, paidAmount } = await createPaidPayment(client);
      const part = Math.floor(paidAmount / 2);
      await completeRefund(client, payment, part);
      await completeRefund(client, payment, paidAmount - part);
      const { status } = await client.status(payment);
      expectConformity(
        status !== 'Completed' || paidAmount === 0,
        'its status is still Completed afterwards',
      );
    },
  },
  {
    group: 'refunds',
    fault: 'refunds-twice',
    requires: 'paidAmount',
    name: 'a repeated refund is one refund',
    async run(client) {
      const { payment, paidAmount } = await createPaidPayment(client);
      const part = Math.floor(paidAmount / 2);
      const refundId = randomUUID();
      const first = await completeRefund(client, payment, part, refundId);
      const again = await completeRefund(client, payment, part, refundId);
      const isSame = first.providerRefundId === again.providerRefundId;
      expectConformity(isSame, `${first.providerRefundId} became ${again.providerRefundId}`);
      const rest = client.createRefundRequest(payment, paidAmount - part);
      const response = await client.post(
        providerPaths.refunds(payment.platformTransactionId),
        rest,
      );
      const isAccepted = response.status <= 202 && response.value['status'] !== 'Declined';
      expectConformity(
        isAccepted,
        `the rest is then refused (${describeResponse(response)}): the repeated refund was paid too`,
      );
    },
  },
  {
    group: 'refunds',
    fault: 'accepts-other-refund',
    requires: 'paidAmount',
    name: 'another amount with the same refundId is refused',
    async run(client) {
      const { payment, paidAmount } = await createPaidPayment(client);
      const part = Math.floor(paidAmount / 2);
      const { refundId } = await completeRefund(client, payment, part);
      const other = client.createRefundRequest(payment, part - 1, refundId);
      const response = await client.post(
        providerPaths.refunds(payment.platformTransactionId),
        other,
      );
      expectStatus(response, [409], 'it');
    },
  },
  {
    group: 'refunds',
    fault: 'refunds-too-much',
    requires: 'paidAmount',
    name: 'refunds of more than the paid amount, or in another currency, are refused',
    async run(client) {
      const { payment, paidAmount } = await createPaidPayment(client);
      const small = client.createRefundRequest(payment, 1);
      const currency = payment.amount.currency === 'USD' ? 'EUR' : 'USD';
      const foreign = { ...small, amount: { amount: 1, currency } };
      await expectNoRefund(client, payment, foreign, 'a refund in another currency');
      const tooLarge = client.createRefundRequest(payment, paidAmount + 1);
      await expectNoRefund(client, payment, tooLarge, 'a refund of more than was paid');
      await completeRefund(client, payment, paidAmount - 1);
      const second = client.createRefundRequest(payment, 2);
      await expectNoRefund(
        client,
        payment,
        second,
        'a second refund of more than the remaining amount',
      );
    },
  },
  {
    group: 'refunds',
    fault: 'refunds-unpaid',
    name: 'a refund of an unpaid payment is refused',
    async run(client) {
      const { payment } = await createPendingPayment(client);
      const request = client.createRefundRequest(payment, payment.amount.amount);
      await expectNoRefund(client, payment, request, 'a refund of a pending payment');
    },
  },
  {
    group: 'refunds',
    fault: 'knows-every-refund',
    requires: 'paidAmount',
    name: 'an unknown refund answers 404',
    async run(client) {
      const { payment } = await createPaidPayment(client);
      const response = await client.get(
        providerPaths.refund(payment.platformTransactionId, randomUUID()),
      );
      expectStatus(response, [404], 'it');
      const { code } = response.value;
      expectConformity(
        code === 'refund_not_found',
        `its code is ${String(code)}, not refund_not_found`,
      );
    },
  },
];
