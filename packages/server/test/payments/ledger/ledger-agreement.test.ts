// Whole run: much is made, or waited for, before it shows.
// The ledgers of platform and host agree after random walks with every fault, and I1 to I9 hold.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import fc from 'fast-check';
import { plainAmount } from '../../support/amounts-without-host-faults.ts';
import { assertAnyProblem } from '../../support/assert-problem-response.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { testLateMs } from '../../support/test-platform.ts';
import { until } from '../../support/wait-for-result.ts';
import { assertAllowedOperations } from '../operations/allowed-operations-check.ts';
import { assertAgreement, waitUntilSettled } from './ledger-invariants.ts';

const base = '/payment/v1/transactions';
const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
const concurrentWalks = 25;
const concurrentOrganizations = 4;

type Step = {
  verb: 'capture' | 'refund' | 'void' | 'reverse' | 'byweb' | 'status' | 'saleAgain';
  /** Percent of the allowed amount; a value above 100 exceeds it. */
  part: number;
  /** The last four digits of the amount that cause a host fault, or 0. */
  trouble: number;
  final: boolean;
  /** Whether the step waits for a pending response. */
  waits: boolean;
};
type Walk = {
  mode: 'Immediate' | 'Deferred';
  amount: number;
  trouble: number;
  currency: string;
  partialApproval: boolean;
  card: string;
  steps: Step[];
};

const late = 9092;
/** No response, a late one, two, a garbled one, declines, a partial approval, a slow response. */
const unaffected = [9091, late, 9094, 9095, 9010, 9051, 9005, 9098];
/** The host closes the connection, which affects every user of the link. */
const cutRequests = 9093;
const troubles = (more: readonly number[]) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(...unaffected, ...more) },
  );
const cards = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('4111111111111111', '5555555555554444') },
  // The host loses the reversals of this card twice.
  { weight: 1, arbitrary: fc.constant('4000000000004202') },
);
const verbs = [
  'capture',
  'capture',
  'capture',
  'refund',
  'refund',
  'void',
  'void',
  'reverse',
  'byweb',
  'status',
  'saleAgain',
];
const stepWith = (more: readonly number[]) =>
  fc.record<Step>({
    verb: fc.constantFrom(...(verbs as Step['verb'][])),
    part: fc.oneof(fc.constantFrom(50, 100), fc.integer({ min: 1, max: 110 })),
    trouble: troubles(more),
    final: fc.boolean(),
    waits: fc.boolean(),
  });
const walkWith = (more: readonly number[]) =>
  fc.record<Walk>({
    mode: fc.constantFrom('Immediate', 'Deferred', 'Deferred'),
    amount: fc.integer({ min: 1, max: 50 }).map((tensOf) => tensOf * 10_000),
    trouble: troubles(more),
    currency: fc.constantFrom('EUR', 'USD', 'JPY'),
    partialApproval: fc.boolean(),
    card: cards,
    steps: fc.array(stepWith(more), { minLength: 1, maxLength: 5 }),
  });

/** The link was not available, before or after the intent was stored. */
const wasNotSent = ({ status, body }: HttpResponse) =>
  (status === 503 && body.code === 'acquirer_unavailable') ||
  (status === 502 && body.code === 'not_sent');

type Call = (method: string, path: string, body?: unknown) => Promise<HttpResponse>;
type AllowedOperation = { operation: string; allowed: boolean; maxAmount: number };

/**
 * The server reverses a sale again after a late response. If the link was cut, the late response
 * may be lost.
 */
async function lateAnswerTaken(call: Call, id: string, mayBeLost: boolean): Promise<void> {
  const lostAt = Date.now() + testLateMs;
  await until(async () => {
    const { body } = await call('GET', `/${id}`);
    const types = (body.events as { type: string }[]).map(({ type }) => type);
    const answered = types.indexOf('transaction.late_response');
    if (answered < 0) return mayBeLost && Date.now() > lostAt ? true : undefined;
    return types.lastIndexOf('transaction.reversed') > answered ? true : undefined;
  }, `${id} to be answered late`);
}

