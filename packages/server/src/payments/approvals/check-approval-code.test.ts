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

const transaction = {
  row: { organizationId: 'o', merchantId: 'm', storeId: undefined, currency: 'EUR' },
} as unknown as TransactionRecord;
const trx = {} as Kysely<unknown>;

/** One code that is valid once, up to an amount. */
function setUp(maxAmount: number, doneBefore?: string) {
  let uses = 0;
  const checkedAmounts: number[] = [];
  const isValid = ({ amount }: CodeUse) => uses === 0 && amount <= maxAmount;
  const deps = {
    clock: { now: () => 1_000_000 },
    provisioning: {},
    hashCode: (_: string, code: string) => code,
    store: {
      async judge(request: CodeCheckRequest): Promise<CodeCheck> {
        checkedAmounts.push(request.amount);
        if (isValid(request)) return { approvalCodeId: 'code-1' };
        return request.clientOperationId === doneBefore ? 'Done' : 'Wrong';
      },
      async use(_: unknown, codeUse: CodeUse) {
        if (!isValid(codeUse)) return false;
        uses += 1;
        return true;
      },
    },
  } as unknown as ApprovalCheckerDeps;
  const approvals = createApprovalChecker(deps);
  const approve = (amount: number, clientOperationId = 'refund-1') => {
    const approval = { code: '12345678', attemptedBy: 'till' };
    const approvalRequest = {
      operationType: 'Refund',
      kind: 'Refund',
      approval,
      clientOperationId,
    } as const;
    return approvals.approve(approvalRequest, transaction, amount);
  };
  return { ...approvals, approve, checkedAmounts, uses: () => uses };
}

test('the amount of a code is checked again after a conflict', async () => {
  const { approve, checkedAmounts, uses } = setUp(100);
  assert.equal((await approve(50))?.approvalCodeId, 'code-1');
  await assert.rejects(approve(150), { code: 'approval_code_invalid' });
  assert.deepEqual([checkedAmounts, uses()], [[50, 150], 0], 'a check does not use the code');
});

test('a one-time code approves one of two concurrent operations', async () => {
  const { approve, consume, uses } = setUp(100);
  const [first, second] = [await approve(50), await approve(60)];
  assert.ok(first && second);
  await consume(trx, first);
  await assert.rejects(consume(trx, second), ApprovalCodeUsed);
  assert.equal(uses(), 1);
});

test('an operation that exists already is replayed although its code is used', async () => {
  const { approve, consume } = setUp(100, 'refund-1');
  const approved = await approve(50);
  assert.ok(approved);
  await consume(trx, approved);
  await assert.rejects(approve(50), DuplicateOperationId);
  await assert.rejects(approve(50, 'refund-2'), { code: 'approval_code_invalid' });
});
