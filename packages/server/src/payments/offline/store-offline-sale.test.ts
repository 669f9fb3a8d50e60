import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@switchyard/contract';
import type { PaymentsDeps } from '../deps.ts';
import { createRunning } from '../runtime/in-flight-transactions.ts';
import { storeOffline, type Upload } from './store-offline-sale.ts';

class Reached extends Error {}

const limits = { maxAmounts: undefined, maxAgeHours: 72, maxCount: 10 };
const contract = {
  currencies: ['EUR', 'BGN'],
  captureModes: ['Immediate'],
  clearCardData: 'Allowed',
};

/** An upload of a day later. */
const uploadOf = (authorizedAt: string, makeIntent: () => Promise<unknown>) =>
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
    mark: 'mark',
    fingerprint: {},
    key: { text: 'key' },
    makeIntent,
  }) as unknown as Upload;

const common = {
  clock: { now: () => Date.parse('2026-01-02T09:00:00Z') },
  acquirerTimeoutMs: 1000,
};

/** Up to where nothing is left that could refuse it. */
async function uploaded(authorizedAt: string): Promise<string> {
  const deps = {
    ...common,
    running: createRunning(),
    store: { findByClientId: async () => [] },
    offline: { find: async () => undefined, findElsewhere: async () => [] },
  } as unknown as PaymentsDeps;
  try {
    await storeOffline(
      deps,
      uploadOf(authorizedAt, () => Promise.reject(new Reached())),
    );
  } catch (error) {
    if (error instanceof Reached) return 'stored';
    assert.ok(error instanceof Refusal, String(error));
    return error.code;
  }
  throw new Error('an intent was not asked for');
}

test('a sale of the last day of its currency is taken when the line is back, and none of a later day', async () => {
  assert.equal(await uploaded('2025-12-31T22:00:00Z'), 'stored');
  assert.equal(await uploaded('2025-12-31T23:59:59.999Z'), 'stored');
  assert.equal(await uploaded('2026-01-01T00:00:00Z'), 'currency_unknown');
});

test('behind a sale that took its identifier it waits, and does not pass for the one that runs it', async () => {
  const running = createRunning();
  const facts = { request: {}, linkId: 'link' };
  const events = [{ sequence: 1, type: 'transaction.received', at: '', data: { facts } }];
  const row = { transactionId: 't', merchantId: 'm', organizationId: 'o', position: {} };
  let state: string | undefined;
  const seen: unknown[] = [];
  const deps = {
    ...common,
    ids: { uuid: () => 'id' },
    running: {
      ...running,
      async nextChange() {
        seen.push(running.find('key'));
        state = 'Reversing';
      },
    },
    store: {
      findByClientId: async () =>
        state === undefined ? [] : [{ row: { ...row, state }, events, operations: [] }],
    },
    offline: {
      find: async () => undefined,
      findElsewhere: async () => [],
      async store() {
        state = 'Received';
        return { result: 'ClientIdTaken' };
      },
    },
  } as unknown as PaymentsDeps;
  const intent = { loaded: { row, events, operations: [] }, facts };
  const upload = uploadOf('2025-12-31T22:00:00Z', async () => intent);
  const { loaded, replayed } = await storeOffline(deps, upload);
  assert.deepEqual([loaded.row.state, replayed], ['Reversing', true]);
  assert.deepEqual(seen, [undefined]);
});
