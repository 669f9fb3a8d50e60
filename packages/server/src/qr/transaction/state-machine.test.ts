// Tests the state tables against a model with random reports: the amounts always add up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { qrStatuses } from '@switchyard/contract';
import fc from 'fast-check';
import { sizeOfRun } from '../../../test/faults/fault-size.ts';
import { allowedResolutions, changesOfResolution, type Resolution } from './review-decisions.ts';
import {
  applyChanges,
  decideOperation,
  decideReport,
  endUnansweredPayment,
  isLive,
  operationTable,
  type PaymentPosition,
  type ReportedStatus,
  reportTransitions,
  type StatusReport,
  statusOf,
} from './state-machine.ts';

const fresh: PaymentPosition = {
  phase: 'Created',
  amount: 1000,
  currency: 'EUR',
  paid: 0,
  refunded: 0,
  refundReserved: 0,
  settled: 0,
  ending: null,
  hold: null,
  sequence: 0,
};

type Act =
  | { act: 'Said'; report: StatusReport }
  | { act: 'Cancel' | 'Expiry' | 'NotFound' | 'EndAlone' }
  | { act: 'Refund'; share: number }
  | { act: 'RefundEnds'; isDone: boolean }
  | { act: 'Resolve'; resolution: Exclude<Resolution, 'Ask' | 'Retry'> };

const status = fc.constantFrom<ReportedStatus>(...(qrStatuses as readonly ReportedStatus[]));
const report: fc.Arbitrary<StatusReport> = fc.record(
  {
    status,
    sequence: fc.integer({ min: 1, max: 12 }),
    amount: fc.constantFrom(1000, 1000, 1000, 999),
    currency: fc.constantFrom('EUR', 'EUR', 'EUR', 'USD'),
  },
  { requiredKeys: ['status'] },
);
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: report.map((each): Act => ({ act: 'Said', report: each })) },
    fc.constantFrom<Act>(
      ...([
        { act: 'Cancel' },
        { act: 'Expiry' },
        { act: 'NotFound' },
        { act: 'EndAlone' },
      ] as const),
    ),
    fc.integer({ min: 1, max: 100 }).map((share): Act => ({ act: 'Refund', share })),
    fc.boolean().map((isDone): Act => ({ act: 'RefundEnds', isDone })),
    fc.constantFrom<Act>(
      { act: 'Resolve', resolution: 'Accept' },
      { act: 'Resolve', resolution: 'Refund' },
      { act: 'Resolve', resolution: 'Settle' },
    ),
  ),
  { maxLength: 40 },
);

/** The observed facts, independent of the tables under test. */
type World = { takenBack: number; accepted: boolean; reported: string[] };

function step(position: PaymentPosition, world: World, one: Act): PaymentPosition {
  switch (one.act) {
    case 'Said': {
      const decision = decideReport(position, one.report);
      if (decision.kind === 'RefundLatePayment') {
        assert.equal(decision.amount, decision.changes.refundReserved);
        world.takenBack += 1;
      }
      return applyChanges(position, decision.changes);
    }
    case 'Cancel': {
      const decision = decideOperation(position, 'Cancel');
      const sends = decision.allowed && decision.mode === 'Send';
      return sends ? applyChanges(position, { ending: 'Merchant' }) : position;
    }
    case 'Expiry':
    case 'NotFound': {
      const lapses = isLive(position) && position.ending === null && position.hold === null;
      const ending = one.act === 'Expiry' ? 'Expiry' : 'Unknown';
      return lapses ? applyChanges(position, { ending }) : position;
    }
    case 'EndAlone':
      if (!isLive(position) || position.ending === null) return position;
      return applyChanges(position, endUnansweredPayment(position));
    case 'Refund': {
      const decision = decideOperation(position, 'Refund');
      const refundReserved = Math.floor((decision.maxAmount * one.share) / 100);
      return decision.allowed ? applyChanges(position, { refundReserved }) : position;
    }
    case 'RefundEnds': {
      const { refundReserved } = position;
      const refunded = one.isDone ? refundReserved : 0;
      return applyChanges(position, { refunded, refundReserved: -refundReserved });
    }
    default:
      if (!allowedResolutions(position).includes(one.resolution)) return position;
      if (one.resolution === 'Accept') world.accepted = true;
      return applyChanges(position, changesOfResolution(position, one.resolution).changes);
  }
}

function checkMoney(position: PaymentPosition): void {
  const { paid, refunded, refundReserved, settled } = position;
  assert.ok(refunded >= 0 && refundReserved >= 0 && paid >= 0 && settled >= 0);
  assert.ok(refunded + refundReserved + settled <= paid, JSON.stringify(position));
  if (isLive(position)) assert.equal(position.ending !== null && position.hold !== null, false);
  else assert.equal(position.ending, null);
}

