// Requests with the same identifier have one effect and equal responses, from any client, any
// number of times.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { assertProblem, textWithoutRequestId } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { bookkeeping } from '../ledger/check-ledger-after-tests.ts';

const { scene, agree } = bookkeeping();

const base = '/payment/v1/transactions';
const post = (
  on: TestOrganization,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) => on.client.call('POST', `${base}/${path}`, { token: on.merchant.token, body, headers });

function without(body: Record<string, unknown>, ...members: string[]) {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !members.includes(name)));
}

/** The messages that the host received for a transaction, by its reference. */
function callsAtHost(on: TestOrganization, rrn: string): number {
  return on.host
    .ledger()
    .originals.filter(
      (original) => original.rrn === rrn && original.merchant === on.merchant.merchantNumber,
    ).length;
}

test('50 at once are one call at the acquirer and 50 equal answers', async () => {
  const on = await scene();
  const body = keyedSale();
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(on, 'process', body)));
  const [first] = answers;
  for (const answer of answers) {
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, first?.body);
  }
  const replayed = answers.filter((each) => each.headers['idempotent-replayed'] === 'true');
  assert.equal(replayed.length, 49);
  assert.equal(callsAtHost(on, first?.body.retrievalReferenceNumber), 1);
});

test('a sale by token is told again though its card is not kept any more', async () => {
  const on = await scene();
  const { token } = (await post(on, 'process', keyedSale())).body.card;
  const body = keyedSale({ instrument: { token } });
  const first = await post(on, 'process', body);
  assert.equal(first.body.state, 'Captured', first.text);
  const database = await testDatabase();
  await database.query('DELETE FROM vault_cards WHERE organization_id = $1', [on.organizationId]);
  const again = await post(on, 'process', body);
  assert.deepEqual([again.status, again.body.transactionId], [200, first.body.transactionId]);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  const other = await post(on, 'process', { ...body, amount: 4321 });
  assertProblem(other, { code: 'client_id_reused', pointer: '/amount' });
  const strange = await post(on, 'process', { ...body, instrument: { token: randomUUID() } });
  assertProblem(strange, { code: 'card_token_unknown', outcome: 'NotProcessed' });
  const next = await post(on, 'process', { ...body, clientTransactionId: randomUUID() });
  assertProblem(next, { code: 'card_token_unknown', outcome: 'NotProcessed' });
});

test('another request under the identifier is told which members differ, never their values', async () => {
  const on = await scene();
  const body = keyedSale({ metadata: { table: '7' } });
  await post(on, 'process', body);
  const other = { ...body, amount: 4321, metadata: { table: '8' } };
  const refused = await post(on, 'process', other);
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'client_id_reused');
  assert.deepEqual(
    refused.body.errors.map((error: { pointer: string }) => error.pointer),
    ['/amount', '/metadata'],
  );
  assert.doesNotMatch(textWithoutRequestId(refused), /4321|1234|"8"/);
  const card = { number: '5555555555554444', expiryMonth: 12, expiryYear: 2030 };
  const otherCard = await post(on, 'process', { ...body, instrument: { card } });
  assert.deepEqual(otherCard.body.errors[0].pointer, '/instrument');
});

test('the security code is not part of what must be the same', async () => {
  const on = await scene();
  const body = keyedSale();
  const card = { number: '4111111111111111', expiryMonth: 12, expiryYear: 2030 };
  const first = await post(on, 'process', {
    ...body,
    instrument: { card: { ...card, securityCode: '737' } },
  });
  const again = await post(on, 'process', { ...body, instrument: { card } });
  assert.equal(again.status, 200);
  assert.equal(again.body.transactionId, first.body.transactionId);
});

test('a declined identifier stays declined', async () => {
  const on = await scene();
  const body = keyedSale({ amount: 9051 });
  const first = await post(on, 'process', body);
  const again = await post(on, 'process', body);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.deepEqual(again.body, first.body);
});

test('a replay tells the transaction as it stands now, and what was first answered', async () => {
  const on = await scene();
  const body = keyedSale();
  const first = await post(on, 'process', body);
  await post(on, `${first.body.transactionId}/refund`, {});
  const again = await post(on, 'process', body);
  assert.equal(again.status, 200);
  assert.equal(again.body.state, 'Refunded');
  assert.equal(again.body.answeredState, 'Captured');
});

