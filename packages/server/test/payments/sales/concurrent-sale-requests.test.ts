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
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();

const base = '/payment/v1/transactions';
const post = (
  setup: TestOrganization,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) => setup.client.call('POST', `${base}/${path}`, { token: setup.merchant.token, body, headers });

function withoutMember(body: Record<string, unknown>, ...members: string[]) {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !members.includes(name)));
}

/** The messages that the host received for a transaction, by its reference. */
function callsAtHost(setup: TestOrganization, rrn: string): number {
  return setup.host
    .ledger()
    .originals.filter(
      (original) => original.rrn === rrn && original.merchant === setup.merchant.merchantNumber,
    ).length;
}

// Spec: IDEM-1 INV-3
test('50 concurrent requests cause one call at the acquirer and 50 equal responses', async () => {
  const setup = await createOrganization();
  const body = keyedSale();
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(setup, 'process', body)));
  const [first] = answers;
  for (const answer of answers) {
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, first?.body);
  }
  const replayed = answers.filter((each) => each.headers['idempotent-replayed'] === 'true');
  assert.equal(replayed.length, 49);
  assert.equal(callsAtHost(setup, first?.body.retrievalReferenceNumber), 1);
});

test('a replay of a sale by token succeeds after its card was deleted', async () => {
  const setup = await createOrganization();
  const { token } = (await post(setup, 'process', keyedSale())).body.card;
  const body = keyedSale({ instrument: { token } });
  const first = await post(setup, 'process', body);
  assert.equal(first.body.state, 'Captured', first.text);
  const database = await testDatabase();
  await database.query('DELETE FROM vault_cards WHERE organization_id = $1', [
    setup.organizationId,
  ]);
  const again = await post(setup, 'process', body);
  assert.deepEqual([again.status, again.body.transactionId], [200, first.body.transactionId]);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  const other = await post(setup, 'process', { ...body, amount: 4321 });
  assertProblem(other, { code: 'client_id_reused', pointer: '/amount' });
  const strange = await post(setup, 'process', { ...body, instrument: { token: randomUUID() } });
  assertProblem(strange, { code: 'card_token_unknown', outcome: 'NotProcessed' });
  const next = await post(setup, 'process', { ...body, clientTransactionId: randomUUID() });
  assertProblem(next, { code: 'card_token_unknown', outcome: 'NotProcessed' });
});

// Spec: IDEM-7
test('a different request with the same identifier is refused with the names of the members, without values', async () => {
  const setup = await createOrganization();
  const body = keyedSale({ metadata: { table: '7' } });
  await post(setup, 'process', body);
  const other = { ...body, amount: 4321, metadata: { table: '8' } };
  const refused = await post(setup, 'process', other);
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'client_id_reused');
  assert.deepEqual(
    refused.body.errors.map((error: { pointer: string }) => error.pointer),
    ['/amount', '/metadata'],
  );
  assert.doesNotMatch(textWithoutRequestId(refused), /4321|1234|"8"/);
  const card = { number: '5555555555554444', expiryMonth: 12, expiryYear: 2030 };
  const otherCard = await post(setup, 'process', { ...body, instrument: { card } });
  assert.deepEqual(otherCard.body.errors[0].pointer, '/instrument');
});

// Spec: IDEM-5
test('the security code is not compared at a replay', async () => {
  const setup = await createOrganization();
  const body = keyedSale();
  const card = { number: '4111111111111111', expiryMonth: 12, expiryYear: 2030 };
  const first = await post(setup, 'process', {
    ...body,
    instrument: { card: { ...card, securityCode: '737' } },
  });
  const again = await post(setup, 'process', { ...body, instrument: { card } });
  assert.equal(again.status, 200);
  assert.equal(again.body.transactionId, first.body.transactionId);
});

test('a declined sale stays declined at a replay', async () => {
  const setup = await createOrganization();
  const body = keyedSale({ amount: 9051 });
  const first = await post(setup, 'process', body);
  const again = await post(setup, 'process', body);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.deepEqual(again.body, first.body);
});

