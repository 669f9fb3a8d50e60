// Tests replays when the database fails after the intent, and while the first call still runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError, type QrRequest } from '@switchyard/contract';
import { dueClockOf } from '../../../test/support/movable-clock.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import type { Caller } from '../../http/index.ts';
import { createFailPoints, createLog, isoTime, systemIdGenerator } from '../../platform/index.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { createRunningPayments } from '../runtime/running-payments.ts';
import { mergeOperations } from '../transaction/build-change.ts';
import { providerTimeoutMs, storeGraceMs } from '../transaction/limits.ts';
import type { LoadedPayment, PaymentChange, QrRow, StoredEvent } from '../transaction/records.ts';
import type { PaymentPhase } from '../transaction/state-machine.ts';
import { cancelOrRefund } from './cancel-and-refund.ts';
import { createPayment } from './create-payment.ts';

const startedAt = Date.parse('2026-03-01T12:00:00.000Z');
const merchantId = systemIdGenerator.uuid();
const deviceId = systemIdGenerator.uuid();
const organizationId = systemIdGenerator.uuid();
const caller = { organizationId, merchantId, deviceId } as unknown as Caller;
const request: QrRequest = {
  paymentType: 'p',
  paymentScenario: 'consumerscan',
  clientTransactionId: 'c-1',
  paymentAmount: { amount: 500, currency: 'EUR' },
};

/** The error of a missing database connection: the statement had no effect. */
const lost = () =>
  new ProblemError('database_unavailable', 'The database is unavailable.', {
    outcome: 'NotProcessed',
  });

/** A payment in memory, and a database that accepts a limited number of commits. */
function world(commitsLeft = Number.POSITIVE_INFINITY) {
  let now = startedAt;
  let commitsRemaining = commitsLeft;
  let loaded: LoadedPayment | undefined;
  let events: StoredEvent[] = [];
  const providerCalls: string[] = [];
  let statusQueries = 0;
  const store = {
    async begin(row: QrRow, event: StoredEvent) {
      if (loaded !== undefined) return false;
      loaded = { row, operations: [] };
      events = [event];
      return true;
    },
    async commit({ before, after, event, operations }: PaymentChange) {
      if (commitsRemaining === 0) throw lost();
      if (loaded === undefined || before.version !== loaded.row.version) return false;
      commitsRemaining -= 1;
      loaded = { row: after, operations: mergeOperations(loaded.operations, operations) };
      events.push(event);
      return true;
    },
    find: async () => loaded,
    async findByClientId() {
      statusQueries += 1;
      return loaded === undefined ? [] : [loaded];
    },
    findOperation: async () => undefined,
    eventsForView: async () => events,
    postpone: async () => {},
  };
  const recordCall = (name: string, answer: object) => async () => {
    providerCalls.push(name);
    return { outcome: 'Answered', ...answer };
  };
  const deps = {
    store,
    ids: systemIdGenerator,
    clock: { now: () => now },
    dueClock: dueClockOf({ now: () => now }),
    runningPayments: createRunningPayments(),
    providers: {
      selectService: async () => ({
        serviceId: systemIdGenerator.uuid(),
        providerId: systemIdGenerator.uuid(),
      }),
      merchantDetails: async () => ({ merchantId, storeId: systemIdGenerator.uuid() }),
      create: recordCall('create', { status: 'Pending', providerTransactionId: 'P' }),
      refund: recordCall('refund', { status: 'Completed' }),
    },
    live: { publish: () => {}, subscribe: () => undefined },
    alarms: { raise: () => {}, countOutcome: () => {} },
    wakePoller: () => {},
    digestOf: (text: string) => text,
    log: createLog({ logLevel: 'silent', instanceName: 'twice' }),
    failPoints: createFailPoints(),
    payWithinMs: 180_000,
  } as unknown as QrDeps;
  function payment(): LoadedPayment {
    assert.ok(loaded !== undefined);
    return loaded;
  }
  /** Simulates a change of the payment by another process. */
  function elsewhere({ type, data }: Pick<StoredEvent, 'type' | 'data'>, paid = 0): void {
    const { row, operations } = payment();
    const { status } = data;
    const version = row.version + 1;
    const position = { ...row.position, phase: status as PaymentPhase, paid };
    loaded = { row: { ...row, status, version, position }, operations };
    events.push({ type, data, sequence: version, at: isoTime(now) });
  }
  return {
    deps,
    providerCalls,
    payment,
    elsewhere,
    pass(ms: number) {
      now += ms;
    },
    statusQueries: () => statusQueries,
    /** Starts the first request in another process, where the provider does not answer yet. */
    async asksElsewhere() {
      const reached = Promise.withResolvers<void>();
      const create = () => new Promise(() => reached.resolve());
      const providers = { ...deps.providers, create } as unknown as QrDeps['providers'];
      void createPayment(
        { ...deps, providers, runningPayments: createRunningPayments() },
        caller,
        request,
      );
      await reached.promise;
    },
  };
}

const completed = { type: 'qr.completed', data: { status: 'Completed', changes: {} } } as const;

const isUnknown = (error: unknown): boolean =>
  error instanceof ProblemError &&
  error.code === 'database_unavailable' &&
  error.outcome === 'Unknown';

// Spec: IDEM-14 IDEM-16
test('the platform reports an unknown outcome when it cannot store the answer to a payment that it sent', async () => {
  const { deps, providerCalls } = world(0);
  await assert.rejects(createPayment(deps, caller, request), isUnknown);
  assert.deepEqual(providerCalls, ['create']);
});

test('the platform reports an unknown outcome for a refund only if it sent the refund', async () => {
  for (const [commits, asks] of [
    [2, ['create', 'refund']],
    [1, ['create']],
  ] as const) {
    const { deps, providerCalls, payment, elsewhere } = world(commits);
    await createPayment(deps, caller, request);
    elsewhere(completed, 500);
    await assert.rejects(cancelOrRefund(deps, payment(), 'Refund', {}), (error) =>
      asks.length === 2 ? isUnknown(error) : !isUnknown(error),
    );
    assert.deepEqual(providerCalls, asks);
  }
});

test('a duplicate request at another process waits for the first answer, also when events arrive earlier', async () => {
  const one = world();
  const { deps, elsewhere } = one;
  await one.asksElsewhere();
  elsewhere({ type: 'qr.pending', data: { status: 'Pending', changes: {} } });
  let isAnswered = false;
  const waiting = createPayment(deps, caller, request).finally(() => {
    isAnswered = true;
  });
  await eventually(
    'another status query, or an answer',
    () => one.statusQueries() >= 3 || isAnswered,
  );
  assert.equal(isAnswered, false);
  elsewhere({ type: 'qr.noted', data: { status: 'Pending', changes: {}, answered: true } });
  const { loaded, replayed } = await waiting;
  assert.deepEqual([loaded.row.version, replayed], [3, true]);
});

test('a duplicate request does not wait for a process that has died', async () => {
  const { deps, elsewhere, pass, providerCalls, asksElsewhere } = world();
  await asksElsewhere();
  elsewhere({ type: 'qr.pending', data: { status: 'Pending', changes: {} } });
  pass(providerTimeoutMs + storeGraceMs);
  const { replayed } = await createPayment(deps, caller, request);
  assert.deepEqual([replayed, providerCalls], [true, []]);
});
