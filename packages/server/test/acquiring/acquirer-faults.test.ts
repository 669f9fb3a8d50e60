// Faults of the acquirer host: no amount is lost, and no amount is booked twice.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { defined } from '@switchyard/contract';
import type { Message } from '@switchyard/iso8583';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import { type AcquirerRelay, startAcquirerRelay } from '../support/acquirers/acquirer-relay.ts';
import { assertProblem, countRows } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { testPlatform, testTimeoutMs } from '../support/test-platform.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/payment/v1/transactions';
/** The host does not answer the first two reversals of this card. */
const silentCard = '4000000000004202';
/** The host refuses the first three reversals of this card with 96. */
const refusingCard = '4000000000004210';

type Tapped = TestOrganization & { tap: AcquirerRelay };
type Event = { type: string; data: Record<string, unknown> };

/** A scene whose link passes through its own relay. */
async function tapped(t: TestContext): Promise<Tapped> {
  const tap = await startAcquirerRelay((await testPlatform()).host.port);
  t.after(tap.close);
  return { ...(await createTestOrganization({}, { acquirerPort: tap.port })), tap };
}

const card = (number: string) => ({ card: { number, expiryMonth: 12, expiryYear: 2030 } });

function call(
  on: TestOrganization,
  method: string,
  path: string,
  body?: unknown,
): Promise<HttpResponse> {
  const options = { token: on.merchant.token, ...defined({ body }) };
  return on.client.call(method, base + path, options);
}

const sell = (on: TestOrganization, members: Record<string, unknown>) =>
  call(on, 'POST', '/process', keyedSale(members));

const inState = (on: TestOrganization, id: string, state: string) =>
  until(
    async () => {
      const { body } = await call(on, 'GET', `/${id}`);
      return body.state === state ? body : undefined;
    },
    `${id} to be ${state}`,
    60_000,
  );

const typesOf = ({ events }: { events: Event[] }) =>
  events.map(({ type }) => type.replace('transaction.', ''));

