import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transactionStates } from '@switchyard/contract';
import fc from 'fast-check';
import {
  apply,
  type Changes,
  confirmRuleOf,
  judge,
  noAmounts,
  openAmount,
  overCaptureOf,
  type Position,
  type State,
  stateOf,
  stateTable,
  type Terms,
  type Verb,
} from './state-machine.ts';

const terms: Terms = { partialCancel: true, multipleCapture: true, overCapture: 0 };
const approved = (amounts: Partial<Position>): Position => ({
  ...noAmounts,
  phase: 'Approved',
  ...amounts,
});

test('the table speaks of every state of the contract, and of no other', () => {
  assert.deepEqual(Object.keys(stateTable).sort(), [...transactionStates].sort());
});

test('amounts name the state, the first of the list that fits', () => {
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
    assert.equal(stateOf(approved(amounts)), expected, JSON.stringify(amounts));
  }
});

test('an open remainder can be captured or cancelled whatever the name', () => {
  const position = approved({ authorized: 100, captured: 40, refunded: 40 });
  assert.equal(stateOf(position), 'PartiallyRefunded');
  assert.deepEqual(judge(position, 'Capture', terms), {
    allowed: true,
    mode: 'Open',
    maxAmount: 60,
  });
  assert.deepEqual(judge(position, 'Cancel', terms), {
    allowed: true,
    mode: 'Open',
    maxAmount: 60,
  });
  assert.equal(judge(position, 'Refund', terms).allowed, false);
});

test('what is reserved cannot be had a second time', () => {
  const position = approved({ authorized: 100, captured: 100, refundReserved: 60 });
  assert.deepEqual(judge(position, 'Refund', terms), {
    allowed: true,
    mode: 'Refundable',
    maxAmount: 40,
  });
});

test('a remainder beside captures is cancelled only where the acquirer can', () => {
  const position = approved({ authorized: 100, captured: 40 });
  const verdict = judge(position, 'Cancel', { ...terms, partialCancel: false });
  assert.equal(verdict.allowed ? undefined : verdict.reason, 'partial_cancel_not_supported');
});

test('what takes all the rest waits for what is under way', () => {
  const cancelling = approved({ authorized: 100, cancelReserved: 30 });
  const capturing = approved({ authorized: 100, captureReserved: 30 });
  const reasonOf = (position: Position, verb: Verb, of: Partial<Terms> = {}) => {
    const verdict = judge(position, verb, { ...terms, ...of });
    return verdict.allowed ? verdict.maxAmount : verdict.reason;
  };
  assert.equal(reasonOf(cancelling, 'Cancel'), 'transaction_in_progress');
  assert.equal(reasonOf(cancelling, 'Reverse'), 'transaction_in_progress');
  assert.equal(reasonOf(cancelling, 'Capture'), 70);
  assert.equal(reasonOf(capturing, 'Cancel'), 70);
  assert.equal(reasonOf(capturing, 'Capture'), 70);
  const single = { multipleCapture: false };
  assert.equal(reasonOf(capturing, 'Capture', single), 'transaction_in_progress');
});

test('the allowance above the authorised amount is counted in whole minor units', () => {
  assert.equal(overCaptureOf(999, 10), 99);
  assert.equal(overCaptureOf(999_999_999_999, 100), 999_999_999_999);
  const position = approved({ authorized: 100, captured: 50 });
  const verdict = judge(position, 'Capture', { ...terms, overCapture: 15 });
  assert.deepEqual(verdict, { allowed: true, mode: 'Open', maxAmount: 65 });
});

test('a sale that awaits its confirmation is named as it will stand, and only taken back whole', () => {
  const position: Position = {
    ...noAmounts,
    phase: 'Unconfirmed',
    authorized: 100,
    captured: 100,
  };
  assert.equal(stateOf(position), 'Captured');
  assert.equal(confirmRuleOf(position), 'Confirm');
  for (const verb of ['Capture', 'Cancel', 'Refund'] as const) {
    const verdict = judge(position, verb, terms);
    assert.equal(verdict.allowed ? undefined : verdict.reason, 'confirmation_pending', verb);
  }
  const whole = { allowed: true, mode: 'Whole', maxAmount: 100 };
  assert.deepEqual(judge(position, 'Reverse', terms), whole);
  const confirmed = apply(position, { phase: 'Approved' });
  assert.equal(stateOf(confirmed), 'Captured');
  assert.equal(confirmRuleOf(confirmed), 'Nothing');
  const verdict = judge(confirmed, 'Reverse', terms);
  assert.equal(verdict.allowed ? undefined : verdict.reason, 'already_captured');
});

test('an offline sale is taken back alone until its message may have left', () => {
  const stored: Position = { ...noAmounts, phase: 'Stored' };
  const sending = apply(stored, { phase: 'Sending' });
  assert.deepEqual([stateOf(stored), stateOf(sending)], ['Stored', 'Stored']);
  for (const verb of ['Cancel', 'Reverse'] as const) {
    assert.deepEqual(judge(stored, verb, terms), { allowed: true, mode: 'Withdraw', maxAmount: 0 });
  }
  const queued = { allowed: true, mode: 'Queue', maxAmount: 0 };
  assert.deepEqual(judge(sending, 'Reverse', terms), queued);
  const verdict = judge(sending, 'Cancel', terms);
  assert.equal(verdict.allowed ? undefined : verdict.reason, 'transaction_in_progress');
});

type Move = { verb: Exclude<Verb, 'Reverse'>; part: number; succeeds: boolean; settle: boolean };

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
  assert.ok(captureReserved >= 0 && cancelReserved >= 0 && openAmount(position) >= 0);
}

test('no sequence of judged operations breaks an amount, and replay gives the position (I1, I2, I7)', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer({ min: 0, max: 1000 }),
      moves,
      (authorized, overCapture, sequence) => {
        const begun: Changes = { phase: 'Approved', authorized };
        const log: Changes[] = [begun];
        let position = apply({ ...noAmounts, phase: 'Received' }, begun);
        const open: { verb: Move['verb']; amount: number; succeeds: boolean }[] = [];
        const step = (changes: Changes) => {
          log.push(changes);
          position = apply(position, changes);
          holds(position, overCapture);
        };
        const finish = ({ verb, amount, succeeds }: (typeof open)[number]) =>
          step({ [reservedOf[verb]]: -amount, ...(succeeds ? { [settledOf[verb]]: amount } : {}) });
        for (const { verb, part, succeeds, settle } of sequence) {
          const verdict = judge(position, verb, { ...terms, overCapture });
          if (verdict.allowed && verdict.maxAmount > 0) {
            const amount = Math.max(1, Math.floor((verdict.maxAmount * part) / 100));
            step({ [reservedOf[verb]]: amount });
            open.push({ verb, amount, succeeds });
          }
          const next = settle ? open.shift() : undefined;
          if (next !== undefined) finish(next);
        }
        for (const each of open) finish(each);
        const replayed = log.reduce(apply, { ...noAmounts, phase: 'Received' } as Position);
        assert.deepEqual(replayed, position);
        assert.equal(stateOf(replayed), stateOf(position));
      },
    ),
    { seed: 20_261_121, numRuns: 500 },
  );
});
