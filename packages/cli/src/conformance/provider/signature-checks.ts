/** Checks of signatures and of invalid messages. */
import { randomBytes, randomUUID } from 'node:crypto';
import { providerPaths } from '@switchyard/contract';
import { expectConformity } from '../nonconformity-error.ts';
import { createPendingPayment, expectStatus, type ProviderCheck } from './check-steps.ts';
import type { Deviation, ProviderTestClient } from './provider-test-client.ts';

const tooOldSeconds = 900;
const createUnknownSecret = () => randomBytes(32);

const sendPayment = (client: ProviderTestClient, deviation: Deviation) =>
  client.post(providerPaths.payments, client.payment(), deviation);

export const signatureChecks: readonly ProviderCheck[] = [
  {
    group: 'signatures',
    fault: 'accepts-unsigned',
    name: 'a call without a signature is refused',
    async run(client) {
      expectStatus(await sendPayment(client, { unsigned: true }), [401], 'it');
      expectStatus(
        await client.get(providerPaths.payment(randomUUID()), { unsigned: true }),
        [401],
        'a GET',
      );
    },
  },
  {
    group: 'signatures',
    fault: 'accepts-changed-body',
    name: 'a body that was changed after signing is refused',
    async run(client) {
      const payment = client.payment();
      const { amount, currency } = payment.amount;
      const sentBody = JSON.stringify({ ...payment, amount: { amount: amount * 2, currency } });
      expectStatus(await client.post(providerPaths.payments, payment, { sentBody }), [401], 'it');
    },
  },
  {
    group: 'signatures',
    fault: 'accepts-foreign-key',
    name: 'a signature with another secret is refused',
    run: async (client) =>
      expectStatus(await sendPayment(client, { keys: [createUnknownSecret()] }), [401], 'it'),
  },
  {
    group: 'signatures',
    fault: 'accepts-old-signature',
    name: 'a signature fifteen minutes old or in the future is refused',
    async run(client) {
      expectStatus(await sendPayment(client, { agoSeconds: tooOldSeconds }), [401], 'the old one');
      expectStatus(
        await sendPayment(client, { agoSeconds: -tooOldSeconds }),
        [401],
        'the future signature',
      );
    },
  },
  {
    group: 'signatures',
    fault: 'accepts-other-address',
    name: 'a signature for one payment is not accepted for another',
    async run(client) {
      const { payment: one } = await createPendingPayment(client);
      const { payment: other } = await createPendingPayment(client);
      const path = providerPaths.payment(other.platformTransactionId);
      const signedPath = providerPaths.payment(one.platformTransactionId);
      expectStatus(
        await client.get(path, { signedPath }),
        [401],
        'a GET signed for another payment',
      );
      const requestedAt = new Date(client.clock.now()).toISOString();
      const cancel = {
        platformTransactionId: one.platformTransactionId,
        reason: 'Merchant',
        requestedAt,
      };
      const response = await client.post(providerPaths.cancel(other.platformTransactionId), cancel);
      expectStatus(
        response,
        [400, 401, 409, 422],
        'a cancel with the identifier of another payment',
      );
      for (const payment of [one, other]) {
        const { status } = await client.status(payment);
        expectConformity(
          status !== 'Cancelled',
          'a cancel with the identifier of another payment was accepted',
        );
      }
    },
  },
  {
    group: 'signatures',
    fault: 'refuses-second-signature',
    name: 'of two signatures, one valid signature is enough',
    async run(client) {
      for (const keys of [
        [createUnknownSecret(), client.key],
        [client.key, createUnknownSecret()],
      ]) {
        const { status } = await sendPayment(client, { keys });
        expectConformity(
          status >= 200 && status < 300,
          `it is answered ${status}: a secret rotation would fail`,
        );
      }
    },
  },
];

export const messageChecks: readonly ProviderCheck[] = [
  {
    group: 'messages',
    fault: 'accepts-garbage',
    name: 'a body that is not JSON is refused',
    run: async (client) =>
      expectStatus(await sendPayment(client, { body: '{"platform' }), [400, 422], 'it'),
  },
  {
    group: 'messages',
    fault: 'accepts-missing-amount',
    name: 'a payment without an amount is refused',
    async run(client) {
      const { amount: _amount, ...incomplete } = client.payment();
      expectStatus(await client.post(providerPaths.payments, incomplete), [400, 422], 'it');
    },
  },
  {
    group: 'messages',
    fault: 'refuses-unknown-members',
    name: 'unknown members are ignored',
    async run(client) {
      const payment = { ...client.payment(), aMemberOfLater: { version: 2 } };
      await client.createPayment(payment);
    },
  },
];