const isEnd = (position: PaymentPosition) => !isLive(position);

// Spec: QRPROV-1
test('reports of a provider in any order never lose money or refund it twice', () => {
  const seed = Number(process.env['SWITCHYARD_TEST_SEED'] ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  fc.assert(
    fc.property(acts, (all) => {
      const world: World = { takenBack: 0, accepted: false, reported: [] };
      let position = fresh;
      for (const one of all) {
        const before = position;
        position = step(position, world, one);
        checkMoney(position);
        // After its end for the terminal, the payment keeps its phase.
        if (isEnd(before)) assert.equal(position.phase, before.phase, JSON.stringify(one));
        // A cancelled payment does not complete later, unless an operator accepts it.
        if (before.ending === 'Merchant' && before.hold === null && position.hold === null) {
          assert.notEqual(position.phase, 'Completed');
        }
        assert.ok(position.sequence >= before.sequence);
      }
      assert.ok(world.takenBack <= 1);
      if (position.phase === 'Completed' && !world.accepted) assert.equal(position.paid, 1000);
    }),
    { numRuns: sizeOfRun({ small: 2_000, whole: 20_000, full: 20_000 }), seed },
  );
});

test('the same events in any order end alike where one of them is an end', () => {
  const sequence: StatusReport[] = [
    { status: 'Pending', sequence: 1 },
    { status: 'Scanned', sequence: 2 },
    { status: 'Authorized', sequence: 3 },
    { status: 'Completed', sequence: 4, amount: 1000, currency: 'EUR' },
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(sequence, { minLength: 4 }), (shuffled) => {
      const twice = [...shuffled, ...shuffled];
      const end = twice.reduce(
        (position, each) => applyChanges(position, decideReport(position, each).changes),
        fresh,
      );
      assert.deepEqual([end.phase, end.paid, end.sequence], ['Completed', 1000, 4]);
    }),
  );
});

test('the operation table contains every status, and each row of the transition table contains every phase', () => {
  assert.deepEqual(Object.keys(operationTable).sort(), [...qrStatuses].sort());
  const phases = Object.keys(reportTransitions);
  for (const row of Object.values(reportTransitions))
    assert.deepEqual(Object.keys(row).sort(), phases.sort());
});

test('the platform refunds a completion after an end once, and ignores an end after a completion', () => {
  for (const phase of ['Declined', 'Cancelled', 'Expired', 'Failed'] as const) {
    const ended: PaymentPosition = { ...fresh, phase, sequence: 3 };
    const late = decideReport(ended, { status: 'Completed', sequence: 4 });
    assert.equal(late.kind, 'RefundLatePayment');
    const after = applyChanges(ended, late.changes);
    assert.deepEqual([after.phase, after.paid, after.refundReserved], [phase, 1000, 1000]);
    assert.equal(decideReport(after, { status: 'Completed', sequence: 5 }).kind, 'Nothing');
    const paid: PaymentPosition = { ...fresh, phase: 'Completed', paid: 1000 };
    const contradiction = decideReport(paid, { status: phase, sequence: 4 });
    assert.deepEqual(
      [contradiction.kind, 'cause' in contradiction && contradiction.cause],
      ['Nothing', 'Contradicts'],
    );
  }
});

// Spec: QRPROV-13
test('a second completion of an ended payment is its first one, or contradicts it', () => {
  const late = { status: 'Completed', sequence: 4, amount: 500, currency: 'EUR' } as const;
  const fall: PaymentPosition = { ...fresh, phase: 'Expired', sequence: 3 };
  const after = applyChanges(fall, decideReport(fall, late).changes);
  assert.deepEqual([after.paid, after.refundReserved], [500, 500]);
  const why = (overrides: Partial<StatusReport>) => {
    const decision = decideReport(after, { ...late, sequence: 5, ...overrides });
    assert.deepEqual([decision.kind, decision.changes], ['Nothing', { sequence: 5 }]);
    return 'cause' in decision && decision.cause;
  };
  assert.equal(why({}), 'AfterEnd');
  assert.equal(why({ amount: 1000 }), 'Contradicts');
  assert.equal(why({ currency: 'USD' }), 'Contradicts');
});

test('the refunded amount determines the status of a completed payment', () => {
  const paid: PaymentPosition = { ...fresh, phase: 'Completed', paid: 1000 };
  assert.equal(statusOf(paid), 'Completed');
  assert.equal(statusOf({ ...paid, refunded: 1 }), 'PartiallyRefunded');
  assert.equal(statusOf({ ...paid, refunded: 1000 }), 'Refunded');
  assert.equal(statusOf({ ...paid, phase: 'Cancelled', refunded: 1000 }), 'Cancelled');
});
