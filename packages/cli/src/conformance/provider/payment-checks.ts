/** Checks of payments: creation, repetition and decline. */
import { randomUUID } from 'node:crypto';
import {
  displayFault,
  providerAnswerMaxBytes,
  providerPaths,
  QrPaymentAnswer,
} from '@switchyard/contract';
import { expectConformity } from '../nonconformity-error.ts';
import { amountOf, expectStatus, type ProviderCheck, waitForFinalStatus } from './check-steps.ts';
import { expectShape } from './provider-test-client.ts';

const concurrentRequests = 10;

export const paymentChecks: readonly ProviderCheck[] = [
  {
    group: 'payments',
    fault: 'wrong-shape',
    name: 'a payment is answered with its identifier and its status',
    run: async (client) => void (await client.createPayment(client.payment())),
  },
  {
    group: 'payments',
    fault: 'too-slow',
    name: 'the response comes in time',
    async run(client) {
      const { ms } = await client.post(providerPaths.payments, client.payment());
      const { answerMs } = client.testData;
      expectConformity(ms <= answerMs, `it came after ${ms} ms; the platform waits ${answerMs} ms`);
    },
  },
  {
    group: 'payments',
    fault: 'too-large',
    name: 'the response is not larger than the platform reads',
    async run(client) {
      const { bytes } = await client.post(providerPaths.payments, client.payment());
      const maxBytes = providerAnswerMaxBytes;
      expectConformity(
        bytes <= maxBytes,
        `it has ${bytes} bytes, but the platform reads ${maxBytes}`,
      );
    },
  },
  {
    group: 'payments',
    fault: 'other-amount',
    name: 'the amount of the response is the requested amount',
    async run(client) {
      const payment = client.payment();
      const { amount } = await client.createPayment(payment);
      if (amount === undefined) return;
      const response = `${amount.amount} ${amount.currency}`;
      const request = `${payment.amount.amount} ${payment.amount.currency}`;
      expectConformity(
        response === request,
        `the response has the amount ${response}, but the request has ${request}`,
      );
    },
  },
  {
    group: 'payments',
    fault: 'bad-display',
    name: 'the code for the consumer exists and can be displayed',
    async run(client) {
      const { display, status } = await client.createPayment(client.payment());
      if (display === undefined) {
        expectConformity(
          status !== 'Pending',
          'there is no code to scan; without one the status must be Created',
        );
        return;
      }
      const fault = displayFault(display);
      expectConformity(fault === undefined, `the ${display.type} ${fault ?? ''}`);
    },
  },
  {
    group: 'payments',
    fault: 'late-expiry',
    name: 'the payment expires at the requested time or before',
    async run(client) {
      const payment = client.payment();
      const { expiresAt } = await client.createPayment(payment);
      if (expiresAt === undefined) return;
      const isInTime = Date.parse(expiresAt) <= Date.parse(payment.expiresAt);
      expectConformity(
        isInTime,
        `it expires at ${expiresAt}, but the request has ${payment.expiresAt}`,
      );
    },
  },
  {
    group: 'payments',
    fault: 'changes-its-id',
    name: 'the status has the same providerTransactionId',
    async run(client) {
      const payment = client.payment();
      const created = await client.createPayment(payment);
      const { providerTransactionId } = await client.status(payment);
      const isSame = providerTransactionId === created.providerTransactionId;
      expectConformity(isSame, `${created.providerTransactionId} became ${providerTransactionId}`);
    },
  },
  {
    group: 'payments',
    fault: 'repeat-makes-two',
    name: 'a repeated payment, also ten times concurrently, is one payment',
    async run(client) {
      const payment = client.payment();
      const first = await client.createPayment(payment);
      const repeated = await client.createPayment(payment);
      const isSameId = repeated.providerTransactionId === first.providerTransactionId;
      expectConformity(isSameId, 'the repeated request created another payment');
      const other = client.payment();
      const response = await Promise.all(
        Array.from({ length: concurrentRequests }, () => client.createPayment(other)),
      );
      const ids = new Set(response.map(({ providerTransactionId }) => providerTransactionId));
      expectConformity(ids.size === 1, `ten concurrent requests created ${ids.size} payments`);
    },
  },
  {
    group: 'payments',
    fault: 'accepts-other-content',
    name: 'another amount with the same platformTransactionId is refused',
    async run(client) {
      const payment = client.payment();
      await client.createPayment(payment);
      const other = { ...payment, ...amountOf(client, payment.amount.amount + 1) };
      expectStatus(await client.post(providerPaths.payments, other), [409], 'it');
    },
  },
  {
    group: 'payments',
    fault: 'knows-everything',
    name: 'an unknown payment answers 404',
    async run(client) {
      const response = await client.get(providerPaths.payment(randomUUID()));
      expectStatus(response, [404], 'it');
      const { code } = response.value;
      expectConformity(
        code === 'payment_not_found',
        `its code is ${String(code)}, not payment_not_found`,
      );
    },
  },
  {
    group: 'payments',
    fault: 'approves-declined',
    requires: 'declinedAmount',
    name: 'the amount of --declined-amount is declined',
    async run(client) {
      const payment = client.payment(amountOf(client, client.testData.declinedAmount ?? 0));
      await client.createPayment(payment);
      const { status } = await waitForFinalStatus(client, payment);
      expectConformity(status === 'Declined', `it ends ${status}`);
    },
  },
  {
    group: 'payments',
    fault: 'tells-scanned-code',
    requires: 'scanned',
    name: 'a scanned code is accepted and appears in no response or event (--scanned)',
    async run(client) {
      const { scanned: scannedPaymentId = '' } = client.testData;
      const payment = client.payment({ paymentScenario: 'merchantscan', scannedPaymentId });
      const response = await client.post(providerPaths.payments, payment);
      expectShape(response, QrPaymentAnswer, 'the payment');
      const status = await client.get(providerPaths.payment(payment.platformTransactionId));
      const events = client.receiver.eventsOf(payment.platformTransactionId);
      for (const { body } of [response, status, ...events]) {
        expectConformity(
          !body.includes(scannedPaymentId),
          'the scanned code appears in a response or event',
        );
      }
    },
  },
];
