// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// Faults of the acquirer host: no amount is lost, and no amount is booked twice.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Message } from '@switchyard/iso8583';
import { bucketOf, systemIdGenerator } from '../../src/platform/index.ts';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import { assertProblem, countRows } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  call,
  createOrganizationBehindRelay,
  eventTypesOf,
  originalsOf,
  transactionsPath,
  waitForState,
} from '../support/payment-calls.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { testTimeoutMs } from '../support/test-platform.ts';
import { until } from '../support/wait-for-result.ts';

/** The host does not answer the first two reversals of this card. */
const silentCard = '4000000000004202';
/** The host refuses the first three reversals of this card with 96. */
const refusingCard = '4000000000004210';

const card = (number: string) => ({ card: { number, expiryMonth: 12, expiryYear: 2030 } });

const sell = (setup: TestOrganization, members: Record<string, unknown>) =>
  call(setup, 'POST', '/process', keyedSale(members));

function originalOf(setup: TestOrganization, rrn: string) {
  const originals = originalsOf(setup, rrn);
  assert.equal(originals.length, 1, 'one original at the host');
  return originals[0];
}

function assertNotApproved({ status, body, text }: HttpResponse): void {
  assert.equal(status, 200, text);
  assert.equal(body.state, 'Reversing');
  assert.equal(body.approved, false);
  assert.equal(body.terminalAction, 'Decline');
  assert.equal(body.authorizedAmount, 0);
  assert.equal(body.capturedAmount, 0);
  assert.equal(body.answeredState, 'Reversing');
}

/**
 * The row is stored before its message is sent; an unsent message would fail, and not be
 * unanswered.
 */
const hasLeft = (
  { relay }: Awaited<ReturnType<typeof createOrganizationBehindRelay>>,
  amount: number,
) =>
  until(
    () => (relay.sent.some(({ fields }) => Number(fields[4]) === amount) ? true : undefined),
    `${amount} to have left`,
  );

/** The messages of one kind, with the numbers that identify them. */
function numbersOf(messages: readonly Message[], from: string): string[] {
  return messages
    .filter(({ mti }) => mti.startsWith(from))
    .map(({ mti, fields }) => [mti, fields[41], fields[11], fields[7], fields[37]].join(' '));
}

/** Asserts the first message and its repeats: the same numbers with the repeat digit. */
function assertRepeats(messages: readonly Message[], first: string, count: number): void {
  const sent = numbersOf(messages, first.slice(0, 3));
  const repeat = first.slice(0, 3) + String(Number(first.slice(3)) + 1);
  assert.equal(sent.length, count, sent.join(', '));
  sent.forEach((numbers, index) => {
    assert.equal(numbers.slice(0, 4), index === 0 ? first : repeat, sent.join(', '));
    assert.equal(numbers.slice(4), sent[0]?.slice(4), sent.join(', '));
  });
}

