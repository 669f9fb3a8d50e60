import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@switchyard/contract';
import type { PaymentsDeps } from '../deps.ts';
import { storeOffline, type Upload } from './upload.ts';

class Reached extends Error {}

/** An upload of a day later, up to where nothing is left that could refuse it. */
async function uploaded(authorizedAt: string): Promise<string> {
  const deps = {
    clock: { now: () => Date.parse('2026-01-02T09:00:00Z') },
    acquirerTimeoutMs: 0,
    running: { find: () => undefined, run: (_key: string, work: () => unknown) => work() },
    store: { findByClientId: async () => [] },
    offline: { find: async () => undefined, findElsewhere: async () => [] },
  } as unknown as PaymentsDeps;
  const limits = { maxAmounts: undefined, maxAgeHours: 72, maxCount: 10 };
  const contract = {
    currencies: ['EUR', 'BGN'],
    captureModes: ['Immediate'],
    clearCardData: 'Allowed',
  };
  const upload = {
    organizationId: 'o',
    request: {
      ...{ clientTransactionId: 'c-1', amount: 1000, currency: 'BGN', entryMode: 'Keyed' },
      ...{ instrument: { token: 't' }, offlineTransaction: true },
      offlineData: { authorizedAt, authorizationCode: '9A01B2', terminalSequence: 7 },
    },
    resolved: {
      ...{ merchant: { merchantId: 'm' }, device: { deviceId: 'd' } },
      contract: { ...contract, contractId: 'k', offlineLimits: limits },
    },
    ...{ card: { expiry: '9912' }, mark: 'mark', fingerprint: {}, key: { text: 'key' } },
    makeIntent: () => Promise.reject(new Reached()),
  };
  try {
    await storeOffline(deps, upload as unknown as Upload);
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
