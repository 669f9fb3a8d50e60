/** Payments: how they begin, that they are one, and how they are declined. */
import { randomUUID } from 'node:crypto';
import {
  displayFault,
  providerAnswerMaxBytes,
  providerPaths,
  QrPaymentAnswer,
} from '@switchyard/contract';
import { demand } from '../acquirer/acquirer-test-client.ts';
import { ended, money, type ProviderCheck, refused } from './provider-check.ts';
import { shaped } from './provider-test-client.ts';

const atOnce = 10;

export const paymentChecks: readonly ProviderCheck[] = [
  {
    group: 'payments',
    fault: 'wrong-shape',
    name: 'a payment is answered with its identifier and its status',
    run: async (bench) => void (await bench.begin(bench.payment())),
  },
  {
    group: 'payments',
    fault: 'too-slow',
    name: 'the answer comes in time',
    async run(bench) {
      const { ms } = await bench.post(providerPaths.payments, bench.payment());
      const { answerMs } = bench.terms;
      demand(ms <= answerMs, `it came after ${ms} ms; after ${answerMs} ms nobody waits for it`);
    },
  },
  {
    group: 'payments',
    fault: 'too-large',
    name: 'the answer is no larger than is read',
    async run(bench) {
      const { bytes } = await bench.post(providerPaths.payments, bench.payment());
      const most = providerAnswerMaxBytes;
      demand(bytes <= most, `it has ${bytes} bytes, and ${most} are read`);
    },
  },
  {
    group: 'payments',
    fault: 'other-amount',
    name: 'the amount that is told is the one that was asked for',
    async run(bench) {
      const payment = bench.payment();
      const { amount } = await bench.begin(payment);
      if (amount === undefined) return;
      const told = `${amount.amount} ${amount.currency}`;
      const asked = `${payment.amount.amount} ${payment.amount.currency}`;
      demand(told === asked, `it tells ${told}, and was asked for ${asked}`);
    },
  },
  {
    group: 'payments',
    fault: 'bad-display',
    name: 'what the consumer scans is there, and may be shown',
    async run(bench) {
      const { display, status } = await bench.begin(bench.payment());
      if (display === undefined) {
        demand(status !== 'Pending', 'there is nothing to scan; a later picture begins as Created');
        return;
      }
      const fault = displayFault(display);
      demand(fault === undefined, `the ${display.type} ${fault ?? ''}`);
    },
  },
  {
    group: 'payments',
    fault: 'late-expiry',
    name: 'it expires when it was asked to, or before',
    async run(bench) {
      const payment = bench.payment();
      const { expiresAt } = await bench.begin(payment);
      if (expiresAt === undefined) return;
      const isInTime = Date.parse(expiresAt) <= Date.parse(payment.expiresAt);
      demand(isInTime, `it expires at ${expiresAt}, and was asked to at ${payment.expiresAt}`);
    },
  },
  {
    group: 'payments',
    fault: 'changes-its-id',
    name: 'its status names the same payment',
    async run(bench) {
      const payment = bench.payment();
      const begun = await bench.begin(payment);
      const { providerTransactionId } = await bench.status(payment);
      const isSame = providerTransactionId === begun.providerTransactionId;
      demand(isSame, `${begun.providerTransactionId} became ${providerTransactionId}`);
    },
  },
  {
    group: 'payments',
    fault: 'repeat-makes-two',
    name: 'the same payment again, and ten times at once, is one payment',
    async run(bench) {
      const payment = bench.payment();
      const first = await bench.begin(payment);
      const again = await bench.begin(payment);
      const sameId = again.providerTransactionId === first.providerTransactionId;
      demand(sameId, 'the second time it is another payment');
      const other = bench.payment();
      const told = await Promise.all(Array.from({ length: atOnce }, () => bench.begin(other)));
      const ids = new Set(told.map(({ providerTransactionId }) => providerTransactionId));
      demand(ids.size === 1, `ten at once are ${ids.size} payments`);
    },
  },
  {
    group: 'payments',
    fault: 'accepts-other-content',
    name: 'another amount under the same identifier is refused',
    async run(bench) {
      const payment = bench.payment();
      await bench.begin(payment);
      const other = { ...payment, ...money(bench, payment.amount.amount + 1) };
      refused(await bench.post(providerPaths.payments, other), [409], 'it');
    },
  },
  {
    group: 'payments',
    fault: 'knows-everything',
    name: 'a payment that never came is not known',
    async run(bench) {
      const told = await bench.get(providerPaths.payment(randomUUID()));
      refused(told, [404], 'it');
      const { code } = told.value;
      demand(code === 'payment_not_found', `its code is ${String(code)}, not payment_not_found`);
    },
  },
  {
    group: 'payments',
    fault: 'approves-declined',
    needs: 'declinedAmount',
    name: 'an amount that is declined is declined (--declined-amount)',
    async run(bench) {
      const payment = bench.payment(money(bench, bench.terms.declinedAmount ?? 0));
      await bench.begin(payment);
      const { status } = await ended(bench, payment);
      demand(status === 'Declined', `it ends ${status}`);
    },
  },
  {
    group: 'payments',
    fault: 'tells-scanned-code',
    needs: 'scanned',
    name: 'what the merchant scanned is taken, and told to nobody (--scanned)',
    async run(bench) {
      const { scanned: scannedPaymentId = '' } = bench.terms;
      const payment = bench.payment({ paymentScenario: 'merchantscan', scannedPaymentId });
      const told = await bench.post(providerPaths.payments, payment);
      shaped(told, QrPaymentAnswer, 'the payment');
      const status = await bench.get(providerPaths.payment(payment.platformTransactionId));
      const events = bench.listener.of(payment.platformTransactionId);
      for (const { body } of [told, status, ...events]) {
        demand(!body.includes(scannedPaymentId), 'what was scanned stands in an answer or event');
      }
    },
  },
];