describe('faults of the host', { concurrency: 8 }, () => {
  // Spec: CARD-52
  test('no response: the sale is not approved, and its reversal is stored before the merchant gets the response', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const answer = await sell(setup, { amount: 9091, instrument: card(silentCard) });
    assertNotApproved(answer);
    const database = await testDatabase();
    const id = answer.body.transactionId;
    const [job] = await database.query<{ kind: string; payload: Record<string, unknown> }>(
      "SELECT kind, payload FROM jobs WHERE organization_id = $1 AND kind LIKE 'payments.%'",
      [setup.organizationId],
    );
    assert.equal(job?.kind, 'payments.retry-operation');
    assert.equal(job.payload['transactionId'], id);
    const [operation] = await database.query<{ kind: string; status: string }>(
      'SELECT kind, status FROM operations WHERE organization_id = $1 AND transaction_id = $2',
      [setup.organizationId, id],
    );
    assert.deepEqual({ ...operation }, { kind: 'Reversal', status: 'Pending' });
    const reversed = await waitForState(setup, id, 'Reversed');
    assert.deepEqual(eventTypesOf(reversed), ['received', 'reversal_queued', 'reversed']);
    assert.equal(reversed.approved, false);
    assert.equal(reversed.answeredState, 'Reversing');
    const original = originalOf(setup, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    assertRepeats(setup.relay.sent, '0420', 3);
    const [first] = setup.relay.sent.filter(({ mti }) => mti === '0420');
    assert.equal(first?.fields[90]?.slice(4, 10), reversed.systemTraceAuditNumber);
    for (const { mti, fields } of setup.relay.sent) {
      if (!mti.startsWith('042')) continue;
      assert.deepEqual([fields[35], fields[48], fields[52], fields[55]], Array(4).fill(undefined));
    }
    await assertAgreement(setup);
  });

  test('a late approval is published as an event and changes nothing', async () => {
    const setup = await createTestOrganization();
    const answer = await sell(setup, { amount: 9092 });
    assertNotApproved(answer);
    const reversal = await until(async () => {
      const { body } = await call(setup, 'GET', `/${answer.body.transactionId}`);
      const types = eventTypesOf(body);
      // The server reverses again after an approval that arrives after the reversal.
      const late = types.indexOf('late_response');
      return late >= 0 && types.lastIndexOf('reversed') > late ? body : undefined;
    }, 'the late answer, and the reversal behind it');
    const late = reversal.events.find(({ type }: Event) => type.endsWith('late_response'));
    assert.equal(late.data.response.code, '00');
    const reversed = await waitForState(setup, answer.body.transactionId, 'Reversed');
    assert.equal(reversed.approved, false);
    assert.equal(reversed.terminalAction, 'Decline');
    assert.equal(reversed.authorizedAmount, 0);
    const original = originalOf(setup, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    await assertAgreement(setup);
  });

  test('a broken link reconnects, and the sale is reversed', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    await setup.relay.stopListening();
    const answer = await sell(setup, { amount: 9093 });
    assertNotApproved(answer);
    const down = (await call(setup, 'GET', '/technical/isAvailable')).body;
    assert.deepEqual([down.available, down.offlineAdvised], [false, true]);
    await setup.relay.startListening();
    const reversed = await waitForState(setup, answer.body.transactionId, 'Reversed');
    const original = originalOf(setup, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    const next = await sell(setup, {});
    assert.equal(next.body.state, 'Captured', next.text);
    await assertAgreement(setup);
  });

  test('an unreadable response counts as no response', async () => {
    const setup = await createTestOrganization();
    const answer = await sell(setup, { amount: 9095, captureMode: 'Deferred' });
    assertNotApproved(answer);
    await waitForState(setup, answer.body.transactionId, 'Reversed');
    const next = await sell(setup, {});
    assert.equal(next.body.state, 'Captured', next.text);
    await assertAgreement(setup);
  });

  test('a duplicate response changes nothing', async () => {
    const setup = await createTestOrganization();
    const { body, text } = await sell(setup, { amount: 9094 });
    assert.equal(body.state, 'Captured', text);
    const next = await sell(setup, {});
    assert.equal(next.body.state, 'Captured');
    const now = (await call(setup, 'GET', `/${body.transactionId}`)).body;
    assert.deepEqual(eventTypesOf(now), ['received', 'captured']);
    await assertAgreement(setup);
  });

  test('a slow response within the timeout approves the sale', async () => {
    const setup = await createTestOrganization();
    const { body, text } = await sell(setup, { amount: 9098 });
    assert.equal(body.state, 'Captured', text);
    await assertAgreement(setup);
  });

  test('a declined reversal is repeated until the host accepts it', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const answer = await sell(setup, { amount: 9091, instrument: card(refusingCard) });
    assertNotApproved(answer);
    const reversed = await waitForState(setup, answer.body.transactionId, 'Reversed');
    assertRepeats(setup.relay.sent, '0420', 4);
    const original = originalOf(setup, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    await assertAgreement(setup);
  });

  test('a declined void is a decline, and a void without a response is repeated', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const functional = { cancelReason: 'Functional' };
    const refused = await sell(setup, { captureMode: 'Deferred', instrument: card(refusingCard) });
    const declined = await call(setup, 'POST', `/${refused.body.transactionId}/cancel`, functional);
    assert.equal(declined.body.operation.status, 'Declined', declined.text);
    assert.equal(declined.body.state, 'Authorized');
    const silent = await sell(setup, { captureMode: 'Deferred', instrument: card(silentCard) });
    const id = silent.body.transactionId;
    const part = { ...functional, amount: 234, clientOperationId: 'v-1' };
    const pending = await call(setup, 'POST', `/${id}/cancel`, part);
    assert.equal(pending.status, 202, pending.text);
    const second = await call(setup, 'POST', `/${id}/cancel`, { ...functional, amount: 1 });
    assertProblem(second, { code: 'transaction_in_progress' });
    const done = await until(async () => {
      const { body } = await call(setup, 'GET', `/${id}`);
      return body.operations[0].status === 'Succeeded' ? body : undefined;
    }, 'the void');
    assert.deepEqual([done.state, done.cancelledAmount], ['Authorized', 234]);
    const again = await call(setup, 'POST', `/${id}/cancel`, part);
    assert.equal(again.status, 202);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    await assertAgreement(setup);
  });

  for (const [verb, mti, kind] of [
    ['capture', '0220', 'captured'],
    ['refund', '0200', 'refunded'],
  ] as const) {
    test(`a ${verb} without a response is pending, and its repeats have one effect`, async (t) => {
      const setup = await createOrganizationBehindRelay(t);
      const captureMode = verb === 'capture' ? 'Deferred' : 'Immediate';
      const { body: sold } = await sell(setup, { amount: 50_000, captureMode });
      for (const [amount, status] of [
        [9091, 202],
        [9095, 202],
        [9094, 200],
        [9098, 200],
      ] as const) {
        setup.relay.sent.length = 0;
        const clientOperationId = `${verb}-${amount}`;
        const request = { amount, clientOperationId };
        const path = `/${sold.transactionId}/${verb}`;
        const first = await call(setup, 'POST', path, request);
        assert.equal(first.status, status, first.text);
        assert.equal(first.body.operation.status, status === 202 ? 'Pending' : 'Succeeded');
        if (status === 202) {
          assert.equal(first.headers['location'], `${transactionsPath}/${sold.transactionId}`);
          assert.ok(Number(first.headers['retry-after']) >= 1);
        }
        const done = await until(async () => {
          const { body } = await call(setup, 'GET', `/${sold.transactionId}`);
          const operation = body.operations.find(
            (each: { clientOperationId: string }) => each.clientOperationId === clientOperationId,
          );
          return operation.status === 'Succeeded' ? operation : undefined;
        }, `${verb} of ${amount}`);
        assert.equal(done.amount, amount);
        assertRepeats(setup.relay.sent, mti, status === 202 ? 2 : 1);
        const again = await call(setup, 'POST', path, request);
        assert.equal(again.status, status);
        assert.equal(again.headers['idempotent-replayed'], 'true');
        assert.equal(again.body.operation.operationId, first.body.operation.operationId);
      }
      const original = originalOf(setup, sold.retrievalReferenceNumber);
      assert.equal(original?.[kind], 9091 + 9095 + 9094 + 9098);
      await assertAgreement(setup);
    });
  }

  test('an operation during a capture answers 409 transaction_in_progress', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const { body: sold } = await sell(setup, { captureMode: 'Deferred' });
    const path = `/${sold.transactionId}`;
    setup.relay.holdResponses();
    setup.relay.sent.length = 0;
    const capture = call(setup, 'POST', `${path}/capture`);
    await until(() => (setup.relay.sent.length > 0 ? true : undefined), 'the capture to be sent');
    for (const [verb, body] of [
      ['refund', undefined],
      ['refund', { amount: 1 }],
      ['capture', undefined],
      ['cancel', { cancelReason: 'Functional' }],
      ['cancel', { cancelReason: 'Technical' }],
    ] as const) {
      const answer = await call(setup, 'POST', `${path}/${verb}`, body);
      const label = `${verb} ${JSON.stringify(body)}`;
      assertProblem(answer, { code: 'transaction_in_progress' }, label);
      assert.equal(answer.headers['retry-after'], '2', label);
    }
    const { body: allowed } = await call(setup, 'GET', `${path}/allowedoperations`);
    for (const { operation, reason } of allowed.operations)
      assert.equal(reason, 'transaction_in_progress', operation);
    setup.relay.releaseResponses();
    const captured = await capture;
    assert.equal(captured.body.state, 'Captured', captured.text);
    const refunded = await call(setup, 'POST', `${path}/refund`);
    assert.deepEqual([refunded.status, refunded.body.state], [200, 'Refunded'], refunded.text);
    await assertAgreement(setup);
  });

  test('a client can reverse a sale by its own identifier while the sale is in progress', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    setup.relay.holdResponses();
    const clientTransactionId = randomUUID();
    const sale = keyedSale({ captureMode: 'Deferred', clientTransactionId });
    const running = call(setup, 'POST', '/process', sale);
    await waitForState(setup, clientTransactionId, 'Received');
    await hasLeft(setup, 1234);
    const reversal = (await call(setup, 'GET', `/${clientTransactionId}/allowedoperations`)).body;
    const allowed = reversal.operations.map((each: { allowed: boolean }) => each.allowed);
    assert.deepEqual(allowed, [false, false, false, true]);
    const capture = await call(setup, 'POST', `/${clientTransactionId}/capture`);
    assertProblem(capture, { code: 'transaction_in_progress' });
    const technical = {
      cancelReason: 'Technical',
      reversalReason: 'Timeout',
      clientOperationId: 'gave-up',
    };
    const cancel = () => call(setup, 'POST', `/${clientTransactionId}/cancel`, technical);
    const replayedReversal = await cancel();
    assert.equal(replayedReversal.status, 202, replayedReversal.text);
    assert.deepEqual(
      [replayedReversal.body.state, replayedReversal.body.operation.kind],
      ['Reversing', 'Reversal'],
    );
    setup.relay.releaseResponses();
    const sold = await running;
    assertNotApproved(sold);
    const again = await cancel();
    assert.equal(again.body.operation.operationId, replayedReversal.body.operation.operationId);
    const reversed = await waitForState(setup, clientTransactionId, 'Reversed');
    const original = originalOf(setup, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.approved, original?.held, original?.captured], [1234, 0, 0]);
    const late = await call(setup, 'POST', '/process', sale);
    assert.deepEqual([late.body.state, late.body.approved], ['Reversed', false]);
    await assertAgreement(setup);
  });

  test('a repeated request after a broken connection gets the same response', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    setup.relay.holdResponses();
    const sale = keyedSale();
    const id = String(sale['clientTransactionId']);
    const cutOff = new AbortController();
    const lost = setup.client.call('POST', `${transactionsPath}/process`, {
      token: setup.merchant.token,
      body: sale,
      signal: cutOff.signal,
    });
    await waitForState(setup, id, 'Received');
    await hasLeft(setup, 1234);
    cutOff.abort();
    await assert.rejects(lost);
    setup.relay.releaseResponses();
    const again = await call(setup, 'POST', '/process', sale);
    assert.equal(again.status, 200, again.text);
    assert.equal(again.body.state, 'Captured');
    assert.equal(again.headers['idempotent-replayed'], 'true');
    originalOf(setup, again.body.retrievalReferenceNumber);
    await assertAgreement(setup);
  });

  test('an unavailable acquirer: no row is stored, and the identifier can be used later', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const heldSale = (await sell(setup, { captureMode: 'Deferred' })).body;
    const unanswered = keyedSale({ amount: 9091 });
    const running = call(setup, 'POST', '/process', unanswered);
    const unansweredId = String(unanswered['clientTransactionId']);
    await waitForState(setup, unansweredId, 'Received');
    await hasLeft(setup, 9091);
    await setup.relay.close();
    assertNotApproved(await running);
    const available = async () => (await call(setup, 'GET', '/technical/isAvailable')).body;
    await until(async () => ((await available()).available ? undefined : true), 'the link to drop');
    const reversal = await available();
    assert.deepEqual([reversal.offlineAdvised, reversal.links[0].available], [true, false]);
    const before = await countRows(setup.organizationId);
    const number = '4242424242424242';
    const sale = keyedSale({ instrument: card(number) });
    const down = await call(setup, 'POST', '/process', sale);
    assertProblem(down, { code: 'acquirer_unavailable', pointer: null });
    assert.ok(down.headers['retry-after']);
    const capture = await call(setup, 'POST', `/${heldSale.transactionId}/capture`, {});
    assertProblem(capture, { code: 'acquirer_unavailable', pointer: null });
    const after = await countRows(setup.organizationId);
    assert.deepEqual(after, before);
    const id = String(sale['clientTransactionId']);
    assertProblem(await call(setup, 'GET', `/${id}`), { code: 'transaction_not_found' });
    assert.equal((await call(setup, 'GET', `/${heldSale.transactionId}`)).body.state, 'Authorized');
    await setup.relay.startListening();
    await until(async () => ((await available()).available ? true : undefined), 'the link');
    const up = await call(setup, 'POST', '/process', sale);
    assert.equal(up.status, 200, up.text);
    assert.equal(up.headers['idempotent-replayed'], undefined);
    assert.equal(up.body.state, 'Captured');
    await waitForState(setup, unansweredId, 'Reversed');
    await assertAgreement(setup);
  });

  test('a reversal that is requested while the acquirer is unavailable is sent later', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const { body: heldSale } = await sell(setup, { captureMode: 'Deferred' });
    await setup.relay.close();
    await until(async () => {
      const { body } = await call(setup, 'GET', '/technical/isAvailable');
      return body.available === false ? true : undefined;
    }, 'the link to drop');
    const technical = { cancelReason: 'Technical', reversalReason: 'CustomerCancel' };
    const replayedReversal = await call(
      setup,
      'POST',
      `/${heldSale.transactionId}/cancel`,
      technical,
    );
    assert.equal(replayedReversal.status, 202, replayedReversal.text);
    assert.equal(replayedReversal.body.state, 'Reversing');
    await setup.relay.startListening();
    await waitForState(setup, heldSale.transactionId, 'Reversed');
    const original = originalOf(setup, heldSale.retrievalReferenceNumber);
    assert.equal(original?.held, 0);
    await assertAgreement(setup);
  });
});

