/** Who may ask: signatures, and what is no message at all. */
import { randomBytes, randomUUID } from 'node:crypto';
import { providerPaths } from '@switchyard/contract';
import { demand } from '../acquirer/acquirer-test-client.ts';
import { type ProviderCheck, pending, refused } from './provider-check.ts';
import type { Bent, ProviderBench } from './provider-test-client.ts';

const tooOldSeconds = 900;
const strange = () => randomBytes(32);

const begun = (bench: ProviderBench, bent: Bent) =>
  bench.post(providerPaths.payments, bench.payment(), bent);

export const signatureChecks: readonly ProviderCheck[] = [
  {
    group: 'signatures',
    fault: 'accepts-unsigned',
    name: 'a call without a signature is refused',
    async run(bench) {
      refused(await begun(bench, { unsigned: true }), [401], 'it');
      refused(
        await bench.get(providerPaths.payment(randomUUID()), { unsigned: true }),
        [401],
        'a GET',
      );
    },
  },
  {
    group: 'signatures',
    fault: 'accepts-changed-body',
    name: 'a body that was changed on its way is refused',
    async run(bench) {
      const payment = bench.payment();
      const { amount, currency } = payment.amount;
      const sentBody = JSON.stringify({ ...payment, amount: { amount: amount * 2, currency } });
      refused(await bench.post(providerPaths.payments, payment, { sentBody }), [401], 'it');
    },
  },
  {
    group: 'signatures',
    fault: 'accepts-foreign-key',
    name: 'a signature with another secret is refused',
    run: async (bench) => refused(await begun(bench, { keys: [strange()] }), [401], 'it'),
  },
  {
    group: 'signatures',
    fault: 'accepts-old-signature',
    name: 'a signature of fifteen minutes ago is refused, and one of the future',
    async run(bench) {
      refused(await begun(bench, { agoSeconds: tooOldSeconds }), [401], 'the old one');
      refused(await begun(bench, { agoSeconds: -tooOldSeconds }), [401], 'the one of the future');
    },
  },
  {
    group: 'signatures',
    fault: 'accepts-other-address',
    name: 'what was signed for one payment is not taken for another',
    async run(bench) {
      const { payment: one } = await pending(bench);
      const { payment: other } = await pending(bench);
      const path = providerPaths.payment(other.platformTransactionId);
      const signedPath = providerPaths.payment(one.platformTransactionId);
      refused(await bench.get(path, { signedPath }), [401], 'a GET that was signed for another');
      const requestedAt = new Date(bench.clock.now()).toISOString();
      const cancel = {
        platformTransactionId: one.platformTransactionId,
        reason: 'Merchant',
        requestedAt,
      };
      const told = await bench.post(providerPaths.cancel(other.platformTransactionId), cancel);
      refused(told, [400, 401, 409, 422], 'a cancel that names another');
      for (const payment of [one, other]) {
        const { status } = await bench.status(payment);
        demand(status !== 'Cancelled', 'a cancel that names another was taken');
      }
    },
  },
  {
    group: 'signatures',
    fault: 'refuses-second-signature',
    name: 'of two signatures, one that fits is enough',
    async run(bench) {
      for (const keys of [
        [strange(), bench.key],
        [bench.key, strange()],
      ]) {
        const { status } = await begun(bench, { keys });
        demand(
          status >= 200 && status < 300,
          `it is answered ${status}: no secret could be changed`,
        );
      }
    },
  },
];

export const messageChecks: readonly ProviderCheck[] = [
  {
    group: 'messages',
    fault: 'accepts-garbage',
    name: 'what is no JSON is refused',
    run: async (bench) => refused(await begun(bench, { body: '{"platform' }), [400, 422], 'it'),
  },
  {
    group: 'messages',
    fault: 'accepts-missing-amount',
    name: 'a payment without an amount is refused',
    async run(bench) {
      const { amount: _amount, ...less } = bench.payment();
      refused(await bench.post(providerPaths.payments, less), [400, 422], 'it');
    },
  },
  {
    group: 'messages',
    fault: 'refuses-unknown-members',
    name: 'members that it does not know are ignored',
    async run(bench) {
      const payment = { ...bench.payment(), aMemberOfLater: { version: 2 } };
      await bench.begin(payment);
    },
  },
];
