import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import {
  deriveState,
  type OperationType,
  type Phase,
  zeroAmounts,
} from '../transaction/state-machine.ts';
import type { TransactionRecord, TransactionRow } from '../transaction/transaction.ts';
import { allowedOperations, decideOperation } from './operation-decision.ts';

// Spec: INV-9
test('in every phase the listed maximum amount is accepted and one more is refused', () => {
  const terms = { partialCancel: true, multipleCapture: true, overCaptureAllowance: 0 };
  const amounts: Readonly<Partial<Record<Phase, object>>> = {
    Approved: { authorized: 1234, captured: 1000, refunded: 100 },
    AwaitingConfirmation: { authorized: 1234 },
  };
  const phases = ['Received', 'Stored', 'Submitted', 'AwaitingConfirmation', 'Approved'] as const;
  for (const phase of phases) {
    const position = { ...zeroAmounts, phase, ...amounts[phase] };
    const row = { amount: 1234, currency: 'EUR', position, state: deriveState(position) };
    const transaction = { row, events: [], operations: [] } as unknown as TransactionRecord;
    const decide = (operation: OperationType, amount: number) => {
      try {
        return decideOperation(transaction, operation, { amount }, terms);
      } catch (error) {
        assert.ok(error instanceof ProblemError);
        return error;
      }
    };
    const listed = allowedOperations(row as unknown as TransactionRow, terms);
    for (const { operation, allowed, maxAmount } of listed) {
      if (operation === 'Confirm' || !allowed) continue;
      const name = `${operation} of ${phase}`;
      assert.ok(maxAmount > 0, name);
      const decision = decide(operation, maxAmount);
      assert.ok(typeof decision === 'object' && 'amount' in decision, name);
      assert.equal(decision.amount, maxAmount, name);
      const refused = decide(operation, maxAmount + 1);
      assert.ok(refused instanceof ProblemError, name);
      assert.equal(refused.extensions?.['maxAmount'], maxAmount, name);
    }
    assert.ok(
      listed.some(({ allowed }) => allowed),
      phase,
    );
  }
});

test('with several captures, a capture is final if it leaves nothing to capture and nothing is pending', () => {
  const terms = { partialCancel: true, multipleCapture: true, overCaptureAllowance: 150 };
  const isFinal = (request: { amount?: number; final?: boolean }, pending = 0) => {
    const amounts = { authorized: 1500, captured: 500, captureReserved: pending };
    const position = { ...zeroAmounts, ...amounts, phase: 'Approved' as const };
    const row = { amount: 1500, currency: 'EUR', position, state: deriveState(position) };
    const transaction = { row, events: [], operations: [] } as unknown as TransactionRecord;
    const decision = decideOperation(transaction, 'Capture', request, terms);
    return typeof decision === 'object' && decision.isFinal;
  };
  for (const amount of [1000, 1150]) assert.equal(isFinal({ amount }), true, String(amount));
  assert.equal(isFinal({}), true);
  assert.equal(isFinal({ amount: 999 }), false);
  assert.equal(isFinal({ amount: 999, final: true }), true);
  assert.equal(isFinal({ final: false }), false);
  assert.equal(isFinal({}, 300), false, 'the pending capture can fail');
});
