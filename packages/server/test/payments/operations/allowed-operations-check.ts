// I9: `allowedoperations` agrees with the result of each operation; the check tries all of them.
import assert from 'node:assert/strict';
import { defined, type ErrorCode } from '@switchyard/contract';
import { plainAmount } from '../../support/amounts-without-host-faults.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import type { TestOrganization } from '../../support/test-organization.ts';

const base = '/payment/v1/transactions';

type AllowedOperation = {
  operation: 'Capture' | 'Refund' | 'Cancel' | 'Reversal';
  allowed: boolean;
  maxAmount: number;
  reason?: ErrorCode;
};

const verbOf = {
  Capture: ['capture', {}],
  Refund: ['refund', {}],
  Cancel: ['cancel', { cancelReason: 'Functional' }],
  Reversal: ['cancel', { cancelReason: 'Technical' }],
} as const;

const exceeded = {
  Capture: 'capture_amount_exceeded',
  Refund: 'refund_amount_exceeded',
  Cancel: 'cancel_amount_exceeded',
  Reversal: 'partial_reversal_not_supported',
} as const;

/** A reversal without a held amount succeeds and does nothing. */
const nothingToReverse = new Set(['Declined', 'Failed', 'Cancelled', 'Reversed']);

/** A late response may add an event at any time, but changes nothing else. */
function withoutMovingFields({ events, updatedAt: _updatedAt, ...rest }: Record<string, unknown>) {
  const operationEvents = events as { type: string }[];
  return {
    ...rest,
    types: operationEvents.map(({ type }) => type).filter((type) => !/late/.test(type)),
  };
}

/**
 * Tries every operation on a transaction without pending work. It first tries the refused
 * operations, then the allowed ones until none is left.
 */
export async function assertAllowedOperations(
  setup: TestOrganization,
  token: string,
  id: string,
): Promise<void> {
  const call = (method: string, path: string, body?: unknown): Promise<HttpResponse> =>
    setup.client.call(method, `${base}/${id}${path}`, {
      token,
      ...defined({ body }),
    });

  async function assertRefusedAsListed(
    listed: AllowedOperation,
    state: string,
    all: readonly AllowedOperation[],
  ): Promise<void> {
    const [verb, members] = verbOf[listed.operation];
    const name = `${listed.operation} of ${state} ${id}`;
    if (listed.allowed) {
      const amount = listed.maxAmount + 1;
      const answer = await call('POST', `/${verb}`, { ...members, amount });
      assertProblem(answer, { code: exceeded[listed.operation], pointer: '/amount' }, name);
      assert.equal(answer.body.maxAmount, listed.maxAmount, name);
      assert.deepEqual(answer.body.allowedOperations, all, name);
      return;
    }
    const answer = await call('POST', `/${verb}`, members);
    if (listed.operation === 'Reversal' && nothingToReverse.has(state)) {
      assert.equal(answer.status, 200, `${name} ${answer.text}`);
      assert.equal(answer.body.operation, undefined, name);
      return;
    }
    assert.ok(listed.reason, name);
    assertProblem(answer, { code: listed.reason }, name);
    assert.equal(answer.body.transaction.state, state, name);
    assert.deepEqual(answer.body.allowedOperations, all, name);
  }

  async function assertByWebAsListed(
    allowed: Record<string, unknown>,
    state: string,
  ): Promise<void> {
    const all = allowed['operations'] as AllowedOperation[];
    // If neither is allowed, the reason is that of the refund after a refund, else that of the
    // cancel.
    const isOver = state === 'Refunded';
    const operation = (allowed['operation'] ?? (isOver ? 'Refund' : 'Cancel')) as
      | 'Refund'
      | 'Cancel';
    const listed = all.find((each) => each.operation === operation);
    assert.equal(allowed['allowed'], listed?.allowed);
    assert.equal(allowed['maxAmount'], listed?.maxAmount);
    assert.equal(allowed['reason'], listed?.reason);
    const amount = Number(allowed['maxAmount']) + 1;
    const answer = await call('POST', '/refundbyweb', allowed['allowed'] ? { amount } : {});
    const code = allowed['allowed'] ? exceeded[operation] : (allowed['reason'] as ErrorCode);
    assertProblem(answer, { code }, `by web of ${state} ${id}`);
  }

  for (;;) {
    const { body: allowed } = await call('GET', '/allowedoperations');
    const { body: before } = await call('GET', '');
    const all = allowed.operations as AllowedOperation[];
    assert.deepEqual(
      all.map(({ operation }) => operation),
      ['Capture', 'Refund', 'Cancel', 'Reversal'],
    );
    try {
      for (const listed of all) await assertRefusedAsListed(listed, before.state, all);
      await assertByWebAsListed(allowed, before.state);
    } catch (error) {
      // A late approval of the host changed the state, so the earlier response is outdated.
      const { body: moved } = await call('GET', '');
      if (moved.state === before.state) throw error;
      continue;
    }
    const { body: now } = await call('GET', '');
    assert.deepEqual(
      withoutMovingFields(now),
      withoutMovingFields(before),
      'a refusal left a trace',
    );
    const next = all.find((each) => each.allowed && each.operation !== 'Reversal');
    if (next === undefined) return;
    const [verb, members] = verbOf[next.operation];
    // Uses a part of the amount first, so that the test also covers intermediate states.
    const isPart =
      next.operation !== 'Cancel' && next.maxAmount > 1 && before.operations.length < 2;
    const amount = plainAmount(isPart ? Math.floor(next.maxAmount / 2) : next.maxAmount);
    const done = await call('POST', `/${verb}`, { ...members, amount });
    assert.equal(done.status, 200, `${next.operation} of ${before.state}: ${done.text}`);
    assert.equal(done.body.operation.status, 'Succeeded', done.text);
  }
}
