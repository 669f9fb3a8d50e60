import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@switchyard/contract';
import type { LoadedTransaction } from '../model.ts';
import { type ApprovalsDeps, createApprovals } from './approval.ts';
import type { Judged, Use } from './store.ts';

const loaded = {
  row: { organizationId: 'o', merchantId: 'm', storeId: undefined, currency: 'EUR' },
} as unknown as LoadedTransaction;

/** One code that is good once, for so much. */
function room(maxAmount: number) {
  let uses = 0;
  const asked: number[] = [];
  const deps = {
    clock: { now: () => 1_000_000 },
    log: { warn() {} },
    provisioning: {},
    markOf: (_: string, code: string) => code,
    store: {
      async judge({ amount }: Use): Promise<Judged> {
        asked.push(amount);
        if (uses > 0 || amount > maxAmount) return 'Wrong';
        uses += 1;
        return { approvalCodeId: 'code-1' };
      },
      async giveBack() {
        uses -= 1;
      },
    },
  } as unknown as ApprovalsDeps;
  const asking = { verb: 'Refund', approval: { code: '12345678', by: 'till' } } as const;
  /** A reservation whose commits lose against somebody else's, each time with another amount. */
  const reserve = (...amounts: number[]) =>
    createApprovals(deps).approving(asking, async (approve) => {
      let id: string | undefined;
      for (const amount of amounts) id = await approve(loaded, amount);
      return id;
    });
  /** A reservation that fails behind the approval. */
  const fail = (error: Error) =>
    createApprovals(deps).approving(asking, async (approve) => {
      await approve(loaded, 50);
      throw error;
    });
  return { reserve, fail, asked, uses: () => uses };
}

test('a rival commit after which there is more to refund does not get past the amount of a code', async () => {
  const { reserve, uses } = room(100);
  await assert.rejects(reserve(50, 150), { code: 'approval_code_invalid' });
  assert.equal(uses(), 0, 'it is given back');
});

test('a code is used once for a reservation that goes round again', async () => {
  const { reserve, asked, uses } = room(100);
  assert.equal(await reserve(50, 50, 40), 'code-1');
  assert.deepEqual([asked, uses()], [[50], 1]);
  const other = room(100);
  assert.equal(await other.reserve(50, 80, 60), 'code-1');
  assert.deepEqual([other.asked, other.uses()], [[50, 80], 1]);
});

test('a code stays used where nobody knows whether what it approved was committed', async () => {
  const lost = (outcome: 'Unknown' | 'NotProcessed') =>
    new Refusal('database_unavailable', 'It is away.', { outcome });
  const unknown = room(100);
  await assert.rejects(unknown.fail(lost('Unknown')), { outcome: 'Unknown' });
  assert.equal(unknown.uses(), 1);
  for (const error of [lost('NotProcessed'), new Error('ours')]) {
    const { fail, uses } = room(100);
    await assert.rejects(fail(error), error);
    assert.equal(uses(), 0, error.message);
  }
});
