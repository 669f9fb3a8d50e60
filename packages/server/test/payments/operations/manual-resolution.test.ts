// An operation without a response from the acquirer, which a user resolves by the acquirer's
// records.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import {
  approvalResponse,
  approve,
  encodeMessageFrame,
  type ReceivedMessage,
  startScriptedHost,
} from '../../support/acquirers/scripted-host.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { getOrPost } from '../../support/payment-calls.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

const note = 'Their help desk, on the telephone.';

/** A host that answers "duplicate" (94) to every capture and refund. */
async function createCollidingHost(t: TestContext) {
  const host = await startScriptedHost();
  t.after(() => host.stop());
  const setup = await createTestOrganization({}, { acquirerPort: host.port });
  const answerWithDuplicate = ({ message, socket }: ReceivedMessage) => {
    const isRefund = message.fields[3]?.startsWith('20') === true;
    if (!message.mti.startsWith('022') && !isRefund) return approve({ message, socket });
    socket.write(encodeMessageFrame(approvalResponse(message, { 39: '94' })));
    return undefined;
  };
  host.script(answerWithDuplicate);
  return { setup, host };
}

const resolve = (
  setup: TestOrganization,
  id: string,
  number: number,
  body: Record<string, unknown>,
) => getOrPost(setup, `/${id}/operations/${number}/resolve`, { note, ...body });

async function sold(
  setup: TestOrganization,
  captureMode: 'Immediate' | 'Deferred',
): Promise<string> {
  const { body, text } = await getOrPost(
    setup,
    '/process',
    keyedSale({ amount: 1000, captureMode }),
  );
  assert.equal(body.approved, true, text);
  return body.transactionId;
}

const jobsOf = async (setup: TestOrganization) =>
  (await testDatabase()).query<{ kind: string }>(
    "SELECT kind FROM jobs WHERE organization_id = $1 AND kind = 'payments.retry-operation'",
    [setup.organizationId],
  );

describe('operations without a response', { concurrency: 4 }, () => {
  // Spec: CARD-54
  test('resolved as Failed: its amount is free, and it is not sent again', async (t) => {
    const { setup, host } = await createCollidingHost(t);
    const id = await sold(setup, 'Immediate');
    const pending = await getOrPost(setup, `/${id}/refund`, {
      amount: 600,
      clientOperationId: 'r-1',
    });
    assert.deepEqual([pending.status, pending.body.operation.status], [202, 'Pending']);
    const missing = await getOrPost(setup, `/${id}/operations/1/resolve`, { outcome: 'Failed' });
    assertProblem(missing, { code: 'field_required', pointer: '/note' });
    const number = await resolve(setup, id, 1, {
      outcome: 'Failed',
      note: 'Of 4111 1111 1111 1111',
    });
    assertProblem(number, { code: 'field_invalid', pointer: '/note' });
    const other = await resolve(setup, id, 2, { outcome: 'Failed' });
    assertProblem(other, { code: 'transaction_not_found', pointer: null });
    const unknownTransaction = await resolve(setup, randomUUID(), 1, { outcome: 'Failed' });
    assertProblem(unknownTransaction, { code: 'transaction_not_found', pointer: null });

    const ended = await resolve(setup, id, 1, { outcome: 'Failed' });
    assert.equal(ended.status, 200, ended.text);
    const { status, response } = ended.body.operation;
    assert.deepEqual([status, response], ['Declined', { category: 'Unknown', reason: 'Resolved' }]);
    const again = await resolve(setup, id, 1, { outcome: 'Failed' });
    assert.equal(again.headers['idempotent-replayed'], 'true', again.text);
    const contrary = await resolve(setup, id, 1, { outcome: 'Succeeded' });
    assertProblem(contrary, { code: 'resolution_not_possible', pointer: null });
    const event = (await getOrPost(setup, `/${id}`)).body.events.at(-1);
    assert.equal(event.type, 'transaction.refund_failed');
    assert.equal(event.data.note, note);
    assert.ok(event.data.actor);
    await until(
      async () => ((await jobsOf(setup)).length === 0 ? true : undefined),
      'the job to end',
    );

    host.script(approve);
    const whole = await getOrPost(setup, `/${id}/refund`, {
      amount: 1000,
      clientOperationId: 'r-2',
    });
    assert.equal(whole.body.state, 'Refunded', whole.text);
    const path = `/audit/v1/records?action=operation.resolved&entityId=${id}`;
    const { body: audit } = await setup.client.call('GET', path, { token: setup.acquirerToken });
    const [record, ...more] = audit.items;
    assert.equal(more.length, 0);
    assert.deepEqual(
      [record.before.status, record.after.status, record.after.note],
      ['Pending', 'Declined', note],
    );
  });

  // Spec: CARD-54
  test('resolved as Succeeded: a capture of all that waited for it completes', async (t) => {
    const { setup } = await createCollidingHost(t);
    const id = await sold(setup, 'Deferred');
    const { body: batch } = await getOrPost(setup, '/captureall', {});
    const number = await until(async () => {
      const { body } = await getOrPost(setup, `/${id}`);
      return body.operations[0]?.status === 'Pending' ? body.operations[0].number : undefined;
    }, 'the capture to be pending');
    // The capture is pending from its reservation on; the duplicate response of the host creates
    // the job.
    await until(async () => ((await jobsOf(setup)).length > 0 ? true : undefined), 'the collision');
    assert.equal((await getOrPost(setup, `/captureall/${batch.batchId}`)).body.state, 'Running');
    // Concurrent requests give one decision.
    const answers = await Promise.all(
      [1, 2, 3].map(() => resolve(setup, id, number, { outcome: 'Succeeded' })),
    );
    for (const { status, text } of answers) assert.equal(status, 200, text);
    const { body: captured } = await getOrPost(setup, `/${id}`);
    assert.deepEqual([captured.state, captured.capturedAmount], ['Captured', 1000]);
    const done = await until(async () => {
      const { body } = await getOrPost(setup, `/captureall/${batch.batchId}`);
      return body.state === 'Completed' ? body : undefined;
    }, 'the batch');
    assert.deepEqual([done.total, done.succeeded, done.failed], [1, 1, 0]);
  });

  test('an operation can be resolved after its alarm, or if the host knows its reference numbers', async (t) => {
    const { setup, host } = await createCollidingHost(t);
    const id = await sold(setup, 'Immediate');
    host.script((received) => {
      if (received.message.mti === '0800') approve(received);
    });
    const pending = await getOrPost(setup, `/${id}/refund`, { amount: 600 });
    assert.equal(pending.status, 202, pending.text);
    const early = await resolve(setup, id, 1, { outcome: 'Succeeded' });
    assertProblem(early, { code: 'resolution_not_possible', pointer: null });
    await (await testDatabase()).query(
      `UPDATE operations SET created_at = now() - interval '10 minutes'
        WHERE organization_id = $1 AND transaction_id = $2`,
      [setup.organizationId, id],
    );
    const late = await resolve(setup, id, 1, { outcome: 'Succeeded' });
    assert.deepEqual([late.status, late.body.refundedAmount], [200, 600], late.text);
  });
});
