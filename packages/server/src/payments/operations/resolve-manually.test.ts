import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { type OperationType, type Position, zeroAmounts } from '../transaction/state-machine.ts';
import type { StoredOperation, TransactionRecord } from '../transaction/transaction.ts';
import { applyTransition } from '../transaction/transition.ts';
import { type ManualResolution, resolutionTransition } from './resolve-manually.ts';

const createdAtMs = Date.parse('2026-03-01T10:00:00.000Z');
const actorAndTime = { at: createdAtMs + 600_000, actor: 'user' };

const positions: Readonly<Record<OperationType, Partial<Position>>> = {
  Capture: { authorized: 100, captureReserved: 60 },
  Refund: { authorized: 100, captured: 100, refundReserved: 60 },
  Cancel: { authorized: 100, cancelReserved: 60 },
  Reversal: { authorized: 100, phase: 'Reversing' },
};

function transaction(kind: OperationType, members: Partial<StoredOperation> = {}) {
  const position = { ...zeroAmounts, phase: 'Approved', ...positions[kind] };
  const context = { timeZone: 'UTC', card: {} };
  const createdAt = new Date(createdAtMs).toISOString();
  const operation = {
    operationNumber: 2,
    kind,
    status: 'Pending',
    amount: 60,
    details: {},
    createdAt,
  };
  return {
    row: { position, version: 3, operationCount: 2, deadline: createdAtMs },
    events: [{ sequence: 1, type: 'transaction.received', at: createdAt, data: { context } }],
    operations: [{ ...operation, ...members }],
  } as unknown as TransactionRecord;
}

const resolution = (outcome: ManualResolution['outcome'], number = 2): ManualResolution => ({
  outcome,
  number,
  note: 'Confirmed by the help desk.',
});

function resolve(loaded: TransactionRecord, outcome: ManualResolution['outcome']) {
  const step = resolutionTransition(loaded, resolution(outcome), actorAndTime);
  assert.ok(step !== 'Done');
  return applyTransition(loaded.row, step);
}

const refuses = (loaded: TransactionRecord, decision: ManualResolution, at = actorAndTime.at) =>
  assert.throws(
    () => resolutionTransition(loaded, decision, { ...actorAndTime, at }),
    (error) => error instanceof ProblemError && error.code === 'resolution_not_possible',
  );

describe('an operation that is resolved manually', () => {
  it('books the reservation when done and releases it when not done', () => {
    const moved = { Capture: 'captured', Refund: 'refunded', Cancel: 'cancelled' } as const;
    const reserved = {
      Capture: 'captureReserved',
      Refund: 'refundReserved',
      Cancel: 'cancelReserved',
    } as const;
    for (const kind of ['Capture', 'Refund', 'Cancel'] as const) {
      const loaded = transaction(kind);
      const before = loaded.row.position[moved[kind]];
      const succeeded = resolve(loaded, 'Succeeded');
      assert.equal(succeeded.after.position[moved[kind]], before + 60);
      assert.equal(succeeded.after.position[reserved[kind]], 0);
      assert.equal(succeeded.operation?.status, 'Succeeded');
      const failed = resolve(loaded, 'Failed');
      assert.equal(failed.after.position[moved[kind]], before);
      assert.equal(failed.after.position[reserved[kind]], 0);
      assert.equal(failed.operation?.status, 'Declined');
      const { actor, note, response } = failed.event.data;
      assert.deepEqual(
        [actor, note, response?.reason],
        ['user', 'Confirmed by the help desk.', 'Resolved'],
      );
      assert.equal(failed.job, undefined);
    }
  });

  it('a reversal can be resolved as Succeeded only', () => {
    const loaded = transaction('Reversal');
    assert.equal(resolve(loaded, 'Succeeded').after.position.phase, 'Reversed');
    refuses(loaded, resolution('Failed'));
  });

  it('must have an alert', () => {
    const loaded = transaction('Refund');
    refuses(loaded, resolution('Failed'), actorAndTime.at - 1);
    assert.throws(
      () => resolutionTransition(loaded, resolution('Failed', 3), actorAndTime),
      (error) => error instanceof ProblemError && error.code === 'transaction_not_found',
    );
    const collided = transaction('Refund', { details: { hasReferenceCollision: true } } as never);
    assert.notEqual(
      resolutionTransition(collided, resolution('Failed'), { ...actorAndTime, at: createdAtMs }),
      'Done',
    );
    for (const status of ['Sent', 'Filed', 'Succeeded', 'Declined', 'Failed'] as const) {
      refuses(transaction('Refund', { status }), resolution('Failed'));
    }
  });

  it('is resolved once: a repetition has no effect and another result is refused', () => {
    const details = { response: { reason: 'Resolved' } } as never;
    const loaded = transaction('Refund', { status: 'Declined', details });
    assert.equal(resolutionTransition(loaded, resolution('Failed'), actorAndTime), 'Done');
    refuses(loaded, resolution('Succeeded'));
  });
});
