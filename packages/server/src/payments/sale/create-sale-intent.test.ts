import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { type CreateIntentPorts, createSaleIntent } from './create-sale-intent.ts';
import type { PreparedSale } from './prepare-sale.ts';

const startsAt = Date.parse('2026-03-01T12:30:00Z');
const notAfter = '2026-03-01T12:30:01Z';

const sale = {
  request: { amount: 1000, currency: 'EUR', entryMode: 'Keyed', notAfter },
  card: {},
  key: { organizationId: 'o', merchantId: 'm', clientTransactionId: 'c-1' },
  resolved: { merchant: {}, contract: { overCapturePercent: 0 } },
  caller: { organizationId: 'o' },
  requestMembers: {},
} as unknown as PreparedSale;

/** Creates the intent of a sale whose reference is allocated after this time. */
async function createAfter(waitMs: number) {
  let now = startsAt;
  const ports = {
    acquiring: {
      async allocateReference() {
        now += waitMs;
        return {};
      },
    },
    vault: { tokenizeCard: async () => 'token' },
    clock: { now: () => now },
    acquirerTimeoutMs: 10_000,
  } as unknown as CreateIntentPorts;
  const options = { phase: 'Received', captureMode: 'Deferred', stepUpOf: undefined } as const;
  return createSaleIntent(ports, sale, options);
}

// Spec: CARD-59
test('a sale that waited beyond its notAfter time is not stored', async () => {
  const { transaction } = await createAfter(1000);
  assert.equal(Date.parse(transaction.row.createdAt), Date.parse(notAfter));
  await assert.rejects(
    createAfter(1001),
    (error) => error instanceof ProblemError && error.code === 'too_late',
  );
});
