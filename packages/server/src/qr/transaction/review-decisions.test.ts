// Whole run: many requests with generated values.
// Tests holds against a model with random events, answers, refunds and decisions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import fc from 'fast-check';
import { systemIdGenerator } from '../../platform/index.ts';
import { resolveStep } from '../operations/resolve-review.ts';
import { createOperation, paymentReportStep } from './apply-payment-report.ts';
import { refundReportStep } from './apply-refund-report.ts';
import { afterChange, buildChange, isOpen, type PaymentStep } from './build-change.ts';
import type { LoadedPayment, QrEventData, QrRow } from './records.ts';
import { allowedResolutions, type Resolution, resolutionTable } from './review-decisions.ts';
import {
  applyChanges,
  decideOperation,
  isLive,
  type PaymentPhase,
  type PaymentPosition,
  type PositionChanges,
  type ReportedStatus,
  type ReviewReason,
  refundableAmount,
  reviewTransitions,
  type StatusReport,
} from './state-machine.ts';
import { unansweredRefundStep, unansweredSum } from './unanswered-refunds.ts';

const at = Date.parse('2026-03-01T12:00:00.000Z');
const newId = systemIdGenerator.uuid;
const payWithinMs = 180_000;
const fresh: PaymentPosition = {
  phase: 'Pending',
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

function payment(position: Partial<PaymentPosition> = {}): LoadedPayment {
  const iso = new Date(at).toISOString();
  const row: QrRow = {
    organizationId: newId(),
    transactionId: newId(),
    merchantId: newId(),
    storeId: newId(),
    deviceId: newId(),
    clientTransactionId: 'c-1',
    serviceId: newId(),
    providerId: newId(),
    providerTransactionId: 'P-1',
    position: { ...fresh, ...position },
    status: 'Pending',
    version: 2,
    operationCount: 0,
    providerEvents: 0,
    pollAttempts: 0,
    expiresAt: at + 180_000,
    dueAt: undefined,
    facts: {
      paymentType: 'p',
      paymentScenario: 'consumerscan',
      scenario: 'consumerscan',
      request: {},
    },
    createdAt: iso,
    updatedAt: iso,
  };
  return { row, operations: [] };
}

type Played = { loaded: LoadedPayment; changes: PositionChanges[]; accepted: boolean };

function applyStep(played: Played, step: PaymentStep | undefined): Played {
  if (step === undefined) return played;
  const change = buildChange(played.loaded, step);
  const loaded = afterChange(played.loaded, change);
  return { ...played, loaded, changes: [...played.changes, step.changes] };
}

/** Sequence numbers grow as from an ordered provider, or repeat earlier ones. */
type Act =
  | { act: 'Event'; status: ReportedStatus; amount?: number; currency?: string; isOld: boolean }
  | { act: 'Answer'; status: ReportedStatus; amount?: number }
  | { act: 'Cancel' | 'Expiry' }
  | { act: 'Refund'; amount: number }
  | { act: 'RefundEnds'; pick: number; status: 'Completed' | 'Declined' | 'Pending' | 'Forgotten' }
  | { act: 'Unanswered'; pick: number }
  | { act: 'Resolve'; resolution: Decided };

type Decided = Exclude<Resolution, 'Ask'>;
const decided: readonly Decided[] = ['Accept', 'Refund', 'Settle', 'Settle', 'Retry'];
const refundStatuses = ['Completed', 'Completed', 'Declined', 'Pending', 'Forgotten'] as const;

const words: readonly ReportedStatus[] = [
  ...(['Pending', 'Scanned', 'Authorized', 'Completed', 'Completed', 'Completed'] as const),
  ...(['Declined', 'Cancelled', 'Expired', 'Failed', 'Refunded'] as const),
];
const amount = fc.constantFrom(1000, 1000, 999, 2000);
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record(
        {
          act: fc.constant('Event' as const),
          status: fc.constantFrom(...words),
          amount,
          currency: fc.constantFrom('EUR', 'EUR', 'USD'),
          isOld: fc.boolean(),
        },
        { requiredKeys: ['act', 'status', 'isOld'] },
      ),
    },
    fc.record(
      { act: fc.constant('Answer' as const), status: fc.constantFrom(...words), amount },
      { requiredKeys: ['act', 'status'] },
    ),
    fc.constantFrom<Act>({ act: 'Cancel' }, { act: 'Expiry' }),
    fc.record({ act: fc.constant('Refund' as const), amount: fc.integer({ min: 1, max: 2000 }) }),
    fc.record({
      act: fc.constant('RefundEnds' as const),
      pick: fc.nat(9),
      status: fc.constantFrom(...refundStatuses),
    }),
    fc.record({ act: fc.constant('Unanswered' as const), pick: fc.nat(9) }),
    fc.record({
      act: fc.constant('Resolve' as const),
      resolution: fc.constantFrom(...decided),
    }),
  ),
  { maxLength: 30 },
);