function originalOf(on: TestOrganization, rrn: string) {
  const found = on.host
    .ledger()
    .originals.filter((each) => each.rrn === rrn && each.merchant === on.merchant.merchantNumber);
  assert.equal(found.length, 1, 'one original at the host');
  return found[0];
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
const hasLeft = ({ tap }: Awaited<ReturnType<typeof tapped>>, amount: number) =>
  until(
    () => (tap.sent.some(({ fields }) => Number(fields[4]) === amount) ? true : undefined),
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

describe('a host that fails', { concurrency: 8 }, () => {
  test('no answer: not approved, the reversal durable before the till is told', async (t) => {
    const on = await tapped(t);
    const answer = await sell(on, { amount: 9091, instrument: card(silentCard) });
    assertNotApproved(answer);
    const database = await testDatabase();
    const id = answer.body.transactionId;
    const [job] = await database.query<{ kind: string; payload: Record<string, unknown> }>(
      "SELECT kind, payload FROM jobs WHERE organization_id = $1 AND kind LIKE 'payments.%'",
      [on.organizationId],
    );
    assert.equal(job?.kind, 'payments.retry-operation');
    assert.equal(job.payload['transactionId'], id);
    const [operation] = await database.query<{ kind: string; status: string }>(
      'SELECT kind, status FROM operations WHERE organization_id = $1 AND transaction_id = $2',
      [on.organizationId, id],
    );
    assert.deepEqual({ ...operation }, { kind: 'Reversal', status: 'Pending' });
    const reversed = await inState(on, id, 'Reversed');
    assert.deepEqual(typesOf(reversed), ['received', 'reversal_queued', 'reversed']);
    assert.equal(reversed.approved, false);
    assert.equal(reversed.answeredState, 'Reversing');
    const original = originalOf(on, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    assertRepeats(on.tap.sent, '0420', 3);
    const [first] = on.tap.sent.filter(({ mti }) => mti === '0420');
    assert.equal(first?.fields[90]?.slice(4, 10), reversed.systemTraceAuditNumber);
    for (const { mti, fields } of on.tap.sent) {
      if (!mti.startsWith('042')) continue;
      assert.deepEqual([fields[35], fields[48], fields[52], fields[55]], Array(4).fill(undefined));
    }
    await assertAgreement(on);
  });

  test('a late approval is told as an event and changes nothing', async () => {
    const on = await createTestOrganization();
    const answer = await sell(on, { amount: 9092 });
    assertNotApproved(answer);
    const told = await until(async () => {
      const { body } = await call(on, 'GET', `/${answer.body.transactionId}`);
      const types = typesOf(body);
      // The server reverses again after an approval that arrives after the reversal.
      const late = types.indexOf('late_response');
      return late >= 0 && types.lastIndexOf('reversed') > late ? body : undefined;
    }, 'the late answer, and the reversal behind it');
    const late = told.events.find(({ type }: Event) => type.endsWith('late_response'));
    assert.equal(late.data.response.code, '00');
    const reversed = await inState(on, answer.body.transactionId, 'Reversed');
    assert.equal(reversed.approved, false);
    assert.equal(reversed.terminalAction, 'Decline');
    assert.equal(reversed.authorizedAmount, 0);
    const original = originalOf(on, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    await assertAgreement(on);
  });

  test('a link that is cut comes back by itself, and the sale is reversed', async (t) => {
    const on = await tapped(t);
    await on.tap.stopListening();
    const answer = await sell(on, { amount: 9093 });
    assertNotApproved(answer);
    const down = (await call(on, 'GET', '/technical/isAvailable')).body;
    assert.deepEqual([down.available, down.offlineAdvised], [false, true]);
    await on.tap.startListening();
    const reversed = await inState(on, answer.body.transactionId, 'Reversed');
    const original = originalOf(on, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    const next = await sell(on, {});
    assert.equal(next.body.state, 'Captured', next.text);
    await assertAgreement(on);
  });

  test('a garbled answer is no answer', async () => {
    const on = await createTestOrganization();
    const answer = await sell(on, { amount: 9095, captureMode: 'Deferred' });
    assertNotApproved(answer);
    await inState(on, answer.body.transactionId, 'Reversed');
    const next = await sell(on, {});
    assert.equal(next.body.state, 'Captured', next.text);
    await assertAgreement(on);
  });

  test('two answers are one', async () => {
    const on = await createTestOrganization();
    const { body, text } = await sell(on, { amount: 9094 });
    assert.equal(body.state, 'Captured', text);
    const next = await sell(on, {});
    assert.equal(next.body.state, 'Captured');
    const now = (await call(on, 'GET', `/${body.transactionId}`)).body;
    assert.deepEqual(typesOf(now), ['received', 'captured']);
    await assertAgreement(on);
  });

  test('a slow answer is waited for', async () => {
    const on = await createTestOrganization();
    const { body, text } = await sell(on, { amount: 9098 });
    assert.equal(body.state, 'Captured', text);
    await assertAgreement(on);
  });

  test('a reversal that is refused is repeated until it is taken', async (t) => {
    const on = await tapped(t);
    const answer = await sell(on, { amount: 9091, instrument: card(refusingCard) });
    assertNotApproved(answer);
    const reversed = await inState(on, answer.body.transactionId, 'Reversed');
    assertRepeats(on.tap.sent, '0420', 4);
    const original = originalOf(on, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.held, original?.captured], [0, 0]);
    await assertAgreement(on);
  });

  test('a void that is refused is a decline, and one without an answer is repeated', async (t) => {
    const on = await tapped(t);
    const functional = { cancelReason: 'Functional' };
    const refused = await sell(on, { captureMode: 'Deferred', instrument: card(refusingCard) });
    const declined = await call(on, 'POST', `/${refused.body.transactionId}/cancel`, functional);
    assert.equal(declined.body.operation.status, 'Declined', declined.text);
    assert.equal(declined.body.state, 'Authorized');
    const silent = await sell(on, { captureMode: 'Deferred', instrument: card(silentCard) });
    const id = silent.body.transactionId;
    const part = { ...functional, amount: 234, clientOperationId: 'v-1' };
    const pending = await call(on, 'POST', `/${id}/cancel`, part);
    assert.equal(pending.status, 202, pending.text);
    const second = await call(on, 'POST', `/${id}/cancel`, { ...functional, amount: 1 });
    assertProblem(second, { code: 'transaction_in_progress' });
    const done = await until(async () => {
      const { body } = await call(on, 'GET', `/${id}`);
      return body.operations[0].status === 'Succeeded' ? body : undefined;
    }, 'the void');
    assert.deepEqual([done.state, done.cancelledAmount], ['Authorized', 234]);
    const again = await call(on, 'POST', `/${id}/cancel`, part);
    assert.equal(again.status, 202);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    await assertAgreement(on);
  });

  for (const [verb, mti, kind] of [
    ['capture', '0220', 'captured'],
    ['refund', '0200', 'refunded'],
  ] as const) {
    test(`a ${verb} without an answer is pending, and repeated to one effect`, async (t) => {
      const on = await tapped(t);
      const captureMode = verb === 'capture' ? 'Deferred' : 'Immediate';
      const { body: sold } = await sell(on, { amount: 50_000, captureMode });
      for (const [amount, status] of [
        [9091, 202],
        [9095, 202],
        [9094, 200],
        [9098, 200],
      ] as const) {
        on.tap.sent.length = 0;
        const clientOperationId = `${verb}-${amount}`;
        const request = { amount, clientOperationId };
        const path = `/${sold.transactionId}/${verb}`;
        const first = await call(on, 'POST', path, request);
        assert.equal(first.status, status, first.text);
        assert.equal(first.body.operation.status, status === 202 ? 'Pending' : 'Succeeded');
        if (status === 202) {
          assert.equal(first.headers['location'], `${base}/${sold.transactionId}`);
          assert.ok(Number(first.headers['retry-after']) >= 1);
        }
        const done = await until(async () => {
          const { body } = await call(on, 'GET', `/${sold.transactionId}`);
          const operation = body.operations.find(
            (each: { clientOperationId: string }) => each.clientOperationId === clientOperationId,
          );
          return operation.status === 'Succeeded' ? operation : undefined;
        }, `${verb} of ${amount}`);
        assert.equal(done.amount, amount);
        assertRepeats(on.tap.sent, mti, status === 202 ? 2 : 1);
        const again = await call(on, 'POST', path, request);
        assert.equal(again.status, status);
        assert.equal(again.headers['idempotent-replayed'], 'true');
        assert.equal(again.body.operation.operationId, first.body.operation.operationId);
      }
      const original = originalOf(on, sold.retrievalReferenceNumber);
      assert.equal(original?.[kind], 9091 + 9095 + 9094 + 9098);
      await assertAgreement(on);
    });
  }

  test('an operation during a capture answers 409 transaction_in_progress', async (t) => {
    const on = await tapped(t);
    const { body: sold } = await sell(on, { captureMode: 'Deferred' });
    const path = `/${sold.transactionId}`;
    on.tap.holdResponses();
    on.tap.sent.length = 0;
    const capture = call(on, 'POST', `${path}/capture`);
    await until(() => (on.tap.sent.length > 0 ? true : undefined), 'the capture to be sent');
    for (const [verb, body] of [
      ['refund', undefined],
      ['refund', { amount: 1 }],
      ['capture', undefined],
      ['cancel', { cancelReason: 'Functional' }],
      ['cancel', { cancelReason: 'Technical' }],
    ] as const) {
      const answer = await call(on, 'POST', `${path}/${verb}`, body);
      const label = `${verb} ${JSON.stringify(body)}`;
      assertProblem(answer, { code: 'transaction_in_progress' }, label);
      assert.equal(answer.headers['retry-after'], '2', label);
    }
    const { body: allowed } = await call(on, 'GET', `${path}/allowedoperations`);
    for (const { operation, reason } of allowed.operations)
      assert.equal(reason, 'transaction_in_progress', operation);
    on.tap.releaseResponses();
    const captured = await capture;
    assert.equal(captured.body.state, 'Captured', captured.text);
    const refunded = await call(on, 'POST', `${path}/refund`);
    assert.deepEqual([refunded.status, refunded.body.state], [200, 'Refunded'], refunded.text);
    await assertAgreement(on);
  });

  test('a till that gives up reverses by its own identifier, while the sale still runs', async (t) => {
    const on = await tapped(t);
    on.tap.holdResponses();
    const clientTransactionId = randomUUID();
    const sale = keyedSale({ captureMode: 'Deferred', clientTransactionId });
    const running = call(on, 'POST', '/process', sale);
    await inState(on, clientTransactionId, 'Received');
    await hasLeft(on, 1234);
    const told = (await call(on, 'GET', `/${clientTransactionId}/allowedoperations`)).body;
    const allowed = told.operations.map((each: { allowed: boolean }) => each.allowed);
    assert.deepEqual(allowed, [false, false, false, true]);
    const capture = await call(on, 'POST', `/${clientTransactionId}/capture`);
    assertProblem(capture, { code: 'transaction_in_progress' });
    const technical = {
      cancelReason: 'Technical',
      reversalReason: 'Timeout',
      clientOperationId: 'gave-up',
    };
    const cancel = () => call(on, 'POST', `/${clientTransactionId}/cancel`, technical);
    const given = await cancel();
    assert.equal(given.status, 202, given.text);
    assert.deepEqual([given.body.state, given.body.operation.kind], ['Reversing', 'Reversal']);
    on.tap.releaseResponses();
    const sold = await running;
    assertNotApproved(sold);
    const again = await cancel();
    assert.equal(again.body.operation.operationId, given.body.operation.operationId);
    const reversed = await inState(on, clientTransactionId, 'Reversed');
    const original = originalOf(on, reversed.retrievalReferenceNumber);
    assert.deepEqual([original?.approved, original?.held, original?.captured], [1234, 0, 0]);
    const late = await call(on, 'POST', '/process', sale);
    assert.deepEqual([late.body.state, late.body.approved], ['Reversed', false]);
    await assertAgreement(on);
  });

  test('a till whose connection breaks asks again and gets the same answer', async (t) => {
    const on = await tapped(t);
    on.tap.holdResponses();
    const sale = keyedSale();
    const id = String(sale['clientTransactionId']);
    const cutOff = new AbortController();
    const lost = on.client.call('POST', `${base}/process`, {
      token: on.merchant.token,
      body: sale,
      signal: cutOff.signal,
    });
    await inState(on, id, 'Received');
    await hasLeft(on, 1234);
    cutOff.abort();
    await assert.rejects(lost);
    on.tap.releaseResponses();
    const again = await call(on, 'POST', '/process', sale);
    assert.equal(again.status, 200, again.text);
    assert.equal(again.body.state, 'Captured');
    assert.equal(again.headers['idempotent-replayed'], 'true');
    originalOf(on, again.body.retrievalReferenceNumber);
    await assertAgreement(on);
  });

  test('an acquirer that is down: nothing is stored, and the identifier works once it is back', async (t) => {
    const on = await tapped(t);
    const held = (await sell(on, { captureMode: 'Deferred' })).body;
    const unanswered = keyedSale({ amount: 9091 });
    const running = call(on, 'POST', '/process', unanswered);
    const unansweredId = String(unanswered['clientTransactionId']);
    await inState(on, unansweredId, 'Received');
    await hasLeft(on, 9091);
    await on.tap.close();
    assertNotApproved(await running);
    const available = async () => (await call(on, 'GET', '/technical/isAvailable')).body;
    await until(async () => ((await available()).available ? undefined : true), 'the link to drop');
    const told = await available();
    assert.deepEqual([told.offlineAdvised, told.links[0].available], [true, false]);
    const before = await countRows(on.organizationId);
    const number = '4242424242424242';
    const sale = keyedSale({ instrument: card(number) });
    const down = await call(on, 'POST', '/process', sale);
    assertProblem(down, { code: 'acquirer_unavailable', pointer: null });
    assert.ok(down.headers['retry-after']);
    const capture = await call(on, 'POST', `/${held.transactionId}/capture`, {});
    assertProblem(capture, { code: 'acquirer_unavailable', pointer: null });
    const after = await countRows(on.organizationId);
    assert.deepEqual(after, before);
    const id = String(sale['clientTransactionId']);
    assertProblem(await call(on, 'GET', `/${id}`), { code: 'transaction_not_found' });
    assert.equal((await call(on, 'GET', `/${held.transactionId}`)).body.state, 'Authorized');
    await on.tap.startListening();
    await until(async () => ((await available()).available ? true : undefined), 'the link');
    const up = await call(on, 'POST', '/process', sale);
    assert.equal(up.status, 200, up.text);
    assert.equal(up.headers['idempotent-replayed'], undefined);
    assert.equal(up.body.state, 'Captured');
    await inState(on, unansweredId, 'Reversed');
    await assertAgreement(on);
  });

  test('a reversal that is asked for while the acquirer is down waits for it', async (t) => {
    const on = await tapped(t);
    const { body: held } = await sell(on, { captureMode: 'Deferred' });
    await on.tap.close();
    await until(async () => {
      const { body } = await call(on, 'GET', '/technical/isAvailable');
      return body.available === false ? true : undefined;
    }, 'the link to drop');
    const technical = { cancelReason: 'Technical', reversalReason: 'CustomerCancel' };
    const given = await call(on, 'POST', `/${held.transactionId}/cancel`, technical);
    assert.equal(given.status, 202, given.text);
    assert.equal(given.body.state, 'Reversing');
    await on.tap.startListening();
    await inState(on, held.transactionId, 'Reversed');
    const original = originalOf(on, held.retrievalReferenceNumber);
    assert.equal(original?.held, 0);
    await assertAgreement(on);
  });
});

describe('what a process leaves that is no more', { concurrency: 4 }, () => {
  const longAgo = () => new Date(Date.now() - 10 * testTimeoutMs - 60_000).toISOString();

  /** Deletes the last events, as if their commit had not happened. */
  async function forgetEvents(on: TestOrganization, id: string, after: number): Promise<void> {
    const database = await testDatabase();
    for (const [table, column] of [
      ['transaction_events', 'transaction_id'],
      ['outbox', 'subject_id'],
      // After the outbox, because the relay may just have published an event.
      ['feed_events', 'subject_id'],
    ] as const) {
      await database.query(
        `DELETE FROM ${table} WHERE organization_id = $1 AND ${column} = $2 AND sequence > $3`,
        [on.organizationId, id, after],
      );
    }
  }

  /** Restores the rows to the state after the message was sent and before an outcome was stored. */
  async function forget(on: TestOrganization, id: string): Promise<void> {
    const database = await testDatabase();
    const key = [on.organizationId, id];
    await forgetEvents(on, id, 1);
    await database.query(
      `UPDATE transactions SET state = 'Received', phase = 'Received', version = 1, authorized = 0,
        captured = 0, deadline = $3 WHERE organization_id = $1 AND transaction_id = $2`,
      [...key, longAgo()],
    );
  }

  for (const captureMode of ['Immediate', 'Deferred']) {
    test(`a sale that was sent and never ended is reversed (${captureMode})`, async () => {
      const on = await createTestOrganization();
      const sale = keyedSale({ captureMode });
      const { body: sold } = await call(on, 'POST', '/process', sale);
      await forget(on, sold.transactionId);
      const reversed = await inState(on, sold.transactionId, 'Reversed');
      assert.deepEqual(typesOf(reversed), ['received', 'reversal_queued', 'reversed']);
      const original = originalOf(on, sold.retrievalReferenceNumber);
      assert.deepEqual([original?.held, original?.captured], [0, 0]);
      const again = await call(on, 'POST', '/process', sale);
      assert.deepEqual([again.status, again.body.state], [200, 'Reversed']);
      assert.equal(again.body.terminalAction, 'Decline');
      await assertAgreement(on);
    });
  }

  test('a sale that was never ended is reversed while it is asked for again', async () => {
    const on = await createTestOrganization();
    const sale = keyedSale();
    const { body: sold } = await call(on, 'POST', '/process', sale);
    await forget(on, sold.transactionId);
    // The duplicate waits for longer than the sweep takes, and must not block it.
    let again = await call(on, 'POST', '/process', sale);
    // On a slow machine its wait may end before the sweep, so the test repeats it once.
    if (again.body.state === 'Received') again = await call(on, 'POST', '/process', sale);
    assert.equal(again.status, 200, again.text);
    assert.match(again.body.state, /^Revers(?:ing|ed)$/);
    await inState(on, sold.transactionId, 'Reversed');
    await assertAgreement(on);
  });

  test('a sale that was never sent is reversed, though the host does not know it', async () => {
    const on = await createTestOrganization();
    const { body: sold } = await sell(on, {});
    const database = await testDatabase();
    const copy = randomUUID();
    // The same intent under another trace number, which the host has not received.
    await database.query(
      `INSERT INTO transactions SELECT organization_id, $3::uuid, merchant_id, $3::uuid, store_id,
          device_id, contract_id, 'Received', 'Received', amount, currency, over_capture_allowance, 0, 0, 0, 0,
          0, 0, 0, 1, 0, $4, created_at, updated_at
        FROM transactions WHERE organization_id = $1 AND transaction_id = $2`,
      [on.organizationId, sold.transactionId, copy, longAgo()],
    );
    await database.query(
      `INSERT INTO transaction_events SELECT organization_id, $3::uuid, 1, type, at,
          jsonb_set(jsonb_set(data, '{context,reference,stan}', '"999999"'),
            '{context,reference,rrn}', '"000000999999"')
        FROM transaction_events WHERE organization_id = $1 AND transaction_id = $2 AND sequence = 1`,
      [on.organizationId, sold.transactionId, copy],
    );
    const reversed = await inState(on, copy, 'Reversed');
    assert.equal(reversed.operations[0].response.code, '25');
    assert.equal(originalOf(on, sold.retrievalReferenceNumber)?.captured, 1234);
    await assertAgreement(on);
  });

  test('an operation that was sent and never ended is repeated to one effect', async () => {
    const on = await createTestOrganization();
    const { body: sold } = await sell(on, { captureMode: 'Deferred' });
    const id = sold.transactionId;
    const request = { amount: 1000, clientOperationId: 'c-1' };
    const done = await call(on, 'POST', `/${id}/capture`, request);
    assert.equal(done.body.operation.status, 'Succeeded');
    const database = await testDatabase();
    const key = [on.organizationId, id];
    await forgetEvents(on, id, 3);
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
      const { body } = await call(on, 'GET', `/${id}`);
      return body.capturedAmount === 1000 ? body : undefined;
    }, 'the capture');
    assert.deepEqual(typesOf(now), [
      'received',
      'authorized',
      'capture_pending',
      'capture_pending',
      'captured',
    ]);
    const again = await call(on, 'POST', `/${id}/capture`, request);
    assert.equal(again.body.operation.operationId, done.body.operation.operationId);
    await assertAgreement(on);
  });
});