test('a refusal before the intent does not use the identifier up', async () => {
  const on = await scene();
  const body = keyedSale();
  const refused = await post(on, 'process', { ...body, currency: 'GBP' });
  assert.equal(refused.body.code, 'currency_not_supported');
  const accepted = await post(on, 'process', body);
  assert.equal(accepted.status, 200);
});

test('a duplicate waits while the host is slow, and gets the approval', async () => {
  const on = await scene();
  const begin = async () => {
    const body = keyedSale({ amount: 9098 });
    const first = post(on, 'process', body);
    const state = await until(async () => {
      const path = `${base}/${body['clientTransactionId']}`;
      const { body: found } = await on.client.call('GET', path, { token: on.merchant.token });
      return found.state as string | undefined;
    }, 'the sale to be known');
    return { body, first, state };
  };
  const { body, first } = await until(async () => {
    const begun = await begin();
    // On a slow machine the sale may end before the first read; then the test starts another one.
    return begun.state === 'Received' ? begun : undefined;
  }, 'a sale that is under way');
  const duplicate = await post(on, 'process', body);
  assert.equal(duplicate.status, 200);
  assert.equal(duplicate.body.state, 'Captured');
  assert.deepEqual(duplicate.body, (await first).body);
});

test('an identifier that is a server identifier is refused', async () => {
  const on = await scene();
  const first = await post(on, 'process', keyedSale());
  const body = keyedSale({ clientTransactionId: first.body.transactionId });
  const refused = await post(on, 'process', body);
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'client_id_invalid');
});

test('100 refunds of 60 % at once never go above the captured sum', async () => {
  const on = await scene();
  const sale = (await post(on, 'process', keyedSale({ amount: 10_000 }))).body;
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => post(on, `${sale.transactionId}/refund`, { amount: 6000 })),
  );
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assert.equal(answer.status, 422);
    assert.equal(answer.body.code, 'refund_amount_exceeded');
    assert.equal(answer.body.maxAmount, 4000);
  }
});

test('captures, voids and refunds at once keep within the authorised amount', async () => {
  const on = await scene();
  const sale = (await post(on, 'process', keyedSale({ amount: 10_000, captureMode: 'Deferred' })))
    .body;
  const verbs = ['capture', 'cancel', 'refund'];
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => {
      const verb = verbs[index % verbs.length] ?? 'capture';
      const reason = verb === 'cancel' ? { cancelReason: 'Functional' } : {};
      return post(on, `${sale.transactionId}/${verb}`, { amount: 700, ...reason });
    }),
  );
  const path = `${base}/${sale.transactionId}`;
  const { body: now } = await on.client.call('GET', path, { token: on.merchant.token });
  assert.ok(now.capturedAmount + now.cancelledAmount <= 10_000);
  assert.ok(now.refundedAmount <= now.capturedAmount);
  assert.deepEqual(
    now.events.map((event: { sequence: number }) => event.sequence),
    now.events.map((_: unknown, index: number) => index + 1),
  );
});

test('an operation replays under clientOperationId or Idempotency-Key', async () => {
  const on = await scene();
  const sale = (await post(on, 'process', keyedSale({ amount: 10_000 }))).body;
  const key = randomUUID();
  const path = `${sale.transactionId}/refund`;
  const first = await post(on, path, { amount: 100, clientOperationId: key });
  const again = await post(on, path, { amount: 100 }, { 'idempotency-key': key });
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.deepEqual(without(again.body), without(first.body));
  const other = await post(on, path, { amount: 101, clientOperationId: key });
  assert.equal(other.body.code, 'client_id_reused');
  const torn = await post(on, path, { clientOperationId: 'a' }, { 'idempotency-key': 'b' });
  assert.equal(torn.status, 422);
  assert.equal(torn.body.code, 'idempotency_key_mismatch');
  const twenty = await Promise.all(
    Array.from({ length: 20 }, () => post(on, path, { amount: 50, clientOperationId: 'same' })),
  );
  for (const answer of twenty) {
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.operation, twenty[0]?.body.operation);
  }
});