const providerOf = (sequence: number): NonNullable<QrEventData['provider']> => ({
  eventId: newId(),
  type: 'payment.completed',
  sequence,
  occurredAt: new Date(at).toISOString(),
});

function ending(loaded: LoadedPayment, cause: 'Merchant' | 'Expiry'): PaymentStep {
  const operation = createOperation(loaded, 'Cancel', { at, newId, amount: 0, cause });
  return { at, type: 'qr.cancel_pending', changes: { ending: cause }, operations: [operation] };
}

function report(played: Played, statusReport: StatusReport): Played {
  const { sequence } = statusReport;
  const provider = sequence === undefined ? {} : { provider: providerOf(sequence) };
  return applyStep(
    played,
    paymentReportStep(played.loaded, statusReport, { at, newId, payWithinMs, ...provider })?.step,
  );
}

function play(played: Played, one: Act): Played {
  const { loaded } = played;
  const { position } = loaded.row;
  switch (one.act) {
    case 'Event': {
      const { act: _act, isOld, ...statusReport } = one;
      return report(played, { ...statusReport, sequence: position.sequence + (isOld ? 0 : 1) });
    }
    case 'Answer': {
      const { act: _act, ...statusReport } = one;
      return report(played, statusReport);
    }
    case 'Cancel': {
      const decision = decideOperation(position, 'Cancel');
      if (!decision.allowed || decision.mode !== 'Send') return played;
      return applyStep(played, ending(loaded, 'Merchant'));
    }
    case 'Expiry':
      if (!isLive(position) || position.ending !== null || position.hold !== null) return played;
      return applyStep(played, ending(loaded, 'Expiry'));
    case 'Refund': {
      const decision = decideOperation(position, 'Refund');
      if (!decision.allowed || decision.maxAmount < one.amount) return played;
      const refundDetails = { at, newId, amount: one.amount, cause: 'Merchant' as const };
      const operations = [createOperation(loaded, 'Refund', refundDetails)];
      const changes = { refundReserved: one.amount };
      return applyStep(played, { at, type: 'qr.refund_pending', changes, operations });
    }
    case 'RefundEnds': {
      const refunds = loaded.operations.filter(({ kind }) => kind === 'Refund');
      const refund = refunds[one.pick % Math.max(1, refunds.length)];
      if (refund === undefined) return played;
      const { status } = one;
      return applyStep(played, refundReportStep(loaded, refund.operationId, { status }, { at }));
    }
    case 'Unanswered': {
      const open = loaded.operations.filter((each) => each.kind === 'Refund' && isOpen(each));
      const refund = open[one.pick % Math.max(1, open.length)];
      if (refund === undefined) return played;
      return applyStep(played, unansweredRefundStep(loaded, refund.operationId, at));
    }
    default: {
      if (!allowedResolutions(position).includes(one.resolution)) {
        const refused = () => resolveStep(loaded, one, { at, newId, actor: 'somebody' });
        assert.throws(refused, ProblemError);
        return played;
      }
      const step = resolveStep(loaded, one, { at, newId, actor: 'somebody' });
      const accepted = played.accepted || one.resolution === 'Accept';
      return { ...applyStep(played, step), accepted };
    }
  }
}

function check({ loaded: { row, operations }, accepted }: Played): void {
  const { position } = row;
  const { paid, refunded, refundReserved, settled, phase, hold } = position;
  const refunds = operations.filter(({ kind }) => kind === 'Refund');
  const sumOf = (status: string) =>
    refunds.reduce((sum, each) => sum + (each.status === status ? each.amount : 0), 0);
  const undecided = sumOf('Pending') + sumOf('Unanswered');
  assert.deepEqual([undecided, sumOf('Succeeded')], [refundReserved, refunded]);
  const isUnanswered = hold === 'RefundUnanswered';
  assert.equal(
    unansweredSum({ operations }) > 0,
    isUnanswered,
    'an unanswered refund is under review',
  );
  assert.ok(settled >= 0 && refundableAmount(position) >= 0, 'no more goes back than was paid');
  if (hold !== null) {
    assert.ok(allowedResolutions(position).includes('Settle'), 'whoever looks at it can end it');
    assert.ok(paid > 0);
    if (isUnanswered) return;
    assert.ok(!operations.some(isOpen), 'nothing else is under way');
    assert.notEqual(phase, 'Completed');
    return;
  }
  if (isLive(position)) assert.equal(paid, 0, 'a paid payment is completed, or under review');
  else if (phase === 'Completed') assert.ok(accepted || paid === 1000);
  // The full amount that was paid for an ended payment is refunded, reserved or settled.
  else assert.equal(refundableAmount(position), 0, `${phase} keeps ${refundableAmount(position)}`);
}

