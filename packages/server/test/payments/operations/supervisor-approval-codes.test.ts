// Whole run: many sales are prepared, or a process is started, for each test.
// Approval codes: a supervisor creates them, a terminal sends them with a refund or a cancel.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { defined } from '@switchyard/contract';
import { maxFailedAttempts } from '../../../src/payments/approvals/check-approval-code.ts';
import {
  attachHttpAcquirer,
  contractTermsOnLink,
  waitUntilAvailable,
} from '../../support/acquirers/test-http-acquirer.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../../support/test-organization.ts';
import { trackLedgers } from '../ledger/check-ledger-after-tests.ts';

const { createOrganization, assertLedgersAgree } = trackLedgers();
const sales = '/payment/v1/transactions';
const codes = '/payment/v1/approval-codes';

type Members = Record<string, unknown>;

async function createOrganizationWithCodes(required = true) {
  const setup = await createOrganization();
  if (required) {
    const { organizationId, realm } = setup;
    const input = { name: realm, approvalCodeRequired: true };
    await setup.platform.provisioning.organizations.replace(
      { organizationId },
      organizationId,
      input,
    );
  }
  const call = (method: string, path: string, body?: Members, token = setup.merchant.token) =>
    setup.client.call(method, path, { token, ...defined({ body }) });
  const sold = async (members: Members = {}) =>
    (await call('POST', `${sales}/process`, keyedSale(members))).body.transactionId as string;
  const make = async (members: Members = {}, token?: string) => {
    const answer = await call('POST', codes, { name: 'Shift lead', ...members }, token);
    assert.equal(answer.status, 201, answer.text);
    return answer.body as { approvalCodeId: string; code: string; status: string };
  };
  const refund = (id: string, members: Members = {}, token?: string) =>
    call('POST', `${sales}/${id}/refund`, members, token);
  return { ...setup, call, sold, make, refund };
}

/** A till of the organisation with its own rate limit. */
const tillOf = (setup: TestOrganization, merchant: TestMerchant) =>
  setup.tokenFor({
    name: 'another till',
    entityType: 'merchant',
    entityId: merchant.merchantId,
    merchantId: merchant.merchantId,
    roles: ['Merchant'],
  });

const wrongFor = (code: string) => String((Number(code) + 1) % 10 ** 8).padStart(8, '0');

// Spec: SVC-20 PAY-18 PAY-21 ERR-4 ERR-5
test('if the contract requires a code, refunds and voids need one; reversals and web refunds do not', async () => {
  const { call, sold, make, refund } = await createOrganizationWithCodes();
  const id = await sold();
  const without = await refund(id);
  assert.equal(without.status, 422);
  assert.equal(without.body.code, 'approval_code_required');
  assert.equal(without.body.outcome, 'NotProcessed');
  assert.equal(without.body.errors[0].pointer, '/approvalCode');
  const { code, approvalCodeId } = await make();
  assert.match(code, /^\d{8}$/);
  const done = await refund(id, { amount: 100, approvalCode: code });
  assert.equal(done.status, 200, done.text);
  assert.equal(done.body.operation.approvalCodeId, approvalCodeId);
  assert.equal(done.body.refundedAmount, 100);
  const web = await call('POST', `${sales}/${id}/refundbyweb`, { amount: 100 });
  assert.equal(web.body.refundedAmount, 200, web.text);

  const heldSale = await sold({ captureMode: 'Deferred' });
  const cancel = (members: Members) => call('POST', `${sales}/${heldSale}/cancel`, members);
  const refused = await cancel({ cancelReason: 'Functional', amount: 1 });
  assert.equal(refused.body.code, 'approval_code_required');
  const voided = await cancel({ cancelReason: 'Functional', amount: 1, approvalCode: code });
  assert.equal(voided.body.cancelledAmount, 1, voided.text);
  const reversed = await cancel({ cancelReason: 'Technical' });
  assert.equal(reversed.status, 200, reversed.text);
  const other = await sold({ captureMode: 'Deferred' });
  const captured = await call('POST', `${sales}/${other}/capture`, {});
  assert.equal(captured.body.state, 'Captured', 'a capture takes no money back');
  const used = await call('GET', `${codes}/${approvalCodeId}`);
  assert.equal(used.body.uses, 2);
  assert.ok(used.body.lastUsedAt);
});

