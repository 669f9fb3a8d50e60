// Tests payments whose provider does not answer: growing pauses, then an end without it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueClockOf } from '../../../test/support/movable-clock.ts';
import { createFailPoints, createLog, isoTime, systemIdGenerator } from '../../platform/index.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { createRunningPayments } from '../runtime/running-payments.ts';
import { createOperation } from '../transaction/apply-payment-report.ts';
import { buildChange, leaseMs, mergeOperations, pauseMs } from '../transaction/build-change.ts';
import {
  acknowledgedRefundRetryMs,
  cancelRetryMs,
  expiryGraceMs,
  refundRetryMs,
} from '../transaction/limits.ts';
import type { LoadedPayment, PaymentChange, QrRow } from '../transaction/records.ts';
import { pollPayment } from './poll-due-payments.ts';

const organizationId = systemIdGenerator.uuid();
const payWithinMs = 180_000;
const silent = { outcome: 'Unknown', fault: 'timed_out' } as const;
const notSent = { outcome: 'NotSent', reason: 'circuit_open' } as const;

type Answers = Partial<Record<'status' | 'cancel' | 'refund' | 'refundStatus', unknown>>;

/** A payment in memory, a clock that advances from poll to poll, and a scripted provider. */
function world(answers: Answers, members: Partial<QrRow> = {}, from: Partial<LoadedPayment> = {}) {
  let now = Date.parse('2026-03-01T12:00:00.000Z');
  const at = isoTime(now);
  const row: QrRow = {
    organizationId,
    transactionId: systemIdGenerator.uuid(),
    merchantId: systemIdGenerator.uuid(),
    storeId: systemIdGenerator.uuid(),
    deviceId: systemIdGenerator.uuid(),
    clientTransactionId: 'c-1',
    serviceId: systemIdGenerator.uuid(),
    providerId: systemIdGenerator.uuid(),
    providerTransactionId: undefined,
    position: {
      phase: 'Pending',
      amount: 500,
      currency: 'EUR',
      paid: 0,
      refunded: 0,
      refundReserved: 0,
      settled: 0,
      ending: null,
      hold: null,
      sequence: 0,
    },
    status: 'Pending',
    version: 2,
    operationCount: 0,
    providerEvents: 0,
    pollAttempts: 0,
    expiresAt: now + payWithinMs,
    dueAt: now,
    facts: {
      paymentType: 'p',
      paymentScenario: 'consumerscan',
      scenario: 'consumerscan',
      request: {},
    },
    createdAt: at,
    updatedAt: at,
    ...members,
  };
  let loaded: LoadedPayment = { row, operations: [], ...from };
  const types: string[] = [];
  const providerCalls: string[] = [];
  const alarms: string[] = [];
  const store = {
    find: async () => loaded,
    async commit(change: PaymentChange) {
      if (change.before.version !== loaded.row.version) return false;
      loaded = {
        row: change.after,
        operations: mergeOperations(loaded.operations, change.operations),
      };
      types.push(change.event.type);
      return true;
    },
    async postpone(payment: QrRow, dueAt: number, attempts: number) {
      if (payment.version === loaded.row.version)
        loaded = { ...loaded, row: { ...payment, dueAt, pollAttempts: attempts } };
    },
  };
  const answerWith = (name: keyof Answers) => async (_of: unknown, about: unknown) => {
    providerCalls.push(name);
    const answer = answers[name] ?? silent;
    return typeof answer === 'function' ? answer(providerCalls.length, about) : answer;
  };
  const deps = {
    store,
    ids: systemIdGenerator,
    clock: { now: () => now },
    dueClock: dueClockOf({ now: () => now }),
    runningPayments: createRunningPayments(),
    providers: {
      status: answerWith('status'),
      cancel: answerWith('cancel'),
      refund: answerWith('refund'),
      refundStatus: answerWith('refundStatus'),
    },
    live: { publish: () => {}, subscribe: () => undefined },
    alarms: { raise: (reason: string) => void alarms.push(reason), countOutcome: () => {} },
    wakePoller: () => {},
    digestOf: (text: string) => text,
    log: createLog({ logLevel: 'silent', instanceName: 'looks' }),
    failPoints: createFailPoints(),
    payWithinMs,
  } as unknown as QrDeps;
  return {
    types,
    providerCalls,
    alarms,
    now: () => now,
    payment: () => loaded,
    /** Polls at each due time for the given duration. */
    async goOn(forMs: number) {
      const end = now + forMs;
      for (let attempts = 0; attempts < 2000; attempts += 1) {
        const { dueAt } = loaded.row;
        if (dueAt === undefined || dueAt > end) break;
        now = Math.max(now, dueAt);
        await pollPayment(deps, loaded.row);
      }
      now = end;
    },
  };
}

