// Account verification without an amount: the host approves by 85 or 00, and nothing can be
// captured.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  approvalResponse,
  encodeMessageFrame,
  type ScriptedHost,
  startScriptedHost,
} from '../../support/acquirers/scripted-host.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { getOrPost } from '../../support/payment-calls.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { assertAgreement } from '../ledger/ledger-invariants.ts';

const verification = (members: Record<string, unknown> = {}) =>
  keyedSale({ purpose: 'AccountVerification', amount: 0, ...members });

describe('account verification', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  // Spec: CARD-4
  test('the issuer authorises a verification of amount zero, and the platform captures nothing', async () => {
    const { body: sale, text } = await getOrPost(setup, '/process', verification());
    assert.equal(sale.state, 'Authorized', text);
    assert.equal(sale.approved, true);
    assert.equal(sale.terminalAction, 'Approve');
    assert.equal(sale.purpose, 'AccountVerification');
    assert.equal(sale.captureMode, 'Deferred');
    assert.deepEqual([sale.amount, sale.authorizedAmount, sale.capturedAmount], [0, 0, 0]);
    assert.equal(sale.receipt.merchant.operation, 'AccountVerification');
    assert.ok(sale.card.token);
    const later = keyedSale({ instrument: { token: sale.card.token } });
    assert.equal((await getOrPost(setup, '/process', later)).body.state, 'Captured');
  });

  test('a verification allows no operation, and its allowed operations say so', async () => {
    const { body: sale } = await getOrPost(setup, '/process', verification());
    const path = `/${sale.transactionId}`;
    const { body: allowed } = await getOrPost(setup, `${path}/allowedoperations`);
    assert.ok(allowed.operations.every((each: { allowed: boolean }) => !each.allowed));
    const verbs: [string, Record<string, unknown>, string][] = [
      ['capture', {}, 'nothing_to_capture'],
      ['refund', {}, 'not_captured'],
      ['cancel', { cancelReason: 'Functional' }, 'nothing_to_cancel'],
    ];
    for (const [verb, body, code] of verbs) {
      const answer = await getOrPost(setup, `${path}/${verb}`, body);
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.body.code, code, answer.text);
      const reasons = allowed.operations.map((each: { reason?: string }) => each.reason);
      assert.ok(reasons.includes(code), `${code} in ${reasons}`);
    }
    const firstCancel = await getOrPost(setup, `${path}/cancel`, { cancelReason: 'Technical' });
    assert.equal(firstCancel.status, 200, firstCancel.text);
    assert.equal(firstCancel.body.state, 'Authorized');
    const all = await getOrPost(setup, '/captureall', { dryRun: true });
    assert.ok(!all.text.includes(sale.transactionId));
  });

  // Spec: MONEY-2
  test('only a verification has the amount zero, and it allows no other members', async () => {
    const cases: [Record<string, unknown>, string, string][] = [
      [keyedSale({ amount: 0 }), 'amount_zero', '/amount'],
      [verification({ amount: 100 }), 'amount_invalid', '/amount'],
      [verification({ captureMode: 'Immediate' }), 'field_invalid', '/captureMode'],
      [verification({ partialApproval: true }), 'field_invalid', '/partialApproval'],
      [verification({ confirmWithinSeconds: 30 }), 'field_invalid', '/confirmWithinSeconds'],
      [verification({ amounts: { tip: 1 } }), 'amount_invalid', '/amounts'],
      [verification({ purpose: 'Purchase' }), 'field_invalid', '/purpose'],
    ];
    for (const [body, code, pointer] of cases) {
      const answer = await getOrPost(setup, '/process', body);
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.body.code, code, answer.text);
      assert.equal(answer.body.errors[0].pointer, pointer);
    }
  });

  test('the ledgers of platform and host agree', async () => {
    await assertAgreement(setup);
  });
});

describe('responses of the host to a verification', () => {
  let setup: TestOrganization;
  let host: ScriptedHost;
  let code: string | undefined = '85';
  before(async () => {
    host = await startScriptedHost();
    host.script(({ message, socket }) => {
      if (message.mti === '0100' && code === undefined) return;
      const changed = message.mti === '0100' && code !== undefined ? { 39: code } : {};
      const answer = approvalResponse(message, changed);
      const mti = message.mti.startsWith('042') ? '0430' : answer.mti;
      socket.write(encodeMessageFrame({ ...answer, mti }));
    });
    setup = await createTestOrganization({}, { acquirerPort: host.port });
  });
  after(() => host.stop());

  test('85 approves a verification; a sale with 85 is not approved, and is reversed', async () => {
    code = '85';
    const { body: good } = await getOrPost(setup, '/process', verification());
    assert.equal(good.state, 'Authorized');
    assert.deepEqual(
      [good.response.category, good.response.code, good.terminalAction],
      ['Approved', '85', 'Approve'],
    );
    const hostRequest = host.received.findLast(({ message }) => message.mti === '0100');
    assert.equal(hostRequest?.message.fields[4], '000000000000');
    assert.equal(hostRequest?.message.fields[25], '51');
    const sale = keyedSale({ captureMode: 'Deferred' });
    assert.equal((await getOrPost(setup, '/process', sale)).body.state, 'Reversing');
  });

  test('an invalid card is declined, and a verification without a response is reversed', async () => {
    code = '14';
    assert.equal((await getOrPost(setup, '/process', verification())).body.state, 'Declined');
    code = undefined;
    const { body } = await getOrPost(setup, '/process', verification());
    assert.equal(body.state, 'Reversing');
    assert.equal(body.terminalAction, 'Decline');
    const reversed = await until(async () => {
      const { body: now } = await getOrPost(setup, `/${body.transactionId}`);
      return now.state === 'Reversed' ? now : undefined;
    }, 'the reversal');
    assert.equal(reversed.operations[0].amount, 0);
  });
});
