import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kysely } from 'kysely';
import { OperationIdTaken } from '../repository/transaction-repository.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';
import type { Judged, Judging, Use } from './approval-code-sql.ts';
import { type ApprovalsDeps, CodeTaken, createApprovals } from './check-approval-code.ts';

const loaded = {
  row: { organizationId: 'o', merchantId: 'm', storeId: undefined, currency: 'EUR' },
} as unknown as LoadedTransaction;
const trx = {} as Kysely<unknown>;

/** One code that is good once, for so much. */
function room(maxAmount: number, doneBefore?: string) {
  let uses = 0;
  const asked: number[] = [];
  const isGood = ({ amount }: Use) => uses === 0 && amount <= maxAmount;
  const deps = {
    clock: { now: () => 1_000_000 },
    provisioning: {},
    markOf: (_: string, code: string) => code,
    store: {
      async judge(judging: Judging): Promise<Judged> {
        asked.push(judging.amount);
        if (isGood(judging)) return { approvalCodeId: 'code-1' };
        return judging.clientOperationId === doneBefore ? 'Done' : 'Wrong';
      },
      async use(_: unknown, use: Use) {
        if (!isGood(use)) return false;
        uses += 1;
        return true;
      },
    },
  } as unknown as ApprovalsDeps;
  const approvals = createApprovals(deps);
  const approve = (amount: number, clientOperationId = 'refund-1') => {
    const approval = { code: '12345678', by: 'till' };
    const of = { verb: 'Refund', kind: 'Refund', approval, clientOperationId } as const;
    return approvals.approve(of, loaded, amount);
  };
  return { ...approvals, approve, asked, uses: () => uses };
}

test('a rival commit after which there is more to refund does not get past the amount of a code', async () => {
  const { approve, asked, uses } = room(100);
  assert.equal((await approve(50))?.approvalCodeId, 'code-1');
  await assert.rejects(approve(150), { code: 'approval_code_invalid' });
  assert.deepEqual([asked, uses()], [[50, 150], 0], 'what was not committed has used nothing');
});

test('of two that were approved by one code, one commits', async () => {
  const { approve, use, uses } = room(100);
  const [first, second] = [await approve(50), await approve(60)];
  assert.ok(first && second);
  await use(trx, first);
  await assert.rejects(use(trx, second), CodeTaken);
  assert.equal(uses(), 1);
});

test('an operation that was done meanwhile is not told that its code is used up', async () => {
  const { approve, use } = room(100, 'refund-1');
  const approved = await approve(50);
  assert.ok(approved);
  await use(trx, approved);
  await assert.rejects(approve(50), OperationIdTaken);
  await assert.rejects(approve(50, 'refund-2'), { code: 'approval_code_invalid' });
});