// Spec: CARDF-15 PAY-13
test('if the contract does not require a code, a sent code is still checked', async () => {
  const { call, sold, make, refund } = await createOrganizationWithCodes(false);
  const id = await sold();
  const { code } = await make();
  assert.equal((await refund(id, { amount: 1 })).status, 200);
  const wrong = await refund(id, { amount: 1, approvalCode: wrongFor(code) });
  assert.equal(wrong.status, 422);
  assert.equal(wrong.body.code, 'approval_code_invalid');
  assert.ok(!wrong.text.includes(wrongFor(code)), 'a code is not told again');
  const heldSale = await sold({ captureMode: 'Deferred' });
  const capture = await call('POST', `${sales}/${heldSale}/capture`, {
    approvalCode: wrongFor(code),
  });
  assert.equal(capture.body.code, 'approval_code_invalid');
  const right = await call('POST', `${sales}/${heldSale}/capture`, { approvalCode: code });
  assert.equal(right.body.state, 'Captured', right.text);
});

// Spec: PROV-62
test('of six concurrent refunds a one-time code approves one; the others get approval_code_used, and no code is locked', async () => {
  const { sold, make, refund, call } = await createOrganizationWithCodes();
  const ids = await Promise.all(Array.from({ length: maxFailedAttempts + 1 }, () => sold()));
  const { code, approvalCodeId } = await make({ oneTime: true });
  const answers = await Promise.all(ids.map((id) => refund(id, { approvalCode: code })));
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(refused.length, maxFailedAttempts);
  for (const answer of refused) {
    assertProblem(answer, { code: 'approval_code_used', pointer: '/approvalCode' });
  }
  const { body } = await call('GET', `${codes}/${approvalCodeId}`);
  assert.deepEqual([body.status, body.uses], ['Used', 1]);
  const open = ids.find((_, index) => answers[index]?.status !== 200) as string;
  const other = await make();
  assert.equal((await refund(open, { approvalCode: other.code })).status, 200);
});

test('a repeated refund is answered without a second use, and its code is not compared', async () => {
  const { sold, make, refund, call } = await createOrganizationWithCodes();
  const id = await sold();
  const { code, approvalCodeId } = await make({ oneTime: true });
  const body = { amount: 100, clientOperationId: randomUUID() };
  const first = await refund(id, { ...body, approvalCode: code });
  assert.equal(first.status, 200, first.text);
  for (const again of [{ approvalCode: code }, {}]) {
    const second = await refund(id, { ...body, ...again });
    assert.equal(second.status, 200, second.text);
    assert.equal(second.headers['idempotent-replayed'], 'true');
  }
  assert.equal((await call('GET', `${codes}/${approvalCodeId}`)).body.uses, 1);
});

test('a refund that is refused for another reason does not use the one-time code', async () => {
  const { sold, make, refund, call } = await createOrganizationWithCodes();
  const id = await sold();
  const { code, approvalCodeId } = await make({ oneTime: true });
  const tooMuch = await refund(id, { amount: 99_999, approvalCode: code });
  assert.equal(tooMuch.body.code, 'refund_amount_exceeded');
  const heldSale = await sold({ captureMode: 'Deferred' });
  assert.equal((await refund(heldSale, { approvalCode: code })).body.code, 'not_captured');
  assert.equal((await call('GET', `${codes}/${approvalCodeId}`)).body.status, 'Active');
  assert.equal((await refund(id, { approvalCode: code })).status, 200);
});

