import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ErrorCode, ProblemError, type ProcessRequest } from '@switchyard/contract';
import { dueClockOf } from '../../../test/support/movable-clock.ts';
import type { Caller } from '../../http/index.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { type CardlessReplayPorts, replayWithoutCard } from './sale-idempotency.ts';

const caller = { organizationId: 'o', clientId: 'c', merchantId: 'm' } as unknown as Caller;
const fingerprint = (amount: number) => ({
  amount,
  storeId: undefined,
  deviceId: undefined,
  instrument: 'card hash',
});

function saleOf(amount: number): TransactionRecord {
  const context = { card: { token: 'token' }, request: fingerprint(amount) };
  return {
    row: {
      organizationId: 'o',
      merchantId: 'm',
      storeId: 's',
      state: 'Captured',
      transactionId: 't',
      clientTransactionId: 'c-1',
    },
    events: [{ sequence: 1, type: 'transaction.received', at: '', data: { context } }],
    operations: [],
  } as unknown as TransactionRecord;
}

type World = {
  sale?: TransactionRecord;
  isRunning?: boolean;
  isPlaceGone?: boolean;
  token?: string;
  by?: Partial<Caller>;
  merchantId?: string | undefined;
};

/** What comes of a request whose card could not be read, for a reason. */
async function replayResult(code: ErrorCode, situation: World): Promise<unknown> {
  const { sale, isRunning = false, isPlaceGone = false, token } = situation;
  const ports = {
    clock: { now: () => 0 },
    dueClock: dueClockOf({ now: () => 0 }),
    acquirerTimeoutMs: 0,
    vault: { computeDigest: (text: string) => text },
    inFlightTransactions: { find: () => (isRunning ? new Promise(() => {}) : undefined) },
    transactions: { findByClientId: async () => (sale === undefined ? [] : [sale]) },
    provisioning: {
      async resolveSaleEntities() {
        if (isPlaceGone) throw new ProblemError('device_not_found', 'gone');
        return { merchant: { merchantId: 'm' } };
      },
    },
  } as unknown as CardlessReplayPorts;
  const instrument = token === undefined ? { encrypted: {} } : { token };
  const body = { clientTransactionId: 'c-1', amount: 100, instrument };
  const request = {
    request: body as unknown as ProcessRequest,
    location: { merchantId: 'merchantId' in situation ? situation.merchantId : 'm' },
  };
  const problemError = new ProblemError(code, 'Nothing was sent.', { retryAfterMs: 5000 });
  try {
    const { transaction: loaded, replayed } = await replayWithoutCard(
      ports,
      { ...caller, ...situation.by },
      request,
      problemError,
    );
    return [loaded.row.transactionId, replayed];
  } catch (error) {
    assert.ok(error instanceof ProblemError, String(error));
    const { outcome, extensions, retryAfterMs, detail } = error;
    if (error.code === code) {
      assert.equal(retryAfterMs, 5000);
      assert.equal(detail === 'Nothing was sent.', outcome === 'NotProcessed');
    }
    return [error.code, outcome, extensions?.['transaction']];
  }
}

const transaction = { transactionId: 't', clientTransactionId: 'c-1', state: 'Captured' };
const sale = saleOf(100);

describe('a card that cannot be decrypted', () => {
  const ofKeys = ['hsm_unavailable', 'card_keys_unavailable', 'encryption_key_unknown'] as const;
  for (const code of ofKeys) {
    test(`${code}: the outcome is NotProcessed without a matching sale, and Unknown if a sale exists or is in progress`, async () => {
      assert.deepEqual(await replayResult(code, {}), [code, 'NotProcessed', undefined]);
      assert.deepEqual(await replayResult(code, { sale }), [code, 'Unknown', transaction]);
      assert.deepEqual(await replayResult(code, { isRunning: true }), [code, 'Unknown', undefined]);
      const inPlace = { sale, merchantId: undefined };
      assert.deepEqual(await replayResult(code, inPlace), [code, 'Unknown', transaction]);
      const afterRemoval = await replayResult(code, { ...inPlace, isPlaceGone: true });
      assert.deepEqual(afterRemoval, [code, 'NotProcessed', undefined]);
      const otherStore = await replayResult(code, { sale, by: { storeId: 'another' } });
      assert.deepEqual(otherStore, [code, 'NotProcessed', undefined]);
      const itself = await replayResult(code, { sale, by: { storeId: 's' } });
      assert.deepEqual(itself, [code, 'Unknown', transaction]);
    });
  }

  test('the same token returns the sale and another token does not', async () => {
    for (const code of ['card_keys_unavailable', 'card_token_unknown'] as const) {
      assert.deepEqual(await replayResult(code, { sale, token: 'token' }), ['t', true]);
      const other = await replayResult(code, { sale, token: 'another' });
      assert.deepEqual(other, [code, 'NotProcessed', undefined]);
    }
    const reused = await replayResult('card_keys_unavailable', {
      sale: saleOf(200),
      token: 'token',
    });
    assert.deepEqual(reused, ['client_id_reused', 'NotProcessed', undefined]);
  });

  test('an error of the request itself is not replayed', async () => {
    const code = 'card_number_invalid';
    assert.deepEqual(await replayResult(code, { sale }), [code, 'NotProcessed', undefined]);
  });
});
