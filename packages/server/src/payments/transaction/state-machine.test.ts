import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transactionStates } from '@switchyard/contract';
import fc from 'fast-check';
import {
  applyPositionChanges,
  type ContractTerms,
  calculateOverCaptureAllowance,
  checkAllowed,
  confirmRuleFor,
  deriveState,
  type OperationType,
  type Position,
  type PositionChanges,
  remainingAuthorized,
  rulesByState,
  type State,
  zeroAmounts,
} from './state-machine.ts';

const terms: ContractTerms = {
  partialCancel: true,
  multipleCapture: true,
  overCaptureAllowance: 0,
};
const approved = (amounts: Partial<Position>): Position => ({
  ...zeroAmounts,
  phase: 'Approved',
  ...amounts,
});

// Spec: STATE-4 CARD-32
test('the state table contains exactly the states of the contract', () => {
  assert.deepEqual(Object.keys(rulesByState).sort(), [...transactionStates].sort());
});

// Spec: CARD-31
test('the first matching condition decides the state', () => {
  const cases: [Partial<Position>, State][] = [
    [{ authorized: 100 }, 'Authorized'],
    [{ authorized: 100, cancelled: 40 }, 'Authorized'],
    [{ authorized: 100, cancelled: 100 }, 'Cancelled'],
    [{ authorized: 100, captured: 40 }, 'PartiallyCaptured'],
    [{ authorized: 100, captured: 40, cancelled: 60 }, 'Captured'],
    [{ authorized: 100, captured: 100 }, 'Captured'],
    [{ authorized: 100, captured: 110 }, 'Captured'],
    [{ authorized: 100, captured: 100, refunded: 1 }, 'PartiallyRefunded'],
    [{ authorized: 100, captured: 40, refunded: 40 }, 'PartiallyRefunded'],
    [{ authorized: 100, captured: 40, cancelled: 60, refunded: 40 }, 'Refunded'],
    [{ authorized: 100, captured: 100, refunded: 100 }, 'Refunded'],
  ];
  for (const [amounts, expected] of cases) {
    assert.equal(deriveState(approved(amounts)), expected, JSON.stringify(amounts));
  }
});

test('a remaining amount can be captured or cancelled in every state', () => {
  const position = approved({ authorized: 100, captured: 40, refunded: 40 });
  assert.equal(deriveState(position), 'PartiallyRefunded');
  assert.deepEqual(checkAllowed(position, 'Capture', terms), {
    allowed: true,
    mode: 'PartialAllowed',
    maxAmount: 60,
  });
  assert.deepEqual(checkAllowed(position, 'Cancel', terms), {
    allowed: true,
    mode: 'PartialAllowed',
    maxAmount: 60,
  });
  assert.equal(checkAllowed(position, 'Refund', terms).allowed, false);
});

test('a reserved amount cannot be reserved again', () => {
  const position = approved({ authorized: 100, captured: 100, refundReserved: 60 });
  assert.deepEqual(checkAllowed(position, 'Refund', terms), {
    allowed: true,
    mode: 'Refundable',
    maxAmount: 40,
  });
});

test('cancelling a remainder after a capture requires partialCancel', () => {
  const position = approved({ authorized: 100, captured: 40 });
  const decision = checkAllowed(position, 'Cancel', { ...terms, partialCancel: false });
  assert.equal(decision.allowed ? undefined : decision.reason, 'partial_cancel_not_supported');
});

test('an operation on the full rest is refused while another operation is pending', () => {
  const cancelling = approved({ authorized: 100, cancelReserved: 30 });
  const capturing = approved({ authorized: 100, captureReserved: 30 });
  const reasonOf = (position: Position, verb: OperationType, of: Partial<ContractTerms> = {}) => {
    const decision = checkAllowed(position, verb, { ...terms, ...of });
    return decision.allowed ? decision.maxAmount : decision.reason;
  };
  assert.equal(reasonOf(cancelling, 'Cancel'), 'transaction_in_progress');
  assert.equal(reasonOf(cancelling, 'Reversal'), 'transaction_in_progress');
  assert.equal(reasonOf(cancelling, 'Capture'), 70);
  assert.equal(reasonOf(capturing, 'Cancel'), 70);
  assert.equal(reasonOf(capturing, 'Capture'), 70);
  const single = { multipleCapture: false };
  assert.equal(reasonOf(capturing, 'Capture', single), 'transaction_in_progress');
});

