/** Cancels and refunds: taken once, and never for more than was paid. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CreateQrPayment,
  providerPaths,
  type RefundAnswer,
  RefundAnswer as RefundShape,
} from '@switchyard/contract';
import { demand } from '../acquirer/acquirer-test-client.ts';
import { type ProviderCheck, paid, pending, refused } from './provider-check.ts';
import { heard, type ProviderBench, shaped } from './provider-test-client.ts';

const askEveryMs = 200;
const refusals = [400, 409, 422];

/** Refused, or declined: either way no money moves. */
async function demandNoRefund(
  bench: ProviderBench,
  payment: CreateQrPayment,
  asked: object,
  what: string,
): Promise<void> {
  const told = await bench.post(providerPaths.refunds(payment.platformTransactionId), asked);
  const { status } = told.value;
  const isDeclined = told.status === 200 && status === 'Declined';
  demand(
    isDeclined || refusals.includes(told.status),
    `${what} is answered ${heard(told)} ${String(status)}`,
  );
}

/** A refund to its end. */
async function refunded(
  bench: ProviderBench,
  payment: CreateQrPayment,
  amount: number,
  refundId: string = randomUUID(),
): Promise<RefundAnswer> {
  const until = bench.clock.now() + bench.terms.waitMs;
  let answer = await bench.refund(payment, amount, refundId);
  while (answer.status === 'Pending') {
    demand(bench.clock.now() < until, `a refund is Pending after ${bench.terms.waitMs / 1000} s`);
    await delay(askEveryMs);
    const path = providerPaths.refund(payment.platformTransactionId, refundId);
    const told = await bench.get(path);
    shaped(told, RefundShape, 'the refund');
    answer = told.value as RefundAnswer;
  }
  demand(answer.status === 'Completed', `a refund of ${amount} is ${answer.status}`);
  return answer;
}

export const cancelChecks: readonly ProviderCheck[] = [
  {
    group: 'cancels',
    fault: 'refuses-cancel',
    name: 'a payment that waits is cancelled, and again',
    async run(bench) {
      const { payment } = await pending(bench);
      for (const time of ['the first', 'the second']) {
        const { status } = await bench.cancel(payment);
        demand(status === 'Cancelled', `${time} cancel is answered ${status}`);
      }
      const { status } = await bench.status(payment);
      demand(status === 'Cancelled', `its status is ${status} afterwards`);
    },
  },
  {
    group: 'cancels',
    fault: 'pays-cancelled',
    name: 'what was cancelled is never paid',
    async run(bench) {
      const { payment } = await pending(bench);
      const { status: told } = await bench.cancel(payment, 'Expired');
      demand(told === 'Cancelled', `the cancel is answered ${told}`);
      const isPaid = () =>
        bench.listener
          .of(payment.platformTransactionId)
          .some(({ value }) => value['type'] === 'payment.completed');
      const came = await bench.listener.until(isPaid, bench.terms.settleMs);
      demand(!came, 'payment.completed came after the cancel was answered Cancelled');
      const { status } = await bench.status(payment);
      demand(status === 'Cancelled', `its status is ${status} afterwards`);
    },
  },
  {
    group: 'cancels',
    fault: 'forgets-cancel',
    name: 'a cancel of a payment that never came is taken and kept',
    async run(bench) {
      const payment = bench.payment();
      const { status: told } = await bench.cancel(payment, 'Unknown');
      demand(told === 'Cancelled', `the cancel is answered ${told}`);
      const { status } = await bench.begin(payment);
      demand(status === 'Cancelled', `the payment that comes after it is ${status}`);
    },
  },
  {
    group: 'cancels',
    fault: 'cancels-paid',
    needs: 'paidAmount',
    name: 'a cancel that comes too late says that it is paid (--paid-amount)',
    async run(bench) {
      const { payment } = await paid(bench);
      const { status } = await bench.cancel(payment);
      demand(status === 'Completed', `it says ${status}: nobody would give the money back`);
    },
  },
];

export const refundChecks: readonly ProviderCheck[] = [
  {
    group: 'refunds',
    fault: 'refuses-refund',
    needs: 'paidAmount',
    name: 'a part, and then the rest, of a paid payment is given back',
    async run(bench) {
      const { payment, paidAmount } = await paid(bench);
      const part = Math.floor(paidAmount / 2);
      await refunded(bench, payment, part);
      await refunded(bench, payment, paidAmount - part);
      const { status } = await bench.status(payment);
      demand(
        status !== 'Completed' || paidAmount === 0,
        'its status is still Completed afterwards',
      );
    },
  },
  {
    group: 'refunds',
    fault: 'refunds-twice',
    needs: 'paidAmount',
    name: 'the same refund again is one refund',
    async run(bench) {
      const { payment, paidAmount } = await paid(bench);
      const part = Math.floor(paidAmount / 2);
      const refundId = randomUUID();
      const first = await refunded(bench, payment, part, refundId);
      const again = await refunded(bench, payment, part, refundId);
      const isSame = first.providerRefundId === again.providerRefundId;
      demand(isSame, `${first.providerRefundId} became ${again.providerRefundId}`);
      const rest = bench.refundAsked(payment, paidAmount - part);
      const told = await bench.post(providerPaths.refunds(payment.platformTransactionId), rest);
      const isTaken = told.status <= 202 && told.value['status'] !== 'Declined';
      demand(isTaken, `the rest is then refused (${heard(told)}): the repeat was given back too`);
    },
  },
  {
    group: 'refunds',
    fault: 'accepts-other-refund',
    needs: 'paidAmount',
    name: 'another amount under the same refund is refused',
    async run(bench) {
      const { payment, paidAmount } = await paid(bench);
      const part = Math.floor(paidAmount / 2);
      const { refundId } = await refunded(bench, payment, part);
      const other = bench.refundAsked(payment, part - 1, refundId);
      const told = await bench.post(providerPaths.refunds(payment.platformTransactionId), other);
      refused(told, [409], 'it');
    },
  },
  {
    group: 'refunds',
    fault: 'refunds-too-much',
    needs: 'paidAmount',
    name: 'more than was paid is not given back, in one refund or in two',
    async run(bench) {
      const { payment, paidAmount } = await paid(bench);
      const much = bench.refundAsked(payment, paidAmount + 1);
      await demandNoRefund(bench, payment, much, 'a refund of more than was paid');
      await refunded(bench, payment, paidAmount - 1);
      const second = bench.refundAsked(payment, 2);
      await demandNoRefund(bench, payment, second, 'a second refund of more than is left');
    },
  },
  {
    group: 'refunds',
    fault: 'refunds-unpaid',
    name: 'what is not paid is not given back',
    async run(bench) {
      const { payment } = await pending(bench);
      const asked = bench.refundAsked(payment, payment.amount.amount);
      await demandNoRefund(bench, payment, asked, 'a refund of a payment that waits');
    },
  },
  {
    group: 'refunds',
    fault: 'knows-every-refund',
    needs: 'paidAmount',
    name: 'a refund that never came is not known',
    async run(bench) {
      const { payment } = await paid(bench);
      const told = await bench.get(
        providerPaths.refund(payment.platformTransactionId, randomUUID()),
      );
      refused(told, [404], 'it');
      const { code } = told.value;
      demand(code === 'refund_not_found', `its code is ${String(code)}, not refund_not_found`);
    },
  },
];