// Spec: IDEM-6
test('a replay returns the current state and the state of the first response', async () => {
  const setup = await createOrganization();
  const body = keyedSale();
  const first = await post(setup, 'process', body);
  await post(setup, `${first.body.transactionId}/refund`, {});
  const again = await post(setup, 'process', body);
  assert.equal(again.status, 200);
  assert.equal(again.body.state, 'Refunded');
  assert.equal(again.body.answeredState, 'Captured');
});

// Spec: IDEM-2
test('a request that is refused before it is stored does not use its identifier', async () => {
  const setup = await createOrganization();
  const body = keyedSale();
  const refused = await post(setup, 'process', { ...body, currency: 'GBP' });
  assert.equal(refused.body.code, 'currency_not_supported');
  const accepted = await post(setup, 'process', body);
  assert.equal(accepted.status, 200);
});

// Spec: IDEM-8
test('a duplicate request waits for a slow host and gets the approval', async () => {
  const setup = await createOrganization();
  const begin = async () => {
    const body = keyedSale({ amount: 9098 });
    const first = post(setup, 'process', body);
    const state = await until(async () => {
      const path = `${base}/${body['clientTransactionId']}`;
      const { body: transaction } = await setup.client.call('GET', path, {
        token: setup.merchant.token,
      });
      return transaction.state as string | undefined;
    }, 'the sale to be known');
    return { body, first, state };
  };
  const { body, first } = await until(async () => {
    const begun = await begin();
    // On a slow machine the sale may end before the first read; then the test starts another one.
    return begun.state === 'Received' ? begun : undefined;
  }, 'a sale that is under way');
  const duplicate = await post(setup, 'process', body);
  assert.equal(duplicate.status, 200);
  assert.equal(duplicate.body.state, 'Captured');
  assert.deepEqual(duplicate.body, (await first).body);
});

// Spec: IDEM-4
test('an identifier of the server is refused as a client’s identifier', async () => {
  const setup = await createOrganization();
  const first = await post(setup, 'process', keyedSale());
  const body = keyedSale({ clientTransactionId: first.body.transactionId });
  const refused = await post(setup, 'process', body);
  assert.equal(refused.status, 422);
  assert.equal(refused.body.code, 'client_id_invalid');
});

// Spec: INV-1
test('100 concurrent refunds of 60 % never exceed the captured amount', async () => {
  const setup = await createOrganization();
  const sale = (await post(setup, 'process', keyedSale({ amount: 10_000 }))).body;
  const answers = await Promise.all(
    Array.from({ length: 100 }, () =>
      post(setup, `${sale.transactionId}/refund`, { amount: 6000 }),
    ),
  );
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assert.equal(answer.status, 422);
    assert.equal(answer.body.code, 'refund_amount_exceeded');
    assert.equal(answer.body.maxAmount, 4000);
  }
});

// Spec: INV-2
test('concurrent captures, voids and refunds stay within the authorised amount', async () => {
  const setup = await createOrganization();
  const sale = (
    await post(setup, 'process', keyedSale({ amount: 10_000, captureMode: 'Deferred' }))
  ).body;
  const verbs = ['capture', 'cancel', 'refund'];
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => {
      const verb = verbs[index % verbs.length] ?? 'capture';
      const reason = verb === 'cancel' ? { cancelReason: 'Functional' } : {};
      return post(setup, `${sale.transactionId}/${verb}`, { amount: 700, ...reason });
    }),
  );
  const path = `${base}/${sale.transactionId}`;
  const { body: now } = await setup.client.call('GET', path, { token: setup.merchant.token });
  assert.ok(now.capturedAmount + now.cancelledAmount <= 10_000);
  assert.ok(now.refundedAmount <= now.capturedAmount);
  assert.deepEqual(
    now.events.map((event: { sequence: number }) => event.sequence),
    now.events.map((_: unknown, index: number) => index + 1),
  );
});