test('a refusal is temporary while a pending operation can make the operation possible', () => {
  const single = { ...terms, multipleCapture: false, partialCancel: false };
  const inProgress: [OperationType, Partial<Position>, ContractTerms?][] = [
    ['Refund', { captureReserved: 100 }],
    ['Refund', { captured: 40, refunded: 40, captureReserved: 60 }],
    ['Refund', { captured: 100, refundReserved: 100 }],
    ['Capture', { captureReserved: 100 }],
    ['Capture', { cancelReserved: 100 }],
    ['Cancel', { captureReserved: 100 }],
    ['Cancel', { captureReserved: 100 }, single],
    ['Reversal', { captureReserved: 100 }],
  ];
  const final: [OperationType, Partial<Position>, string, ContractTerms?][] = [
    ['Refund', {}, 'not_captured'],
    ['Refund', { cancelReserved: 100 }, 'not_captured'],
    ['Refund', { captured: 100, refunded: 100 }, 'already_refunded'],
    ['Capture', { captured: 100, refundReserved: 100 }, 'nothing_to_capture'],
    ['Cancel', { captured: 100, refundReserved: 100 }, 'already_captured'],
    ['Cancel', { captured: 40, captureReserved: 60 }, 'partial_cancel_not_supported', single],
    ['Reversal', { captured: 40, captureReserved: 60 }, 'already_captured'],
  ];
  const reasonOf = (
    type: OperationType,
    amounts: Partial<Position>,
    limits: ContractTerms = terms,
  ) => {
    const result = checkAllowed(approved({ authorized: 100, ...amounts }), type, limits);
    return result.allowed ? undefined : result.reason;
  };
  for (const [type, amounts, limits] of inProgress) {
    const label = `${type} ${JSON.stringify(amounts)}`;
    assert.equal(reasonOf(type, amounts, limits), 'transaction_in_progress', label);
  }
  for (const [type, amounts, reason, limits] of final) {
    assert.equal(reasonOf(type, amounts, limits), reason, `${type} ${JSON.stringify(amounts)}`);
  }
});

test('over-capture allowance is rounded down to minor units', () => {
  assert.equal(calculateOverCaptureAllowance(999, 10), 99);
  assert.equal(calculateOverCaptureAllowance(999_999_999_999, 100), 999_999_999_999);
  const position = approved({ authorized: 100, captured: 50 });
  const decision = checkAllowed(position, 'Capture', { ...terms, overCaptureAllowance: 15 });
  assert.deepEqual(decision, { allowed: true, mode: 'PartialAllowed', maxAmount: 65 });
});

test('a sale that waits for confirmation allows a full reversal only', () => {
  const position: Position = {
    ...zeroAmounts,
    phase: 'AwaitingConfirmation',
    authorized: 100,
    captured: 100,
  };
  assert.equal(deriveState(position), 'Captured');
  assert.equal(confirmRuleFor(position), 'Confirm');
  for (const verb of ['Capture', 'Cancel', 'Refund'] as const) {
    const decision = checkAllowed(position, verb, terms);
    assert.equal(decision.allowed ? undefined : decision.reason, 'confirmation_pending', verb);
  }
  const whole = { allowed: true, mode: 'FullOnly', maxAmount: 100 };
  assert.deepEqual(checkAllowed(position, 'Reversal', terms), whole);
  const confirmed = applyPositionChanges(position, { phase: 'Approved' });
  assert.equal(deriveState(confirmed), 'Captured');
  assert.equal(confirmRuleFor(confirmed), 'NoOp');
  const decision = checkAllowed(confirmed, 'Reversal', terms);
  assert.equal(decision.allowed ? undefined : decision.reason, 'already_captured');
});

