import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import { noAmounts, type Position } from '../transaction/state-machine.ts';
import type {
  LoadedTransaction,
  OperationKind,
  StoredOperation,
} from '../transaction/transaction.ts';
import { settledStep } from './operation-outcome.ts';

const position: Position = {
  ...noAmounts,
  phase: 'Approved',
  authorized: 100,
  captured: 100,
  refundReserved: 60,
};
const transaction = (of: Partial<Position> = {}, members: Partial<LoadedTransaction> = {}) =>
  ({
    row: { position: { ...position, ...of } },
    events: [],
    operations: [],
    ...members,
  }) as unknown as LoadedTransaction;
const loaded = transaction();

function operation(kind: OperationKind, status: 'Sent' | 'Pending'): StoredOperation {
  return { kind, status, amount: 60, number: 1, details: {} } as unknown as StoredOperation;
}

const declined = (responseCode: string): AcquirerOutcome => ({ outcome: 'Declined', responseCode });
const when = { at: 1000, repeated: false, notFoundFinalAt: 5000, asSent: loaded };

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

test('a malfunction at a repeat is no judgement: the first message may have been booked', () => {
  for (const kind of ['Refund', 'Capture', 'Cancel'] as const) {
    for (const code of ['06', '09', '19', '68', '90', '91', '92', '96', 'N0', '16']) {
      const circumstances = { ...when, repeated: true };
      const repeat = settledStep(loaded, operation(kind, 'Pending'), declined(code), circumstances);
      assert.equal(repeat, 'Unanswered', `${kind} ${code}`);
    }
    const judged = settledStep(loaded, operation(kind, 'Pending'), declined('05'), {
      ...when,
      repeated: true,
    });
    assert.ok(judged !== 'Unanswered');
    assert.equal(judged.operation?.status, 'Declined');
  }
});

test('a malfunction at the first message is a decline, but for what may still be booked', () => {
  for (const code of ['06', '19', '90', '91', '92', '96']) {
    const first = settledStep(loaded, operation('Refund', 'Sent'), declined(code), when);
    assert.ok(first !== 'Unanswered', code);
    assert.equal(first.operation?.status, 'Declined');
    assert.deepEqual(first.changes, { refundReserved: -60 });
  }
  for (const code of ['09', '68', '16', 'ZZ', '400']) {
    const open = settledStep(loaded, operation('Refund', 'Sent'), declined(code), when);
    assert.equal(open, 'Unanswered', code);
  }
  const plain: AcquirerOutcome = { outcome: 'Declined', responseCode: 'ZZ', isPlain: true };
  const refused = settledStep(loaded, operation('Refund', 'Sent'), plain, when);
  assert.ok(refused !== 'Unanswered');
  assert.equal(refused.operation?.status, 'Declined');
});

test('a reversal whose original is unknown is final only once the original cannot come any more', () => {
  const reversal = operation('Reversal', 'Pending');
  const unanswered = transaction({ phase: 'Reversing', authorized: 0, captured: 0 });
  assert.equal(settledStep(unanswered, reversal, declined('25'), when), 'Unanswered');
  const later = settledStep(unanswered, reversal, declined('25'), { ...when, at: 5000 });
  assert.ok(later !== 'Unanswered');
  assert.equal(later.changes.phase, 'Reversed');
  const malfunction = settledStep(unanswered, reversal, declined('96'), { ...when, at: 9000 });
  assert.equal(malfunction, 'Unanswered');
});

test('a sale that the host has approved is never unknown to it', () => {
  const reversal = operation('Reversal', 'Pending');
  const nothing = { phase: 'Reversing', authorized: 0, captured: 0 } as const;
  const late = (code: string, reason: string) =>
    [{ type: 'transaction.late_response', data: { response: { code }, reason } }] as never;
  const taken = [{ ...reversal, number: 0, details: { approvedAtHost: true } }] as never;
  const atLast = (of: LoadedTransaction) =>
    settledStep(of, reversal, declined('25'), { ...when, at: 9000 });
  assert.equal(atLast(transaction({ phase: 'Reversing', captured: 0 })), 'Unanswered');
  assert.equal(atLast(transaction(nothing, { events: late('00', 'Sale') })), 'Unanswered');
  assert.equal(atLast(transaction(nothing, { operations: taken })), 'Unanswered');
  assert.notEqual(atLast(transaction(nothing, { events: late('05', 'Sale') })), 'Unanswered');
  assert.notEqual(atLast(transaction(nothing, { events: late('00', 'Reversal') })), 'Unanswered');
});

test('a sale that the host has approved is gone once it has taken a reversal, and unknown to it then', () => {
  const reversal = { ...operation('Reversal', 'Pending'), number: 2 };
  const events = [
    { type: 'transaction.late_response', data: { response: { code: '00' }, reason: 'Sale' } },
  ] as never;
  const after = (status: string, response: object) =>
    transaction({ phase: 'Reversing', authorized: 0, captured: 0 }, {
      events,
      operations: [{ ...reversal, number: 1, status, details: { response } }, reversal],
    } as never);
  const answered = (of: LoadedTransaction, at = 9000) =>
    settledStep(of, reversal, declined('25'), { ...when, at });
  for (const response of [{ code: '00' }, { code: '94' }]) {
    const step = answered(after('Succeeded', response));
    assert.ok(step !== 'Unanswered');
    assert.equal(step.operation?.status, 'Succeeded');
  }
  assert.equal(answered(after('Succeeded', { code: '00' }), 4999), 'Unanswered', 'too early');
  assert.equal(answered(after('Succeeded', { code: '25' })), 'Unanswered');
  assert.equal(answered(after('Succeeded', { reason: 'Resolved' })), 'Unanswered', 'by hand');
  assert.equal(answered(after('Pending', {})), 'Unanswered');
});

test('a reversal that the host had before has succeeded, the first message of the first one not', () => {
  const reversal = { ...operation('Reversal', 'Pending'), number: 2 };
  const before = (code: string, status = 'Succeeded') =>
    transaction({}, {
      operations: [{ ...reversal, number: 1, status, details: { response: { code } } }, reversal],
    } as never);
  for (const code of ['94', '26']) {
    const states = [
      settledStep(loaded, reversal, declined(code), when),
      settledStep(loaded, { ...reversal, details: { collided: true } } as never, declined(code), {
        ...when,
        repeated: true,
      }),
      settledStep(before('25'), reversal, declined(code), when),
      settledStep(before('00', 'Pending'), reversal, declined(code), when),
    ];
    assert.deepEqual(states, Array(4).fill('Unanswered'));
    for (const step of [
      settledStep(loaded, reversal, declined(code), { ...when, repeated: true }),
      settledStep(before('00'), reversal, declined(code), when),
    ]) {
      assert.ok(step !== 'Unanswered');
      assert.equal(step.operation?.status, 'Succeeded');
    }
  }
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
  // The adapter's own words are for the log.
  assert.deepEqual(first.operation?.details.response, { reason: 'AcquirerUnavailable' });
  assert.deepEqual(first.changes, { refundReserved: -60 });
  assert.equal(settledStep(loaded, operation('Refund', 'Pending'), outcome, when), 'Unanswered');
  assert.equal(settledStep(loaded, operation('Reversal', 'Sent'), outcome, when), 'Unanswered');
});