// Spec: IDEM-9
test('an operation can be replayed by clientOperationId or Idempotency-Key', async () => {
  const setup = await createOrganization();
  const sale = (await post(setup, 'process', keyedSale({ amount: 10_000 }))).body;
  const key = randomUUID();
  const path = `${sale.transactionId}/refund`;
  const first = await post(setup, path, { amount: 100, clientOperationId: key });
  const again = await post(setup, path, { amount: 100 }, { 'idempotency-key': key });
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.deepEqual(withoutMember(again.body), withoutMember(first.body));
  const other = await post(setup, path, { amount: 101, clientOperationId: key });
  assert.equal(other.body.code, 'client_id_reused');
  const torn = await post(setup, path, { clientOperationId: 'a' }, { 'idempotency-key': 'b' });
  assert.equal(torn.status, 422);
  assert.equal(torn.body.code, 'idempotency_key_mismatch');
  const twenty = await Promise.all(
    Array.from({ length: 20 }, () => post(setup, path, { amount: 50, clientOperationId: 'same' })),
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
  const description = [verb, ...Object.values(members)].join(' ');
  test(`concurrent requests with one identifier are done once, and all get the result: ${description}`, async () => {
    const setup = await createOrganization();
    const { transactionId } = (await post(setup, 'process', keyedSale({ captureMode }))).body;
    const body = { ...members, clientOperationId: randomUUID() };
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => post(setup, `${transactionId}/${verb}`, body)),
    );
    const [first] = answers;
    for (const { status, body: replayedBody, text } of answers) {
      assert.equal(status, 200, text);
      assert.deepEqual(replayedBody, first?.body);
    }
    assert.equal(first?.body.operation.status, 'Succeeded', first?.text);
    const firstResponses = answers.filter(
      ({ headers }) => headers['idempotent-replayed'] === undefined,
    );
    assert.equal(firstResponses.length, 1);
    const { totals } = setup.host.ledger();
    const booked = totals
      .filter(({ merchant }) => merchant === setup.merchant.merchantNumber)
      .map(({ captures, refunds, reversals }) => captures + refunds + reversals);
    assert.deepEqual(booked, [1]);
  });
}

test('by web an identifier belongs to one transaction, for a refund or a cancel', async () => {
  const setup = await createOrganization();
  const sold = async (captureMode: string) =>
    (await post(setup, 'process', keyedSale({ captureMode }))).body.transactionId as string;
  for (const [first, second] of [
    ['Immediate', 'Deferred'],
    ['Deferred', 'Immediate'],
  ] as const) {
    const body = { clientOperationId: randomUUID() };
    const done = await post(setup, `${await sold(first)}/refundbyweb`, body);
    assert.equal(done.status, 200, done.text);
    const other = await post(setup, `${await sold(second)}/refundbyweb`, body);
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

// Spec: PROV-62
test('a refund whose commit was lost has used no approval code, and a retry is done', async () => {
  const setup = await createOrganization();
  const { token } = setup.merchant;
  const { transactionId } = (await post(setup, 'process', keyedSale())).body;
  const codes = '/payment/v1/approval-codes';
  const made = await setup.client.call('POST', codes, {
    token,
    body: { name: 'Shift lead', oneTime: true },
  });
  const { code: approvalCode, approvalCodeId } = made.body;
  const readCode = async () =>
    (await setup.client.call('GET', `${codes}/${approvalCodeId}`, { token })).body;
  const body = { amount: 100, approvalCode, clientOperationId: randomUUID() };
  const refund = () => post(setup, `${transactionId}/refund`, body);
  const mend = await losingCommitOf(body.clientOperationId);
  const [lost] = await Promise.allSettled([refund()]);
  await mend();
  assert.equal(lost.status, 'fulfilled');
  const { code, outcome } = lost.value.body;
  assert.deepEqual([code, outcome], ['database_unavailable', 'Unknown']);
  assert.equal((await readCode()).status, 'Active');
  const done = await refund();
  assert.equal(done.status, 200, done.text);
  assert.equal(done.body.operation.approvalCodeId, approvalCodeId);
  assert.equal((await refund()).headers['idempotent-replayed'], 'true');
  assert.equal((await readCode()).uses, 1);
});

// Spec: INV-4 INV-6
test('the ledgers of platform and host agree', assertLedgersAgree);