test('an offline sale can be voided locally until its advice may have been sent', () => {
  const stored: Position = { ...zeroAmounts, phase: 'Stored' };
  const sending = applyPositionChanges(stored, { phase: 'Submitted' });
  assert.deepEqual([deriveState(stored), deriveState(sending)], ['Stored', 'Stored']);
  for (const verb of ['Cancel', 'Reversal'] as const) {
    assert.deepEqual(checkAllowed(stored, verb, terms), {
      allowed: true,
      mode: 'VoidLocally',
      maxAmount: 0,
    });
  }
  const queued = { allowed: true, mode: 'AfterOutcome', maxAmount: 0 };
  assert.deepEqual(checkAllowed(sending, 'Reversal', terms), queued);
  for (const verb of ['Cancel', 'Refund'] as const) {
    const decision = checkAllowed(sending, verb, terms);
    assert.equal(decision.allowed ? undefined : decision.reason, 'transaction_in_progress');
  }
});

type Move = {
  verb: Exclude<OperationType, 'Reversal'>;
  part: number;
  succeeds: boolean;
  settle: boolean;
};

const reservedOf = {
  Capture: 'captureReserved',
  Cancel: 'cancelReserved',
  Refund: 'refundReserved',
} as const;
const settledOf = { Capture: 'captured', Cancel: 'cancelled', Refund: 'refunded' } as const;

const moves = fc.array(
  fc.record<Move>({
    verb: fc.constantFrom('Capture', 'Cancel', 'Refund'),
    part: fc.integer({ min: 1, max: 100 }),
    succeeds: fc.boolean(),
    settle: fc.boolean(),
  }),
  { maxLength: 60 },
);

function holds(position: Position, overCapture: number): void {
  const { authorized, captured, cancelled, refunded } = position;
  const { captureReserved, cancelReserved, refundReserved } = position;
  assert.ok(refunded >= 0 && refundReserved >= 0 && refunded + refundReserved <= captured, 'I1');
  assert.ok(
    captured + captureReserved + cancelled + cancelReserved <= authorized + overCapture,
    'I2',
  );
  assert.ok(captureReserved >= 0 && cancelReserved >= 0 && remainingAuthorized(position) >= 0);
}

// Spec: INV-7
test('random operation sequences keep the amount invariants and event replay restores the position (I1, I2, I7)', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer({ min: 0, max: 1000 }),
      moves,
      (authorized, overCapture, sequence) => {
        const begun: PositionChanges = { phase: 'Approved', authorized };
        const log: PositionChanges[] = [begun];
        let position = applyPositionChanges({ ...zeroAmounts, phase: 'Received' }, begun);
        const open: { verb: Move['verb']; amount: number; succeeds: boolean }[] = [];
        const step = (changes: PositionChanges) => {
          log.push(changes);
          position = applyPositionChanges(position, changes);
          holds(position, overCapture);
        };
        const finish = ({ verb, amount, succeeds }: (typeof open)[number]) =>
          step({ [reservedOf[verb]]: -amount, ...(succeeds ? { [settledOf[verb]]: amount } : {}) });
        for (const { verb, part, succeeds, settle } of sequence) {
          const decision = checkAllowed(position, verb, {
            ...terms,
            overCaptureAllowance: overCapture,
          });
          if (decision.allowed && decision.maxAmount > 0) {
            const amount = Math.max(1, Math.floor((decision.maxAmount * part) / 100));
            step({ [reservedOf[verb]]: amount });
            open.push({ verb, amount, succeeds });
          }
          const next = settle ? open.shift() : undefined;
          if (next !== undefined) finish(next);
        }
        for (const each of open) finish(each);
        const replayed = log.reduce(applyPositionChanges, {
          ...zeroAmounts,
          phase: 'Received',
        } as Position);
        assert.deepEqual(replayed, position);
        assert.equal(deriveState(replayed), deriveState(position));
      },
    ),
    { seed: 20_261_121, numRuns: 500 },
  );
});