test('a payment whose provider is gone ends a minute behind its expiry, and its cancel within a day', async () => {
  const one = world({}, { dueAt: Date.parse('2026-03-01T12:03:00.000Z') });
  await one.goOn(payWithinMs);
  assert.deepEqual(one.types, ['qr.cancel_pending']);
  assert.equal(one.payment().row.status, 'Pending');
  await one.goOn(expiryGraceMs);
  assert.deepEqual(one.types, ['qr.cancel_pending', 'qr.expired']);
  const { position, dueAt } = one.payment().row;
  assert.deepEqual([position.phase, position.ending], ['Expired', null]);
  assert.ok(dueAt !== undefined, 'the server continues to send cancels');
  await one.goOn(cancelRetryMs + 3_600_000);
  assert.equal(one.types.at(-1), 'qr.cancel_failed');
  assert.equal(one.payment().operations[0]?.status, 'Failed');
  assert.equal(one.payment().row.dueAt, undefined);
  assert.ok(one.alarms.includes('cancel_unanswered'));
});

test('a payment that was paid unseen is found out at its expiry, and one behind the end is given back', async () => {
  const answer = { outcome: 'Answered', providerTransactionId: 'P', status: 'Completed' };
  const paidUnseen = world(
    { cancel: answer, status: answer },
    { dueAt: Date.parse('2026-03-01T12:03:00.000Z') },
  );
  await paidUnseen.goOn(payWithinMs);
  assert.deepEqual(paidUnseen.types, ['qr.cancel_pending', 'qr.completed']);
  assert.equal(paidUnseen.payment().operations[0]?.status, 'Declined');
  assert.equal(paidUnseen.payment().row.dueAt, undefined);

  const late = world(
    {
      cancel: (count: number) =>
        count < 12 ? silent : { outcome: 'Answered', status: 'Completed' },
      status: answer,
      refund: { outcome: 'Answered', status: 'Completed' },
    },
    { dueAt: Date.parse('2026-03-01T12:03:00.000Z') },
  );
  await late.goOn(payWithinMs + 3 * 3_600_000);
  assert.deepEqual(late.types, [
    'qr.cancel_pending',
    'qr.expired',
    'qr.late_completion',
    'qr.refunded',
  ]);
  const { position } = late.payment().row;
  assert.deepEqual([position.phase, position.paid, position.refunded], ['Expired', 500, 500]);
});

// Spec: QRPROV-13
test('a payment that a cancel finds paid takes its amount only from the status response of the provider', async () => {
  const completed = { outcome: 'Answered', providerTransactionId: 'P', status: 'Completed' };
  const part = { ...completed, amount: 250, currency: 'EUR' };
  const over = { dueAt: Date.parse('2026-03-01T12:03:00.000Z') };
  const underReview = world({ cancel: completed, status: part }, over);
  await underReview.goOn(payWithinMs);
  assert.deepEqual(underReview.types, ['qr.cancel_pending', 'qr.held']);
  const { position } = underReview.payment().row;
  assert.deepEqual([position.paid, position.hold], [250, 'AmountDiffers']);
  assert.deepEqual(underReview.alarms, ['amount_differs']);

  // After a cancel the merchant gives no goods, so the server refunds exactly the paid amount.
  const template = world({}).payment();
  const cancel = createOperation(template, 'Cancel', {
    at: Date.parse(template.row.createdAt),
    newId: systemIdGenerator.uuid,
    amount: 0,
    cause: 'Merchant' as const,
  });
  const refund = { outcome: 'Answered', status: 'Completed' };
  const paidBack = world(
    { cancel: completed, status: part, refund },
    { operationCount: 1, position: { ...template.row.position, ending: 'Merchant' } },
    { operations: [cancel] },
  );
  await paidBack.goOn(60_000);
  const { phase, paid, refunded } = paidBack.payment().row.position;
  assert.deepEqual([phase, paid, refunded], ['Cancelled', 250, 250]);

  const unsure = world({ cancel: completed }, over);
  await unsure.goOn(payWithinMs + 1000);
  assert.deepEqual(unsure.types, ['qr.cancel_pending']);
  assert.equal(unsure.payment().row.position.paid, 0);
});

test('the server polls an unanswered create with growing pauses, and expires the payment at its time limit', async () => {
  const start = Date.parse('2026-03-01T12:00:00.000Z');
  const one = world({}, { status: 'Created', dueAt: start });
  one.payment().row.position.phase = 'Created';
  await one.goOn(payWithinMs - 1000);
  const statuses = one.providerCalls.filter((name) => name === 'status').length;
  assert.ok(statuses >= 6 && statuses <= 10, `${statuses} questions in three minutes`);
  await one.goOn(expiryGraceMs + 60_000);
  assert.equal(one.payment().row.status, 'Expired');
});

