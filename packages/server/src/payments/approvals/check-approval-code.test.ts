import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Queries } from '../../platform/index.ts';
import { DuplicateOperationId } from '../repository/transaction-repository.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import type { CodeUse } from './approval-code-sql.ts';
import { ApprovalCodeUsed, createApprovalChecker } from './check-approval-code.ts';

const transaction = {
  row: { organizationId: 'o', merchantId: 'm', storeId: undefined, currency: 'EUR' },
} as unknown as TransactionRecord;
const trx = {} as Queries;

/** A checker of one one-time code with a maximum amount. */
function checkerOf(maxAmount: number, storedOperationId?: string) {
  let uses = 0;
  const checkedAmounts: number[] = [];
  const isApproved = ({ amount }: CodeUse) => uses === 0 && amount <= maxAmount;
  const checker = createApprovalChecker({
    clock: { now: () => 1_000_000 },
    provisioning: { findOrganization: () => assert.fail('reads the organisation') },
    hashCode: (_, code) => code,
    store: {
      async check(request) {
        checkedAmounts.push(request.amount);
        if (isApproved(request)) return { approvalCodeId: 'code-1' };
        if (request.clientOperationId === storedOperationId) return 'OperationExists';
        return uses > 0 ? 'Used' : 'Invalid';
      },
      async consume(_, use) {
        if (!isApproved(use)) return false;
        uses += 1;
        return true;
      },
      restore: () => assert.fail('restores the code'),
    },
  });
  const approve = (amount: number, clientOperationId = 'refund-1') => {
    const approval = { code: '12345678', attemptedBy: 'till' };
    return checker.approve(
      { operationType: 'Refund', approval, clientOperationId },
      transaction,
      amount,
    );
  };
  return { ...checker, approve, checkedAmounts, uses: () => uses };
}

// Spec: PROV-62
test('the amount of a code is checked again after a conflict', async () => {
  const { approve, checkedAmounts, uses } = checkerOf(100);
  assert.equal((await approve(50))?.approvalCodeId, 'code-1');
  await assert.rejects(approve(150), { code: 'approval_code_invalid' });
  assert.deepEqual([checkedAmounts, uses()], [[50, 150], 0], 'a check does not use the code');
});

test('a one-time code approves one of two concurrent operations', async () => {
  const { approve, consume, uses } = checkerOf(100);
  const [first, second] = [await approve(50), await approve(60)];
  assert.ok(first && second);
  await consume(trx, first);
  await assert.rejects(consume(trx, second), ApprovalCodeUsed);
  assert.equal(uses(), 1);
});

test('an operation that exists already is replayed although its code is used', async () => {
  const { approve, consume } = checkerOf(100, 'refund-1');
  const approved = await approve(50);
  assert.ok(approved);
  await consume(trx, approved);
  await assert.rejects(approve(50), DuplicateOperationId);
  await assert.rejects(approve(50, 'refund-2'), { code: 'approval_code_used' });
});