// Spec: QRPROV-14
test('after any reports and decisions, money of an ended payment is refunded, reserved, settled or under review', () => {
  const seed = Number(process.env['SWITCHYARD_TEST_SEED'] ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  const transitions = new Set<string>();
  fc.assert(
    fc.property(acts, (all) => {
      let played: Played = { loaded: payment(), changes: [], accepted: false };
      for (const one of all) {
        const before = played.loaded.row.position;
        played = play(played, one);
        check(played);
        const { position } = played.loaded.row;
        if (!isLive(before)) assert.equal(position.phase, before.phase, 'an end keeps its name');
        if (before.hold !== position.hold) transitions.add(`${before.hold} ${position.hold}`);
      }
      assert.deepEqual(played.changes.reduce(applyChanges, fresh), played.loaded.row.position);
    }),
    { numRuns: 20_000, seed },
  );
  for (const hold of Object.keys(reviewTransitions)) {
    assert.ok(
      transitions.has(`null ${hold}`) && transitions.has(`${hold} null`),
      `${hold} comes and goes`,
    );
  }
});

const ends: readonly PaymentPhase[] = ['Declined', 'Cancelled', 'Expired', 'Failed'];
const reasons = Object.keys(reviewTransitions) as ReviewReason[];

test('a provider event that retracts a completion ends a payment under review', () => {
  for (const finalStatus of ends) {
    const underReview = payment({ hold: 'AmountDiffers', paid: 999, sequence: 3 });
    const { loaded } = report(
      { loaded: underReview, changes: [], accepted: false },
      { status: finalStatus, sequence: 4 },
    );
    const { phase, paid, hold } = loaded.row.position;
    assert.deepEqual([phase, paid, hold], [finalStatus, 0, null]);
    const statusReport = paymentReportStep(
      underReview,
      { status: finalStatus, sequence: 4 },
      { at, newId, payWithinMs, provider: providerOf(4) },
    );
    assert.deepEqual(
      [statusReport?.step.data?.reason, statusReport?.alarm],
      ['Retracted', 'contradiction'],
    );
    // An answer may be older than the event, so the operator decides.
    const answer = paymentReportStep(
      underReview,
      { status: finalStatus },
      { at, newId, payWithinMs },
    );
    assert.deepEqual([answer?.step.data?.reason, answer?.alarm], ['Contradicts', 'contradiction']);
    assert.deepEqual(answer?.step.changes, {});
  }
});

test('after a declined refund, a provider report of a final status changes no amount and raises an alarm', () => {
  for (const finalStatus of ends) {
    const underReview = payment({
      phase: 'Cancelled',
      hold: 'RefundDeclined',
      paid: 1000,
      sequence: 3,
    });
    const context = { at, newId, payWithinMs, provider: providerOf(4) };
    const statusReport = paymentReportStep(
      underReview,
      { status: finalStatus, sequence: 4 },
      context,
    );
    assert.deepEqual(
      [statusReport?.step.changes, statusReport?.alarm],
      [{ sequence: 4 }, 'contradiction'],
    );
  }
});

test('a newer provider report replaces the amount and the reason of a review', () => {
  const underReview = payment({ hold: 'AmountDiffers', paid: 999, sequence: 3 });
  const statusReport = { status: 'Completed', sequence: 4, amount: 900, currency: 'EUR' } as const;
  const { loaded } = report({ loaded: underReview, changes: [], accepted: false }, statusReport);
  assert.deepEqual([loaded.row.position.paid, loaded.row.position.hold], [900, 'AmountDiffers']);
  const abroad = paymentReportStep(
    ...([
      underReview,
      { ...statusReport, currency: 'USD' },
      { at, newId, payWithinMs, provider: providerOf(4) },
    ] as const),
  );
  assert.deepEqual(
    [abroad?.step.type, abroad?.step.changes.hold, abroad?.step.changes.paid],
    ['qr.held', 'CurrencyDiffers', 1],
  );
});

test('an operator cannot accept an ended payment under review, and can settle it for every reason', () => {
  for (const reason of reasons) {
    assert.ok(!resolutionTable[reason].Ended.includes('Accept'));
    assert.ok(resolutionTable[reason].Ended.includes('Settle'));
  }
  const underReview = payment({ phase: 'Cancelled', hold: 'RefundDeclined', paid: 1000 });
  const refundDetails = { at, newId, actor: 'somebody' };
  const accept = () => resolveStep(underReview, { resolution: 'Accept' }, refundDetails);
  assert.throws(accept, { code: 'resolution_not_possible' });
  const settled = resolveStep(
    underReview,
    { resolution: 'Settle', note: 'In cash.' },
    refundDetails,
  );
  assert.deepEqual(settled.changes, { hold: null, settled: 1000 });
  assert.equal(settled.data?.note, 'In cash.');
});