test('the server requests the status of a pending payment once a minute until its time limit', async () => {
  const pending = { outcome: 'Answered', providerTransactionId: 'P', status: 'Pending' };
  const one = world({ status: pending }, { providerTransactionId: 'P' });
  await one.goOn(payWithinMs - 1);
  assert.deepEqual(one.providerCalls, ['status', 'status', 'status']);
  await one.goOn(1);
  assert.equal(one.providerCalls.at(-1), 'cancel');
});

test('after answered polls, the first missing answer is followed by a poll a second later', async () => {
  const pending = { outcome: 'Answered', providerTransactionId: 'P', status: 'Pending' };
  const one = world(
    { status: (count: number) => (count === 2 ? silent : pending) },
    { providerTransactionId: 'P' },
  );
  await one.goOn(120_000 + 1_000);
  assert.deepEqual(one.providerCalls, ['status', 'status', 'status', 'status']);
});

test('the server cancels a create that the provider does not know, and the cancel response decides the result', async () => {
  const start = Date.parse('2026-03-01T12:00:00.000Z');
  const notFound = { outcome: 'NotFound' };
  const unreachable = world(
    { status: notFound, cancel: { outcome: 'Answered', status: 'Cancelled' } },
    { dueAt: start },
  );
  await unreachable.goOn(1000);
  assert.deepEqual(unreachable.providerCalls, ['status', 'cancel']);
  assert.deepEqual(unreachable.types, ['qr.cancel_pending', 'qr.failed']);
  // The payment reached the provider late; the cancel finds it paid, so it completes.
  const late = world(
    {
      status: (count: number) =>
        count < 2 ? notFound : { outcome: 'Answered', status: 'Completed' },
      cancel: { outcome: 'Answered', status: 'Completed' },
    },
    { dueAt: start },
  );
  await late.goOn(1000);
  assert.deepEqual(late.types, ['qr.cancel_pending', 'qr.completed']);
  // Without an answer to the cancel, the server retries it until the time limit.
  const unheard = world({ status: notFound }, { dueAt: start });
  await unheard.goOn(payWithinMs);
  assert.deepEqual(unheard.types, ['qr.cancel_pending']);
  await unheard.goOn(expiryGraceMs);
  assert.deepEqual(unheard.types, ['qr.cancel_pending', 'qr.failed']);
});

test('the server retries an unanswered refund until the provider responds, and raises an alarm before that', async () => {
  const template = world({});
  const paid = { ...template.payment().row.position, phase: 'Completed' as const, paid: 500 };
  const row = { ...template.payment().row, status: 'Completed' as const };
  const at = template.now();
  const refund = createOperation({ row, operations: [] }, 'Refund', {
    at,
    newId: systemIdGenerator.uuid,
    amount: 200,
    cause: 'Merchant',
  });
  const one = world(
    {
      refund: (count: number) =>
        count < 20 ? notSent : { outcome: 'Answered', status: 'Completed' },
    },
    { ...row, operationCount: 1, position: { ...paid, refundReserved: 200 } },
    { operations: [refund] },
  );
  await one.goOn(86_400_000);
  assert.deepEqual(one.types, ['qr.refunded']);
  assert.equal(one.providerCalls.length, 20);
  assert.ok(one.alarms.includes('refund_unanswered'));
  assert.equal(one.payment().row.position.refunded, 200);
  assert.equal(one.payment().row.dueAt, undefined);
});

/** A paid payment with a refund that was requested a moment ago. */
function refunding(answers: Answers, cause: 'Merchant' | 'LateCompletion' = 'Merchant') {
  const template = world({});
  const { row } = template.payment();
  const isLate = cause === 'LateCompletion';
  const phase = isLate ? ('Cancelled' as const) : ('Completed' as const);
  const position = { ...row.position, phase, paid: 500, refundReserved: 200 };
  const refundDetails = {
    at: template.now(),
    newId: systemIdGenerator.uuid,
    amount: isLate ? 500 : 200,
    cause,
  };
  const refund = createOperation({ row, operations: [] }, 'Refund', refundDetails);
  position.refundReserved = refund.amount;
  return world(answers, { status: phase, operationCount: 1, position }, { operations: [refund] });
}

const dayMs = 86_400_000;

// Spec: QRPROV-19
test('a repeated refund that is answered with 404 is decided by the status of the refund', async () => {
  const one = refunding({
    refund: (count: number) => (count === 1 ? silent : { outcome: 'NotFound' }),
    refundStatus: { outcome: 'Answered', status: 'Completed' },
  });
  await one.goOn(10_000);
  assert.deepEqual(one.providerCalls, ['refund', 'refund', 'refundStatus']);
  assert.deepEqual(one.types, ['qr.refunded']);
});

