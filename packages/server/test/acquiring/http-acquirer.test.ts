// Whole run: much is made, or waited for, before it shows.
// Payments through an HTTP acquirer, from end to end, with failures.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  type AttachedAcquirer,
  attachHttpAcquirer,
  contractTermsOnLink,
  waitUntilAvailable,
} from '../support/acquirers/test-http-acquirer.ts';
import { assertProblem } from '../support/assert-problem-response.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/payment/v1/transactions';

describe('HTTP acquirers', () => {
  let setup: TestOrganization;
  let acquirer: AttachedAcquirer;
  let merchant: TestMerchant;

  before(async () => {
    setup = await createTestOrganization();
    acquirer = await attachHttpAcquirer(setup, 'bank');
    merchant = await setup.createMerchant(
      contractTermsOnLink(acquirer.linkId, { partialCancel: true, multipleCapture: true }),
    );
    await waitUntilAvailable(setup, merchant.token);
  });

  const call = (path: string, body: Record<string, unknown>) =>
    setup.client.call('POST', `${base}${path}`, { token: merchant.token, body });
  const sell = (members: Record<string, unknown> = {}) => call('/process', keyedSale(members));
  const read = async (id: string) =>
    (await setup.client.call('GET', `${base}/${id}`, { token: merchant.token })).body;

  const totals = () => {
    const [sums] = acquirer.server.ledger().totals;
    const { captured = 0, refunded = 0, openHolds = 0 } = sums ?? {};
    return { captured, refunded, openHolds };
  };

  // Spec: PROV-57
  test('a sale, partial captures, a refund and a cancel: both ledgers agree', async () => {
    const before = totals();
    const sale = await sell({ amount: 2000 });
    assert.equal(sale.body.state, 'Captured', sale.text);
    assert.match(sale.body.authorizationCode, /^[0-9A-Z]{6}$/);
    const refund = await call(`/${sale.body.transactionId}/refund`, { amount: 500 });
    assert.equal(refund.body.state, 'PartiallyRefunded', refund.text);
    const heldSale = await sell({ amount: 1000, captureMode: 'Deferred' });
    assert.equal(heldSale.body.state, 'Authorized', heldSale.text);
    await call(`/${heldSale.body.transactionId}/capture`, { amount: 300 });
    const cancel = await call(`/${heldSale.body.transactionId}/cancel`, {
      cancelReason: 'Functional',
    });
    assert.equal(cancel.body.cancelledAmount, 700, cancel.text);
    const after = totals();
    assert.deepEqual(
      {
        captured: after.captured - before.captured,
        refunded: after.refunded - before.refunded,
        openHolds: after.openHolds - before.openHolds,
      },
      { captured: 2300, refunded: 500, openHolds: 0 },
    );
  });

  test('the final capture of a mail or telephone order releases the rest', async () => {
    const before = totals();
    for (const orderChannel of ['MailOrder', 'TelephoneOrder']) {
      const order = { amount: 609, captureMode: 'Deferred', orderChannel };
      const { body } = await sell({ ...order, zipCode: '12345', houseNumber: '9' });
      await call(`/${body.transactionId}/capture`, { amount: 425, final: true });
    }
    const { captured, openHolds } = totals();
    assert.deepEqual([captured - before.captured, openHolds], [2 * 425, before.openHolds]);
  });

  test('a decline contains the response code', async () => {
    const { body } = await sell({ amount: 9051 });
    assert.equal(body.state, 'Declined');
    assert.equal(body.response.code, '51');
  });

  test('an offline sale is repeated until the acquirer answers; an unconfirmed sale is reversed in full', async () => {
    const before = totals();
    const offlineData = {
      authorizedAt: new Date(Date.now() - 60_000).toISOString(),
      reason: 'NoConnection',
      authorizationCode: '9A01B2',
      terminalSequence: 1,
    };
    const members = { deviceId: merchant.deviceIds[0], offlineTransaction: true, offlineData };
    // The first response is lost, so the server repeats the same message.
    const offline = await sell({ amount: 9091, ...members });
    assert.equal(offline.body.state, 'Stored', offline.text);
    const isCaptured = async () => (await read(offline.body.transactionId)).state === 'Captured';
    await until(isCaptured, 'the acquirer to answer');
    assert.equal(totals().captured - before.captured, 9091);
    const sale = await sell({ amount: 1500, confirmWithinSeconds: 5 });
    assert.equal(totals().captured - before.captured, 9091 + 1500, sale.text);
    const isReversed = async () => (await read(sale.body.transactionId)).state === 'Reversed';
    await until(isReversed, 'the sale to be reversed');
    assert.equal(totals().captured - before.captured, 9091);
  });

  test('no response: the sale is Reversing at once, Reversed later, and the host holds nothing', async () => {
    const before = totals();
    const { body, text } = await sell({ amount: 9091 });
    assert.equal(body.state, 'Reversing', text);
    const reversed = async () => (await read(body.transactionId)).state === 'Reversed';
    await until(reversed, 'the reversal to be taken');
    assert.deepEqual(totals(), before);
  });

  test('a late approval is recorded, and the sale remains reversed', async () => {
    const before = totals();
    const { body } = await sell({ amount: 9092 });
    assert.equal(body.state, 'Reversing');
    const types = async () => {
      const { events } = await read(body.transactionId);
      return (events as { type: string }[]).map(({ type }) => type);
    };
    await until(
      async () => (await types()).includes('transaction.late_response'),
      'the late answer to be recorded',
    );
    const reversed = async () => (await read(body.transactionId)).state === 'Reversed';
    await until(reversed, 'the reversal to be taken');
    assert.deepEqual(totals(), before);
  });

  // Spec: PROV-57
  test('after a broken connection, an enquiry finds the approval of the sale', async () => {
    const { body, text } = await sell({ amount: 9093 });
    assert.equal(body.state, 'Captured', text);
  });

  test('a capture without a response stays pending and is repeated once', async () => {
    const before = totals();
    const heldSale = await sell({ amount: 19_091, captureMode: 'Deferred' });
    assert.equal(heldSale.body.state, 'Reversing', 'the amount asks for silence');
    const other = await sell({ amount: 20_000, captureMode: 'Deferred' });
    const id = other.body.transactionId;
    const capture = await call(`/${id}/capture`, { amount: 19_091, final: true });
    assert.equal(capture.status, 202, capture.text);
    const done = async () => (await read(id)).capturedAmount === 19_091;
    await until(done, 'the capture to be answered');
    assert.equal(totals().captured - before.captured, 19_091);
  });

  test('the link returns the public keys of the platform and accepts only members of its adapter', async () => {
    const path = `/provisioning/v2/acquirer-links/${acquirer.linkId}`;
    const token = setup.acquirerToken;
    const { body: link } = await setup.client.call('GET', path, { token });
    assert.equal(link.adapter, 'HttpJson');
    assert.match(link.signingKeys.current.x, /^[A-Za-z0-9_-]{43}$/);
    assert.notEqual(link.signingKeys.next.x, link.signingKeys.current.x);
    assert.equal(link.dialect, undefined);

    const put = (changed: Record<string, unknown>) =>
      setup.client.call('PUT', path, { token, body: { ...link, ...changed } });
    assertProblem(
      await put({ signingKeys: { ...link.signingKeys, current: link.signingKeys.next } }),
      {
        code: 'field_read_only',
        pointer: '/signingKeys',
      },
    );
    assertProblem(await put({ dialect: 'iso1987-binary' }), {
      code: 'field_invalid',
      pointer: '/dialect',
    });
    const { httpJson: _http, ...without } = link;
    assertProblem(await setup.client.call('PUT', path, { token, body: without }), {
      code: 'field_required',
      pointer: '/httpJson',
    });
    const newer = await put({ httpJson: { ...link.httpJson, keyVersion: 2 } });
    assert.deepEqual(newer.body.signingKeys.current, link.signingKeys.next);
    const isReversed = await setup.client.call('PUT', path, {
      token,
      body: { ...newer.body, httpJson: link.httpJson },
    });
    assert.deepEqual(isReversed.body.signingKeys, link.signingKeys);
    await setup.platform.openLinks();
    await waitUntilAvailable(setup, merchant.token);
  });
});