test('a code that approved an unsent refund approves only the next attempt', async () => {
  const setup = await createTestOrganization();
  const bank = await attachHttpAcquirer(setup, 'bank');
  const merchant = await setup.createMerchant(contractTermsOnLink(bank.linkId));
  await waitUntilAvailable(setup, merchant.token);
  const call = (method: string, path: string, body?: Members) =>
    setup.client.call(method, path, { token: merchant.token, ...defined({ body }) });
  const sale = await call('POST', `${sales}/process`, keyedSale());
  const refunds = `${sales}/${sale.body.transactionId}/refund`;
  const made = await call('POST', codes, { name: 'Shift lead', oneTime: true });
  const { code: approvalCode, approvalCodeId } = made.body;
  const readCode = async () => (await call('GET', `${codes}/${approvalCodeId}`)).body;
  bank.server.setReady(false);
  const unsent = { amount: 100, clientOperationId: randomUUID(), approvalCode };
  for (const time of ['at once', 'again']) {
    const refused = await call('POST', refunds, unsent);
    assert.equal(refused.body.code, 'not_sent', `${time}: ${refused.text}`);
    const { status, uses } = await readCode();
    assert.deepEqual([status, uses], ['Active', 0], time);
  }
  const atOnce = { amount: 100, clientOperationId: randomUUID() };
  const all = await Promise.all(Array.from({ length: 10 }, () => call('POST', refunds, atOnce)));
  for (const refused of all) {
    assert.deepEqual([refused.status, refused.body.code], [502, 'not_sent'], refused.text);
  }
  const { operations } = (await call('GET', `${sales}/${sale.body.transactionId}`)).body;
  const unavailable = { category: 'TechnicalFailure', reason: 'AcquirerUnavailable' };
  for (const { status, response } of operations) {
    assert.deepEqual([status, response], ['Failed', unavailable], 'no word of the adapter');
  }
  bank.server.setReady(true);
  await waitUntilAvailable(setup, merchant.token);
  const done = await call('POST', refunds, { amount: 100, approvalCode });
  assert.equal(done.status, 200, done.text);
  assert.equal(done.body.operation.approvalCodeId, approvalCodeId);
  // The server repeats the failed result, and does not release a code that another refund has used.
  assert.equal((await call('POST', refunds, unsent)).body.code, 'not_sent');
  const { status, uses } = await readCode();
  assert.deepEqual([status, uses], ['Used', 1]);
  const other = await call('POST', refunds, { amount: 100, approvalCode });
  assert.equal(other.body.code, 'approval_code_used');
});

test('a wrong amount, expiry, store or revocation gives the same error, and failed attempts lock no code', async () => {
  const setup = await createOrganizationWithCodes();
  const { sold, make, refund, call, otherMerchant } = setup;
  const id = await sold();
  const small = await make({ maxAmount: 100, currency: 'EUR' });
  const dollars = await make({ maxAmount: 100_000, currency: 'USD' });
  const elsewhere = await make({}, otherMerchant.token);
  const revoked = await make();
  assert.equal((await call('DELETE', `${codes}/${revoked.approvalCodeId}`)).body.status, 'Revoked');
  assert.equal((await call('DELETE', `${codes}/${revoked.approvalCodeId}`)).status, 200);
  const notValid = [small, dollars, elsewhere, revoked];
  assert.ok(notValid.length * 2 > maxFailedAttempts);
  for (const { code } of [...notValid, ...notValid]) {
    const refused = await refund(id, { amount: 101, approvalCode: code });
    assert.equal(refused.body.code, 'approval_code_invalid');
  }
  const expired = await make({ validUntil: '2099-01-01T00:00:00.000Z' });
  const database = await testDatabase();
  await database.query(
    'UPDATE approval_codes SET valid_until = now() WHERE approval_code_id = $1',
    [expired.approvalCodeId],
  );
  const late = await refund(id, { amount: 1, approvalCode: expired.code });
  assert.equal(late.body.code, 'approval_code_invalid');
  const { status } = (await call('GET', `${codes}/${expired.approvalCodeId}`)).body;
  assert.equal(status, 'Expired');
  assert.equal((await refund(id, { amount: 100, approvalCode: small.code })).status, 200);
});