describe('work of an ended process', { concurrency: 4 }, () => {
  const longAgo = () => new Date(Date.now() - 10 * testTimeoutMs - 60_000).toISOString();

  /** Deletes the last events, as if their commit had not happened. */
  async function forgetEvents(setup: TestOrganization, id: string, after: number): Promise<void> {
    const database = await testDatabase();
    for (const [table, column] of [
      ['transaction_events', 'transaction_id'],
      ['outbox', 'subject_id'],
      // After the outbox, because the relay may just have published an event.
      ['feed_events', 'subject_id'],
    ] as const) {
      await database.query(
        `DELETE FROM ${table} WHERE organization_id = $1 AND ${column} = $2 AND sequence > $3`,
        [setup.organizationId, id, after],
      );
    }
  }

  /** Restores the rows to the state after the message was sent and before an outcome was stored. */
  async function forget(setup: TestOrganization, id: string): Promise<void> {
    const database = await testDatabase();
    const key = [setup.organizationId, id];
    await forgetEvents(setup, id, 1);
    await database.query(
      `UPDATE transactions SET state = 'Received', phase = 'Received', version = 1, authorized = 0,
        captured = 0, deadline = $3 WHERE organization_id = $1 AND transaction_id = $2`,
      [...key, longAgo()],
    );
  }

  for (const captureMode of ['Immediate', 'Deferred']) {
    test(`a sale that was sent and did not end is reversed (${captureMode})`, async () => {
      const setup = await createTestOrganization();
      const sale = keyedSale({ captureMode });
      const { body: sold } = await call(setup, 'POST', '/process', sale);
      await forget(setup, sold.transactionId);
      const reversed = await waitForState(setup, sold.transactionId, 'Reversed');
      assert.deepEqual(eventTypesOf(reversed), ['received', 'reversal_queued', 'reversed']);
      const original = originalOf(setup, sold.retrievalReferenceNumber);
      assert.deepEqual([original?.held, original?.captured], [0, 0]);
      const again = await call(setup, 'POST', '/process', sale);
      assert.deepEqual([again.status, again.body.state], [200, 'Reversed']);
      assert.equal(again.body.terminalAction, 'Decline');
      await assertAgreement(setup);
    });
  }

  test('a sale that did not end is reversed while the client repeats it', async () => {
    const setup = await createTestOrganization();
    const sale = keyedSale();
    const { body: sold } = await call(setup, 'POST', '/process', sale);
    await forget(setup, sold.transactionId);
    // The duplicate waits for longer than the sweep takes, and must not block it.
    let again = await call(setup, 'POST', '/process', sale);
    // On a slow machine its wait may end before the sweep, so the test repeats it once.
    if (again.body.state === 'Received') again = await call(setup, 'POST', '/process', sale);
    assert.equal(again.status, 200, again.text);
    assert.match(again.body.state, /^Revers(?:ing|ed)$/);
    await waitForState(setup, sold.transactionId, 'Reversed');
    await assertAgreement(setup);
  });

  test('a sale that was not sent is reversed, although the host does not know it', async () => {
    const setup = await createTestOrganization();
    const { body: sold } = await sell(setup, {});
    const database = await testDatabase();
    const copy = systemIdGenerator.uuid(bucketOf(sold.transactionId));
    // The same intent under another trace number, which the host has not received.
    await database.query(
      `INSERT INTO transactions SELECT bucket, organization_id, $3::uuid, merchant_id, $3::uuid, store_id,
          device_id, contract_id, 'Received', 'Received', amount, currency, over_capture_allowance, 0, 0, 0, 0,
          0, 0, 0, 1, 0, $4, created_at, updated_at
        FROM transactions WHERE organization_id = $1 AND transaction_id = $2`,
      [setup.organizationId, sold.transactionId, copy, longAgo()],
    );
    await database.query(
      `INSERT INTO transaction_events SELECT bucket, organization_id, $3::uuid, 1, type, at,
          jsonb_set(jsonb_set(data::jsonb, '{context,reference,stan}', '"999999"'),
            '{context,reference,rrn}', '"000000999999"')::json
        FROM transaction_events WHERE organization_id = $1 AND transaction_id = $2 AND sequence = 1`,
      [setup.organizationId, sold.transactionId, copy],
    );
    const reversed = await waitForState(setup, copy, 'Reversed');
    assert.equal(reversed.operations[0].response.code, '25');
    assert.equal(originalOf(setup, sold.retrievalReferenceNumber)?.captured, 1234);
    await assertAgreement(setup);
  });

  test('an operation that was sent and did not end is repeated with one effect', async () => {
    const setup = await createTestOrganization();
    const { body: sold } = await sell(setup, { captureMode: 'Deferred' });
    const id = sold.transactionId;
    const request = { amount: 1000, clientOperationId: 'c-1' };
    const done = await call(setup, 'POST', `/${id}/capture`, request);
    assert.equal(done.body.operation.status, 'Succeeded');
    const database = await testDatabase();
    const key = [setup.organizationId, id];
    await forgetEvents(setup, id, 3);
    await database.query(
      `UPDATE transactions SET state = 'Authorized', version = 3, captured = 0,
        capture_reserved = 1000 WHERE organization_id = $1 AND transaction_id = $2`,
      key,
    );
    await database.query(
      `UPDATE operations SET status = 'Sent', deadline = $3, details = details - 'response'
        WHERE organization_id = $1 AND transaction_id = $2`,
      [...key, longAgo()],
    );
    const now = await until(async () => {
      const { body } = await call(setup, 'GET', `/${id}`);
      return body.capturedAmount === 1000 ? body : undefined;
    }, 'the capture');
    assert.deepEqual(eventTypesOf(now), [
      'received',
      'authorized',
      'capture_pending',
      'capture_pending',
      'captured',
    ]);
    const again = await call(setup, 'POST', `/${id}/capture`, request);
    assert.equal(again.body.operation.operationId, done.body.operation.operationId);
    await assertAgreement(setup);
  });
});