async function runWalk(setup: TestOrganization, walk: Walk, mayBeCut: boolean): Promise<void> {
  const { token } = setup.merchant;
  const sale = keyedSale({
    amount: walk.amount + walk.trouble,
    currency: walk.currency,
    captureMode: walk.mode,
    partialApproval: walk.partialApproval,
    instrument: { card: { number: walk.card, expiryMonth: 12, expiryYear: 2030 } },
  });
  const id = sale['clientTransactionId'];
  const call: Call = (method, path, body) =>
    setup.client.call(method, `${base}${path}`, { token, ...defined({ body }) });
  const first = await call('POST', '/process', sale);
  // While a fault has the link down, the server stores nothing or sends nothing, so there is no
  // transaction to test.
  if (wasNotSent(first)) return;
  assert.equal(first.status, 200, first.text);
  for (const each of walk.steps) {
    if (each.verb === 'status') {
      assert.equal((await call('GET', `/${id}`)).status, 200);
      continue;
    }
    if (each.verb === 'saleAgain') {
      const again = await call('POST', '/process', sale);
      assert.ok(again.status === 200 || wasNotSent(again), again.text);
      continue;
    }
    const answer = await tryStep(call, String(id), each);
    if (answer.status === 202 && each.waits) await call('GET', `/${id}?wait=10`);
  }
  if (walk.trouble === late) await lateAnswerTaken(call, String(id), mayBeCut);
}

const requests = {
  capture: ['capture', 'Capture', {}],
  refund: ['refund', 'Refund', {}],
  void: ['cancel', 'Cancel', { cancelReason: 'Functional' }],
  reverse: ['cancel', 'Reversal', { cancelReason: 'Technical' }],
  byweb: ['refundbyweb', '', {}],
} as const;

async function tryStep(
  call: Call,
  id: string,
  { verb, part, trouble, final }: Step,
): Promise<HttpResponse> {
  assert.ok(verb !== 'status' && verb !== 'saleAgain');
  const { body: allowed } = await call('GET', `/${id}/allowedoperations`);
  const [path, operation, members] = requests[verb];
  const allowedOperation: AllowedOperation =
    (allowed.operations as AllowedOperation[]).find((each) => each.operation === operation) ??
    allowed;
  const share = Math.ceil((allowedOperation.maxAmount * part) / 100);
  const isTroubled = trouble > 0 && trouble <= allowedOperation.maxAmount;
  const amount = isTroubled ? trouble : plainAmount(Math.max(1, share));
  const answer = await call('POST', `/${id}/${path}`, {
    ...members,
    ...(verb === 'reverse' ? {} : { amount }),
    ...(verb === 'capture' && final ? { final } : {}),
    clientOperationId: randomUUID(),
  });
  if (answer.status > 202 && !wasNotSent(answer)) assertAnyProblem(answer, `${verb} ${amount}`);
  return answer;
}

describe(`agreement with the host (seed ${seed})`, { concurrency: 3 }, () => {
  test('random payments with every fault end in agreement with the host', {
    timeout: 300_000,
  }, async () => {
    const terms = fc.record({ multipleCapture: fc.boolean(), partialCancel: fc.boolean() });
    const many = (more: readonly number[]) =>
      fc.array(walkWith(more), { minLength: concurrentWalks, maxLength: concurrentWalks });
    const refusal = fc.constant(false);
    // The worlds run in parallel, because most of the time is spent waiting for missing responses.
    const organizations = [
      ...fc.sample(fc.tuple(terms, many([]), refusal), {
        seed,
        numRuns: concurrentOrganizations - 1,
      }),
      ...fc.sample(fc.tuple(terms, many([cutRequests]), fc.constant(true)), { seed, numRuns: 1 }),
    ];
    const states = await Promise.all(
      organizations.map(async ([terms, walks, mayBeCut]) => {
        const setup = await createTestOrganization(terms);
        await Promise.all(walks.map((each) => runWalk(setup, each, mayBeCut)));
        const books = await assertAgreement(setup);
        // Tries all operations on one transaction of each state.
        const one = new Map(books.map((book) => [book.state, book.transactionId]));
        await Promise.all(
          [...one.values()].map((id) => assertAllowedOperations(setup, setup.merchant.token, id)),
        );
        await assertAgreement(setup);
        return books.map(({ state }) => state);
      }),
    );
    const reachedStates = new Set(states.flat());
    assert.ok(reachedStates.size >= 5, `too little was met: ${[...reachedStates]}`);
  });

  test('allowed operations succeed, and all others are refused, in every state', async () => {
    for (const terms of [{}, { multipleCapture: false, partialCancel: false }]) {
      const setup = await createTestOrganization(terms);
      const sales = await Promise.all(
        [
          { captureMode: 'Deferred' },
          { captureMode: 'Immediate' },
          { amount: 9051 },
          { amount: 9010, partialApproval: true, captureMode: 'Deferred' },
        ].map(async (members) => {
          const body = keyedSale({ amount: 10_000, ...members });
          return setup.client.call('POST', `${base}/process`, {
            token: setup.merchant.token,
            body,
          });
        }),
      );
      await Promise.all(
        sales.map(({ body }) =>
          assertAllowedOperations(setup, setup.merchant.token, body.transactionId),
        ),
      );
      await waitUntilSettled(setup);
      await assertAgreement(setup);
    }
  });
});
