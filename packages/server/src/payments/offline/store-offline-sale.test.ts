import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@switchyard/contract';
import { dueClockOf } from '../../../test/movable-clock.ts';
import type { PaymentsDeps } from '../deps.ts';
import { createInFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { type OfflineUpload, storeOfflineSale } from './store-offline-sale.ts';

class Reached extends Error {}

const limits = { maxAmounts: undefined, maxAgeHours: 72, maxCount: 10 };
const contract = {
  currencies: ['EUR', 'BGN'],
  captureModes: ['Immediate'],
  clearCardData: 'Allowed',
};

/** An upload one day after the sale. */
const uploadOf = (authorizedAt: string, createIntent: () => Promise<unknown>) =>
  ({
    organizationId: 'o',
    request: {
      clientTransactionId: 'c-1',
      amount: 1000,
      currency: 'BGN',
      entryMode: 'Keyed',
      instrument: { token: 't' },
      offlineTransaction: true,
      offlineData: { authorizedAt, authorizationCode: '9A01B2', terminalSequence: 7 },
    },
    resolved: {
      merchant: { merchantId: 'm' },
      device: { deviceId: 'd' },
      contract: { ...contract, contractId: 'k', offlineLimits: limits },
    },
    card: { expiry: '9912' },
    cardFingerprint: 'card',
    requestFingerprint: {},
    key: { lockKey: 'key' },
    createIntent,
  }) as unknown as OfflineUpload;

const common = {
  clock: { now: () => Date.parse('2026-01-02T09:00:00Z') },
  dueClock: dueClockOf({ now: () => Date.parse('2026-01-02T09:00:00Z') }),
  acquirerTimeoutMs: 1000,
};

/** Uploads until all checks have passed. */
async function uploaded(authorizedAt: string): Promise<string> {
  const deps = {
    ...common,
    inFlightTransactions: createInFlightTransactions(),
    transactions: { findByClientId: async () => [] },
    offlineStore: { find: async () => undefined, findElsewhere: async () => [] },
  } as unknown as PaymentsDeps;
  try {
    await storeOfflineSale(
      deps,
      uploadOf(authorizedAt, () => Promise.reject(new Reached())),
    );
  } catch (error) {
    if (error instanceof Reached) return 'stored';
    assert.ok(error instanceof Refusal, String(error));
    return error.code;
  }
  throw new Error('the upload did not create an intent');
}

test('a currency is checked at the time of the offline sale', async () => {
  assert.equal(await uploaded('2025-12-31T22:00:00Z'), 'stored');
  assert.equal(await uploaded('2025-12-31T23:59:59.999Z'), 'stored');
  assert.equal(await uploaded('2026-01-01T00:00:00Z'), 'currency_unknown');
});

test('a duplicate upload waits and is not registered as the running sale', async () => {
  const inFlightTransactions = createInFlightTransactions();
  const context = { request: {}, linkId: 'link' };
  const events = [{ sequence: 1, type: 'transaction.received', at: '', data: { facts: context } }];
  const row = { transactionId: 't', merchantId: 'm', organizationId: 'o', position: {} };
  let state: string | undefined;
  const runningSales: unknown[] = [];
  const deps = {
    ...common,
    ids: { uuid: () => 'id' },
    inFlightTransactions: {
      ...inFlightTransactions,
      async waitForChange() {
        runningSales.push(inFlightTransactions.find('key'));
        state = 'Reversing';
      },
    },
    transactions: {
      findByClientId: async () =>
        state === undefined ? [] : [{ row: { ...row, state }, events, operations: [] }],
    },
    offlineStore: {
      find: async () => undefined,
      findElsewhere: async () => [],
      async store() {
        state = 'Received';
        return { result: 'ClientIdTaken' };
      },
    },
  } as unknown as PaymentsDeps;
  const intent = { transaction: { row, events, operations: [] }, context };
  const upload = uploadOf('2025-12-31T22:00:00Z', async () => intent);
  const { transaction, replayed } = await storeOfflineSale(deps, upload);
  assert.deepEqual([transaction.row.state, replayed], ['Reversing', true]);
  assert.deepEqual(runningSales, [undefined]);
});