for (const [verb, captureMode, members] of [
  ['refund', 'Immediate', {}],
  ['refundbyweb', 'Immediate', {}],
  ['capture', 'Deferred', {}],
  ['cancel', 'Deferred', { cancelReason: 'Functional' }],
  ['cancel', 'Deferred', { cancelReason: 'Technical' }],
] as const) {
  const what = [verb, ...Object.values(members)].join(' ');
  test(`all of it at once under one identifier is done once, and told to everybody: ${what}`, async () => {
    const on = await scene();
    const { transactionId } = (await post(on, 'process', keyedSale({ captureMode }))).body;
    const body = { ...members, clientOperationId: randomUUID() };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => post(on, `${transactionId}/${verb}`, body)),
    );
    const [first] = answers;
    for (const { status, body: told, text } of answers) {
      assert.equal(status, 200, text);
      assert.deepEqual(told, first?.body);
    }
    assert.equal(first?.body.operation.status, 'Succeeded', first?.text);
    const own = answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined);
    assert.equal(own.length, 1);
    const { totals } = on.host.ledger();
    const booked = totals
      .filter(({ merchant }) => merchant === on.merchant.merchantNumber)
      .map(({ captures, refunds, reversals }) => captures + refunds + reversals);
    assert.deepEqual(booked, [1]);
  });
}

test('by web an identifier stands for one transaction, whichever of the two is left to do', async () => {
  const on = await scene();
  const sold = async (captureMode: string) =>
    (await post(on, 'process', keyedSale({ captureMode }))).body.transactionId as string;
  for (const [first, second] of [
    ['Immediate', 'Deferred'],
    ['Deferred', 'Immediate'],
  ] as const) {
    const body = { clientOperationId: randomUUID() };
    const done = await post(on, `${await sold(first)}/refundbyweb`, body);
    assert.equal(done.status, 200, done.text);
    const other = await post(on, `${await sold(second)}/refundbyweb`, body);
    assertProblem(other, { code: 'client_id_reused', pointer: '/transactionId' });
  }
});

/** Makes the commit of the operation fail until the test calls the returned function. */
async function losingCommitOf(clientOperationId: string): Promise<() => Promise<void>> {
  const database = await testDatabase();
  const name = `lost_${randomUUID().replaceAll('-', '')}`;
  await database.query(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = 'admin_shutdown'; END $$`);
  await database.query(`CREATE CONSTRAINT TRIGGER ${name} AFTER INSERT ON operations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.client_operation_id = '${clientOperationId}') EXECUTE FUNCTION ${name}()`);
  return async () => {
    await database.query(`DROP FUNCTION ${name} CASCADE`);
  };
}

test('a refund that the database loses at its commit has used no approval code, and is done when it comes again', async () => {
  const on = await scene();
  const { token } = on.merchant;
  const { transactionId } = (await post(on, 'process', keyedSale())).body;
  const codes = '/payment/v1/approval-codes';
  const made = await on.client.call('POST', codes, {
    token,
    body: { name: 'Shift lead', oneTime: true },
  });
  const { code: approvalCode, approvalCodeId } = made.body;
  const standing = async () =>
    (await on.client.call('GET', `${codes}/${approvalCodeId}`, { token })).body;
  const body = { amount: 100, approvalCode, clientOperationId: randomUUID() };
  const refund = () => post(on, `${transactionId}/refund`, body);
  const mend = await losingCommitOf(body.clientOperationId);
  const [lost] = await Promise.allSettled([refund()]);
  await mend();
  assert.equal(lost.status, 'fulfilled');
  const { code, outcome } = lost.value.body;
  assert.deepEqual([code, outcome], ['database_unavailable', 'Unknown']);
  assert.equal((await standing()).status, 'Active');
  const done = await refund();
  assert.equal(done.status, 200, done.text);
  assert.equal(done.body.operation.approvalCodeId, approvalCodeId);
  assert.equal((await refund()).headers['idempotent-replayed'], 'true');
  assert.equal((await standing()).uses, 1);
});

test('all of this ends in agreement with the host', agree);