// Spec: PROV-62
test('after a few wrong codes further attempts are blocked, and other clients continue', async () => {
  const setup = await createOrganizationWithCodes();
  const { sold, make, refund, merchant } = setup;
  const id = await sold();
  const { code } = await make();
  const tries = await Promise.all(
    Array.from({ length: 40 }, () => refund(id, { amount: 1, approvalCode: wrongFor(code) })),
  );
  const countCode = (name: string) => tries.filter(({ body }) => body.code === name).length;
  assert.equal(countCode('approval_code_invalid'), maxFailedAttempts);
  assert.equal(countCode('approval_code_locked'), 40 - maxFailedAttempts);
  const locked = await refund(id, { amount: 1, approvalCode: code });
  assert.equal(locked.body.code, 'approval_code_locked');
  assert.ok(locked.body.retryAfterMs > 0 && locked.body.retryAfterMs <= 900_000);
  const other = await tillOf(setup, merchant);
  assert.equal((await refund(id, { amount: 1, approvalCode: code }, other)).status, 200);
  for (let right = 0; right < maxFailedAttempts * 2; right += 1) {
    assert.equal((await refund(id, { amount: 1, approvalCode: code }, other)).status, 200);
  }
});

test('forty concurrent refunds with a right code are no attempts, and wrong ones count up to the limit', async () => {
  const { sold, make, refund } = await createOrganizationWithCodes();
  const { code } = await make();
  const atOnce = async (approvalCode: string) => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => sold()));
    return Promise.all(ids.map((id) => refund(id, { amount: 1, approvalCode })));
  };
  for (const { status, text } of await atOnce(code)) assert.equal(status, 200, text);
  const wrong = (await atOnce(wrongFor(code))).map(({ body }) => body.code);
  const countCode = (name: string) => wrong.filter((each) => each === name).length;
  assert.equal(countCode('approval_code_invalid'), maxFailedAttempts);
  assert.equal(countCode('approval_code_locked'), 40 - maxFailedAttempts);
});

test('the same refund sent concurrently is answered once with a one-time code, which is used once', async () => {
  const { sold, make, refund, call } = await createOrganizationWithCodes();
  const id = await sold();
  const { code, approvalCodeId } = await make({ oneTime: true });
  const body = { clientOperationId: randomUUID(), approvalCode: code };
  const all = await Promise.all(Array.from({ length: 10 }, () => refund(id, body)));
  for (const { status, body: countCode, text } of all) {
    assert.equal(status, 200, text);
    assert.deepEqual(countCode.operation, all[0]?.body.operation);
  }
  assert.equal((await call('GET', `${codes}/${approvalCodeId}`)).body.uses, 1);
});

test('a right code does not reset the limit of attempts', async () => {
  const { sold, make, refund } = await createOrganizationWithCodes();
  const id = await sold();
  const small = await make({ maxAmount: 1, currency: 'EUR' });
  const answers: string[] = [];
  for (let round = 0; round < maxFailedAttempts + 1; round += 1) {
    const wrong = await refund(id, { amount: 900, approvalCode: wrongFor(small.code) });
    answers.push(wrong.body.code);
    await refund(id, { amount: 1, approvalCode: small.code });
  }
  assert.deepEqual(
    answers.slice(0, maxFailedAttempts),
    Array(maxFailedAttempts).fill('approval_code_invalid'),
  );
  assert.equal(answers.at(-1), 'approval_code_locked');
});

test('codes are listed without their secret, page by page, by merchant', async () => {
  const setup = await createOrganizationWithCodes(false);
  const { make, call, otherMerchant, merchant } = setup;
  const made = [await make(), await make(), await make()];
  const first = await call('GET', `${codes}?limit=2`);
  assert.equal(first.body.items.length, 2);
  const next = await call('GET', `${codes}?limit=2&cursor=${first.body.nextCursor}`);
  const ids = [...first.body.items, ...next.body.items].map(
    (each: Members) => each['approvalCodeId'],
  );
  assert.deepEqual(
    ids,
    made.map(({ approvalCodeId }) => approvalCodeId),
  );
  assert.equal(next.body.nextCursor, null);
  for (const { code } of made) assert.ok(!first.text.includes(code) && !next.text.includes(code));
  const [{ approvalCodeId = '' } = {}] = made;
  for (const method of ['GET', 'DELETE']) {
    const foreign = await call(
      method,
      `${codes}/${approvalCodeId}`,
      undefined,
      otherMerchant.token,
    );
    assert.equal(foreign.status, 404);
  }
  assert.deepEqual((await call('GET', codes, undefined, otherMerchant.token)).body.items, []);
  await call('DELETE', `${codes}/${approvalCodeId}`);
  assert.equal((await call('GET', codes)).body.items.length, 2);
  assert.equal((await call('GET', `${codes}?includeRevoked=true`)).body.items.length, 3);
  const forOther = await call('POST', codes, { name: 'x', merchantId: otherMerchant.merchantId });
  assert.equal(forOther.body.code, 'entity_out_of_scope');
  const foreignStore = await call('POST', codes, { name: 'x', storeId: otherMerchant.storeId });
  assert.equal(foreignStore.status, 404);
  const readOnly = await setup.tokenFor({
    name: 'reader',
    entityType: 'merchant',
    entityId: merchant.merchantId,
    merchantId: merchant.merchantId,
    roles: ['MerchantReadOnly'],
  });
  assert.equal((await call('POST', codes, { name: 'x' }, readOnly)).status, 403);
});

