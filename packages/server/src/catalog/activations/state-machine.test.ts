import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateLevels, type LevelActivation, nextState } from './state-machine.ts';

const names = ['Organization', 'Merchant', 'Store', 'LogicalDevice'] as const;
type Activation = NonNullable<LevelActivation['activation']>;

/** Determines the active levels; by default, level n was created at time n. */
function activeLevels(
  activations: (Partial<Activation> | undefined)[],
  createdAt = [1, 2, 3, 4],
): boolean[] {
  const levels = names.map((level, at): LevelActivation => {
    const activation = activations[at];
    const facts = { level, entityId: level, createdAt: createdAt[at] ?? 0 };
    if (activation === undefined) return facts;
    return { ...facts, activation: { activationId: level, status: 'Active', ...activation } };
  });
  return evaluateLevels(levels).map(({ active }) => active);
}

test('an activation includes existing entities below it, and no entities that are created later', () => {
  assert.deepEqual(activeLevels([{ decidedAt: 10, coversAt: 10 }]), [true, true, true, true]);
  const late = activeLevels([{ decidedAt: 10, coversAt: 10 }], [1, 2, 3, 11]);
  assert.deepEqual(late, [true, true, true, false]);
  assert.deepEqual(activeLevels([{ decidedAt: 10 }]), [true, false, false, false]);
});

test('of a decision about an entity and one above, the later one counts', () => {
  const top = { decidedAt: 10, coversAt: 10 };
  const deactivatedAt = (decidedAt: number) => ({ status: 'Inactive', decidedAt }) as const;
  assert.deepEqual(activeLevels([top, deactivatedAt(20)])[1], false);
  assert.deepEqual(activeLevels([top, deactivatedAt(5)])[1], true);
  assert.deepEqual(
    activeLevels([top, deactivatedAt(20), { decidedAt: 30, coversAt: 30 }])[3],
    true,
  );
});

test('a new request after a deactivation does not become active through an older decision at a higher level', () => {
  const top = { decidedAt: 10, coversAt: 10 };
  assert.equal(activeLevels([top, { status: 'Requested', decidedAt: 20 }])[1], false);
  assert.equal(activeLevels([top, { status: 'Requested' }])[1], true);
});

test('the provider can answer only an open activation, and only an ended activation can be requested again', () => {
  assert.equal(nextState('Requested', 'accept'), 'Active');
  assert.equal(nextState('Pending', 'refuse'), 'Refused');
  for (const state of ['Active', 'Refused', 'Inactive'] as const) {
    assert.equal(nextState(state, 'accept'), undefined);
    assert.equal(nextState(state, 'refuse'), undefined);
    assert.equal(nextState(state, 'postpone'), undefined);
  }
  for (const state of ['Requested', 'Pending', 'Active'] as const) {
    assert.equal(nextState(state, 'request'), undefined);
  }
});
