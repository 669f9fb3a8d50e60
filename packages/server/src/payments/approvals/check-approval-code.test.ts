import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kysely } from 'kysely';
import { DuplicateOperationId } from '../repository/transaction-repository.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import type { CodeCheck, CodeCheckRequest, CodeUse } from './approval-code-sql.ts';
import {
  type ApprovalCheckerDeps,
  ApprovalCodeUsed,
  createApprovalChecker,
} from './check-approval-code.ts';

const loaded = {
  row: { organizationId: 'o', merchantId: 'm', storeId: undefined, currency: 'EUR' },
} as unknown as TransactionRecord;
const trx = {} as Kysely<unknown>;

/** One code that is good once, for so much. */
function room(maxAmount: number, doneBefore?: string) {
  let uses = 0;
  const asked: number[] = [];
  const isGood = ({ amount }: CodeUse) => uses === 0 && amount <= maxAmount;
  const deps = {
    clock: { now: () => 1_000_000 },
    provisioning: {},
    hashCode: (_: string, code: string) => code,
    store: {
      async judge(judging: CodeCheckRequest): Promise<CodeCheck> {
        asked.push(judging.amount);
        if (isGood(judging)) return { approvalCodeId: 'code-1' };
        return judging.clientOperationId === doneBefore ? 'Done' : 'Wrong';
      },
      async consume(_: unknown, use: CodeUse) {
        if (!isGood(use)) return false;
        uses += 1;
        return true;
      },
    },
  } as unknown as ApprovalCheckerDeps;
  const approvals = createApprovalChecker(deps);
  const approve = (amount: number, clientOperationId = 'refund-1') => {
    const approval = { code: '12345678', attemptedBy: 'till' };
    const request = {
      operationType: 'Refund',
      kind: 'Refund',
      approval,
      clientOperationId,
    } as const;
    return approvals.approve(request, loaded, amount);
  };
  return { ...approvals, approve, asked, uses: () => uses };
}

test('the amount of a code is checked again after a conflict', async () => {
  const { approve, asked, uses } = room(100);
  assert.equal((await approve(50))?.approvalCodeId, 'code-1');
  await assert.rejects(approve(150), { code: 'approval_code_invalid' });
  assert.deepEqual([asked, uses()], [[50, 150], 0], 'what was not committed has used nothing');
});

test('a one-time code approves one of two concurrent operations', async () => {
  const { approve, consume: use, uses } = room(100);
  const [first, second] = [await approve(50), await approve(60)];
  assert.ok(first && second);
  await use(trx, first);
  await assert.rejects(use(trx, second), ApprovalCodeUsed);
  assert.equal(uses(), 1);
});

test('an operation that exists already is replayed although its code is used', async () => {
  const { approve, consume: use } = room(100, 'refund-1');
  const approved = await approve(50);
  assert.ok(approved);
  await use(trx, approved);
  await assert.rejects(approve(50), DuplicateOperationId);
  await assert.rejects(approve(50, 'refund-2'), { code: 'approval_code_invalid' });
});
