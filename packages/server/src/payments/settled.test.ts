import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AcquirerOutcome } from '../acquiring/index.ts';
import type { LoadedTransaction, OperationKind, StoredOperation } from './model.ts';
import { settledStep } from './settled.ts';
import { noAmounts, type Position } from './state.ts';

const position: Position = {
  ...noAmounts,
  phase: 'Approved',
  authorized: 100,
  captured: 100,
  refundReserved: 60,
};
const loaded = { row: { position } } as unknown as LoadedTransaction;

function operation(kind: OperationKind, status: 'Sent' | 'Pending'): StoredOperation {
  return { kind, status, amount: 60, number: 1, details: {} } as unknown as StoredOperation;
}

const declined = (responseCode: string): AcquirerOutcome => ({ outcome: 'Declined', responseCode });
const when = { at: 1000, repeated: false, notFoundFinalAt: 5000 };

test('a repeat that the host had before has succeeded; a first that it had is asked again', () => {
  for (const code of ['94', '26']) {
    const repeat = settledStep(loaded, operation('Refund', 'Pending'), declined(code), {
      ...when,
      repeated: true,
    });
    assert.ok(repeat !== 'Unanswered');
    assert.equal(repeat.operation?.status, 'Succeeded');
    assert.deepEqual(repeat.changes, { refunded: 60, refundReserved: -60 });
    const first = settledStep(loaded, operation('Refund', 'Sent'), declined(code), when);
    assert.equal(first, 'Unanswered');
  }
});

test('a reversal whose original is unknown is final only once the original cannot come any more', () => {
  const reversal = operation('Reversal', 'Pending');
  assert.equal(settledStep(loaded, reversal, declined('25'), when), 'Unanswered');
  const later = settledStep(loaded, reversal, declined('25'), { ...when, at: 5000 });
  assert.ok(later !== 'Unanswered');
  assert.equal(later.changes.phase, 'Reversed');
  assert.equal(settledStep(loaded, reversal, declined('96'), { ...when, at: 9000 }), 'Unanswered');
});

test('a part that the host approves is what counts, and the rest is given back', () => {
  const outcome: AcquirerOutcome = { outcome: 'Approved', responseCode: '10', amount: 25 };
  const step = settledStep(loaded, operation('Refund', 'Sent'), outcome, when);
  assert.ok(step !== 'Unanswered');
  assert.deepEqual(step.changes, { refunded: 25, refundReserved: -60 });
  assert.equal(step.operation?.amount, 25);
});

test('what was never sent fails at first, and is tried again once it may have been sent', () => {
  const outcome: AcquirerOutcome = { outcome: 'NotSent', reason: 'not signed on' };
  const first = settledStep(loaded, operation('Refund', 'Sent'), outcome, when);
  assert.ok(first !== 'Unanswered');
  assert.equal(first.operation?.status, 'Failed');
  assert.deepEqual(first.changes, { refundReserved: -60 });
  assert.equal(settledStep(loaded, operation('Refund', 'Pending'), outcome, when), 'Unanswered');
  assert.equal(settledStep(loaded, operation('Reversal', 'Sent'), outcome, when), 'Unanswered');
});