test('an application of one store sees only the codes of that store', async () => {
  const setup = await createOrganizationWithCodes(false);
  const { make, call, merchant } = setup;
  const { merchantId, storeId } = merchant;
  const ownCode = await make({ storeId });
  const whole = await make();
  const token = await setup.tokenFor({
    name: 'back office of a store',
    entityType: 'merchant',
    entityId: merchantId,
    merchantId,
    storeId,
    roles: ['Merchant'],
  });
  const { items } = (await call('GET', codes, undefined, token)).body;
  assert.deepEqual(
    items.map((each: Members) => each['approvalCodeId']),
    [ownCode.approvalCodeId],
  );
  for (const method of ['GET', 'DELETE']) {
    const answer = await call(method, `${codes}/${whole.approvalCodeId}`, undefined, token);
    assert.equal(answer.body.code, 'resource_not_found', answer.text);
  }
  assert.equal(
    (await call('DELETE', `${codes}/${ownCode.approvalCodeId}`, undefined, token)).status,
    200,
  );
});

test('no table contains a code, and the audit contains every change', async () => {
  const { make, call, acquirerToken } = await createOrganizationWithCodes(false);
  const { code, approvalCodeId } = await make();
  await call('DELETE', `${codes}/${approvalCodeId}`);
  const database = await testDatabase();
  const [row] = await database.query<{ text: string }>(
    'SELECT approval_codes::text AS text FROM approval_codes WHERE approval_code_id = $1',
    [approvalCodeId],
  );
  assert.ok(row !== undefined && !row.text.includes(code));
  const path = `/audit/v1/records?entityId=${approvalCodeId}`;
  const { body, text } = await call('GET', path, undefined, acquirerToken);
  assert.deepEqual(body.items.map((each: Members) => each['action']).sort(), [
    'approvalCode.created',
    'approvalCode.revoked',
  ]);
  assert.ok(!text.includes(code));
});

test('invalid codes and invalid requests for codes are refused with their pointer', async () => {
  const { call, sold, refund } = await createOrganizationWithCodes(false);
  const id = await sold();
  for (const approvalCode of ['', '1234567', '123456789', 'abcdefgh', '1234567\n']) {
    const { body } = await refund(id, { approvalCode });
    assert.equal(body.code, 'approval_code_invalid', approvalCode);
  }
  const faults: [Members, string][] = [
    [{}, '/name'],
    [{ name: '' }, '/name'],
    [{ name: 'x', maxAmount: 5 }, '/currency'],
    [{ name: 'x', currency: 'EUR' }, '/maxAmount'],
    [{ name: 'x', maxAmount: 5, currency: 'DEM' }, '/currency'],
    [{ name: 'x', validUntil: '2020-01-01T00:00:00Z' }, '/validUntil'],
    [{ name: 'x', code: '12345678' }, '/code'],
  ];
  for (const [body, pointer] of faults) {
    const answer = await call('POST', codes, body);
    assert.equal(answer.status, 422, answer.text);
    assert.equal(answer.body.errors[0].pointer, pointer, answer.text);
  }
  assert.equal((await call('GET', `${codes}/${randomUUID()}`)).status, 404);
});

test('the ledgers of platform and host agree', assertLedgersAgree);