test('after one day without a response, the server stops refund retries and puts the reserved amount under review', async () => {
  const one = refunding({});
  await one.goOn(refundRetryMs - 1);
  assert.deepEqual(one.types, []);
  const providerCalls = one.providerCalls.length;
  assert.ok(providerCalls > 90 && providerCalls < 120, `${providerCalls} questions in a day`);
  await one.goOn(900_000);
  assert.deepEqual(one.types, ['qr.refund_unanswered']);
  const { row, operations } = one.payment();
  assert.deepEqual([row.dueAt, row.position.hold], [undefined, 'RefundUnanswered']);
  assert.equal(row.position.refundReserved, 200, 'it may have been paid back');
  assert.equal(operations[0]?.status, 'Unanswered');
  assert.equal(one.alarms.at(-1), 'refund_unanswered');
  await one.goOn(30 * dayMs);
  assert.ok(one.providerCalls.length <= providerCalls + 1, 'no more calls to the provider');
});

test('one that its provider works on is waited for longer, and not for ever', async () => {
  const working = { outcome: 'Answered', status: 'Pending' };
  const one = refunding({ refund: working, refundStatus: working });
  await one.goOn(acknowledgedRefundRetryMs - 1);
  assert.deepEqual(one.types, ['qr.noted']);
  assert.equal(one.payment().row.position.hold, null);
  await one.goOn(900_000);
  assert.deepEqual(one.types, ['qr.noted', 'qr.refund_unanswered']);
});

test('one that is forgotten again and again ends like one without an answer', async () => {
  const one = refunding({
    refund: { outcome: 'Answered', status: 'Pending' },
    refundStatus: { outcome: 'NotFound' },
  });
  for (let day = 0; day < 20 && one.payment().row.dueAt !== undefined; day += 1) {
    await one.goOn(dayMs);
  }
  assert.equal(one.payment().row.position.hold, 'RefundUnanswered');
});

test('an unanswered refund of a late completion goes under review with its amount reserved', async () => {
  const one = refunding({}, 'LateCompletion');
  await one.goOn(refundRetryMs + 900_000);
  const { position } = one.payment().row;
  assert.deepEqual([position.hold, position.refundReserved], ['RefundUnanswered', 500]);
});

test('pauses grow and stay', () => {
  const all = Array.from({ length: 12 }, (_, attempts) => pauseMs(attempts));
  assert.deepEqual(
    [...all].sort((one, other) => one - other),
    all,
  );
  assert.deepEqual(all.slice(-2), [900_000, 900_000]);
});

test('each poll queries one refund in turn, so that every refund is queried', async () => {
  const template = world({});
  const at = template.now();
  const row = { ...template.payment().row, status: 'Completed' as const };
  const refunds = [1, 2, 3, 4, 5, 6, 7].map((number) =>
    createOperation({ row, operations: [] }, 'Refund', {
      at,
      newId: systemIdGenerator.uuid,
      amount: 50,
      cause: 'Merchant',
      number,
    }),
  );
  const position = { ...row.position, phase: 'Completed' as const, paid: 500, refundReserved: 350 };
  const ids: unknown[] = [];
  let isBack = false;
  const one = world(
    {
      refund: (_count: number, providerCalls: { refundId?: string } = {}) => {
        ids.push(providerCalls.refundId);
        return isBack ? { outcome: 'Answered', status: 'Completed' } : silent;
      },
    },
    { ...row, operationCount: 7, position },
    { operations: refunds },
  );
  await one.goOn(60_000);
  assert.equal(new Set(ids.slice(0, 7)).size, Math.min(7, ids.length), 'each in its turn');
  await one.goOn(3_600_000);
  assert.equal(new Set(ids).size, 7);
  isBack = true;
  await one.goOn(3_600_000);
  assert.equal(one.payment().row.position.refunded, 350);
  assert.equal(one.payment().row.dueAt, undefined);
});

test('an event of the provider does not change the due time of a running poll, and a response resets it', () => {
  const { row } = world({}).payment();
  const at = Date.parse(row.createdAt);
  const cancel = createOperation({ row, operations: [] }, 'Cancel', {
    at,
    newId: systemIdGenerator.uuid,
    amount: 0,
    cause: 'Merchant',
  });
  const providerCalls = {
    row: { ...row, dueAt: at + leaseMs, pollAttempts: 3 },
    operations: [cancel],
  };
  const provider = {
    eventId: systemIdGenerator.uuid(),
    type: 'x.y',
    sequence: 1,
    occurredAt: isoTime(at),
  };
  const change = buildChange(providerCalls, {
    at: at + 5,
    type: 'qr.noted',
    changes: {},
    data: { provider },
  });
  assert.deepEqual([change.after.dueAt, change.after.pollAttempts], [at + leaseMs, 3]);
  const answered = buildChange(providerCalls, { at: at + 5, type: 'qr.noted', changes: {} });
  assert.deepEqual([answered.after.dueAt, answered.after.pollAttempts], [at + 5 + pauseMs(0), 0]);
});
