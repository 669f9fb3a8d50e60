import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { dueClockOf } from '../../../test/support/movable-clock.ts';
import { createInFlightTransactions } from '../runtime/in-flight-transactions.ts';
import {
  type OfflineSale,
  type StoreOfflinePorts,
  storeOfflineSale,
} from './store-offline-sale.ts';

class Reached extends Error {}

const limits = { maxAmounts: undefined, maxAgeHours: 72, maxCount: 10 };
const contract = {
  currencies: ['EUR', 'BGN'],
  captureModes: ['Immediate'],
  overCapturePercent: 0,
  clearCardData: 'Allowed',
};

const offlineSale = (authorizedAt: string) =>
  ({
    caller: { organizationId: 'o' },
    location: { merchantId: 'm' },
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
      merchant: { merchantId: 'm', address: {} },
      device: { deviceId: 'd' },
      contract: { ...contract, contractId: 'k', offlineLimits: limits },
    },
    card: { expiry: '9912' },
    cardFingerprint: 'card hash',
    requestMembers: {},
    transactionId: 't',
    key: { organizationId: 'o', merchantId: 'm', clientTransactionId: 'c-1', lockKey: 'key' },
  }) as unknown as OfflineSale;

const clock = { now: () => Date.parse('2026-01-02T09:00:00Z') };
const commonPorts = {
  clock,
  dueClock: dueClockOf(clock),
  acquirerTimeoutMs: 1000,
};

/** The answer to an upload, or `stored` when no check refuses it. */
async function uploadResult(authorizedAt: string): Promise<string> {
  const ports = {
    ...commonPorts,
    inFlightTransactions: createInFlightTransactions(),
    transactions: { findByClientId: async () => [] },
    offlineStore: { find: async () => undefined, findElsewhere: async () => [] },
    acquiring: { allocateReference: () => Promise.reject(new Reached()) },
  } as unknown as StoreOfflinePorts;
  try {
    await storeOfflineSale(ports, offlineSale(authorizedAt));
  } catch (error) {
    if (error instanceof Reached) return 'stored';
    assert.ok(error instanceof ProblemError, String(error));
    return error.code;
  }
  throw new Error('no reference was allocated');
}

test('a currency is checked at the time of the offline sale', async () => {
  assert.equal(await uploadResult('2025-12-31T22:00:00Z'), 'stored');
  assert.equal(await uploadResult('2025-12-31T23:59:59.999Z'), 'stored');
  assert.equal(await uploadResult('2026-01-01T00:00:00Z'), 'currency_unknown');
});

test('a duplicate upload waits and is not registered as the running sale', async () => {
  const inFlightTransactions = createInFlightTransactions();
  const context = { request: {}, linkId: 'link' };
  const events = [{ sequence: 1, type: 'transaction.received', at: '', data: { context } }];
  const row = { transactionId: 't', clientTransactionId: 'c-1', organizationId: 'o', position: {} };
  let state: string | undefined;
  const runningWhileWaiting: unknown[] = [];
  const ports = {
    ...commonPorts,
    ids: { uuid: () => 'id' },
    acquiring: { allocateReference: async () => ({ stan: '1' }) },
    vault: { tokenizeCard: async () => 'token' },
    inFlightTransactions: {
      ...inFlightTransactions,
      async waitForChange() {
        runningWhileWaiting.push(inFlightTransactions.find('key'));
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
  } as unknown as StoreOfflinePorts;
  const { transaction, replayed } = await storeOfflineSale(
    ports,
    offlineSale('2025-12-31T22:00:00Z'),
  );
  assert.deepEqual([transaction.row.state, replayed], ['Reversing', true]);
  assert.deepEqual(runningWhileWaiting, [undefined]);
});
