// Whole run: many sales are prepared, or a process is started, for each test.
// The sources of reports other than card payments over a link: QR payments, files,
// sub-organisations, and a feed with gaps.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { compareReports } from '../../src/reporting/index.ts';
import { openQr } from '../qr/test-qr-merchant.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { allOf, dayIn, fetchReport, reported } from '../support/provisioning/report-client.ts';
import { createTestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the tests
type Json = any;

const base = '/payment/v1/transactions';
const span = () => ({
  from: dayIn('Europe/Paris', Date.now() - 86_400_000),
  to: dayIn('Europe/Paris'),
});

describe('the sources of reports', () => {
  test('reports list QR payments beside card payments, and count paid and declined ones but not pending ones', async () => {
    const qr = await openQr();
    try {
      const { organization } = qr;
      const amount = { amount: 1050, currency: 'EUR' };
      const paid = await qr.begun();
      await qr.tell(paid, { type: 'payment.completed', sequence: 1, amount });
      const declined = await qr.begun();
      await qr.tell(declined, { type: 'payment.declined', sequence: 1 });
      const waiting = await qr.begun();
      await qr.call('POST', `/qrcode-payment/v1/transactions/${paid}/refund`, { amount: 400 });
      await qr.becomes(paid, ({ refundedAmount }) => refundedAmount === 400, 'refunded');
      await reported(organization);
      const items = await allOf(organization, organization.acquirerToken, 'transactions', {
        kind: 'Qr',
      });
      assert.deepEqual(
        items.map(({ transactionId, state }) => [transactionId, state]),
        [
          [waiting, 'Pending'],
          [declined, 'Declined'],
          [paid, 'PartiallyRefunded'],
        ],
      );
      const line = items[2];
      assert.deepEqual(
        [line.scheme, line.authorizedAmount, line.capturedAmount, line.refundedAmount],
        [qr.paymentType, 1050, 1050, 400],
      );
      assert.deepEqual(line.response, { category: 'Approved', reason: 'Approved' });
      const { total, items: lines } = await fetchReport(
        organization,
        organization.acquirerToken,
        'summary',
        {
          ...span(),
          kind: 'Qr',
          groupBy: 'device',
        },
      );
      assert.deepEqual([total.count, total.approved, total.declined], [2, 1, 1]);
      assert.equal(total.latency, null);
      assert.deepEqual(total.amounts, [
        {
          currency: 'EUR',
          authorized: '1050',
          captured: '1050',
          refunded: '400',
          cancelled: '0',
          reversed: '0',
          net: '650',
        },
      ]);
      assert.deepEqual(
        lines.map(({ deviceId }: Json) => deviceId),
        [qr.merchant.deviceIds[0]],
      );
      const detail = await fetchReport(
        organization,
        organization.acquirerToken,
        `transactions/${paid}`,
      );
      assert.equal(detail.kind, 'Qr');
      assert.equal(detail.qr.refundedAmount, 400);
      const database = await testDatabase();
      assert.deepEqual(
        (await compareReports(database, organization.organizationId)).differences,
        [],
      );
    } finally {
      await qr.close();
    }
  });

  test('a QR payment that was refunded elsewhere or paid in another currency adds no net amount to the reports', async () => {
    const qr = await openQr();
    try {
      const { organization } = qr;
      const paid = async (amount: number, currency: string) => {
        const id = await qr.begun();
        const eventBody = { type: 'payment.completed', sequence: 1, amount: { amount, currency } };
        await qr.tell(id, eventBody);
        return id;
      };
      const decide = (id: string, resolution: string) => {
        const body = { resolution, note: 'Given back in cash.' };
        const path = `/qrcode-payment/v1/transactions/${id}/resolve`;
        return qr.call('POST', path, body, qr.merchant.token);
      };
      const settled = await paid(900, 'EUR');
      await paid(1050, 'USD');
      const foreign = await paid(1050, 'USD');
      const refunded = await paid(1050, 'USD');
      for (const id of [settled, foreign]) {
        assert.equal((await decide(id, 'Settle')).status, 200);
      }
      await decide(refunded, 'Refund');
      await qr.becomes(refunded, ({ refundedAmount }) => refundedAmount > 0, 'refunded');
      await reported(organization);
      const { total } = await fetchReport(organization, organization.acquirerToken, 'summary', {
        ...span(),
        kind: 'Qr',
        groupBy: 'day',
      });
      assert.deepEqual(total.amounts, [
        {
          currency: 'EUR',
          authorized: '900',
          captured: '900',
          refunded: '0',
          cancelled: '0',
          reversed: '900',
          net: '0',
        },
      ]);
      const items = await allOf(organization, organization.acquirerToken, 'transactions', {
        kind: 'Qr',
      });
      assert.deepEqual(
        items.map(({ capturedAmount, refundedAmount }) => [capturedAmount, refundedAmount]),
        items.map(() => [0, 0]),
      );
      const database = await testDatabase();
      assert.deepEqual(
        (await compareReports(database, organization.organizationId)).differences,
        [],
      );
    } finally {
      await qr.close();
    }
  });

  test('captures by file are pending on their day, and the settlement names the file', async () => {
    const setup = await createTestOrganization({ captureTransport: 'File' });
    const { token } = setup.merchant;
    const sale = await setup.client.call('POST', `${base}/process`, {
      token,
      body: keyedSale({ amount: 1000, captureMode: 'Deferred' }),
    });
    const path = `${base}/${sale.body.transactionId}/capture`;
    const capture = await setup.client.call('POST', path, { token, body: { amount: 700 } });
    assert.equal(capture.status, 202, capture.text);
    const made = await setup.client.call('POST', '/payment/v1/clearing-files', {
      token: setup.acquirerToken,
      body: { acquirerLink: setup.linkId, openDays: true },
    });
    assert.equal(made.status, 201, made.text);
    await reported(setup);
    const [settlement] = await allOf(setup, setup.acquirerToken, 'settlements');
    assert.deepEqual(
      [settlement.captures, settlement.pending, settlement.net],
      [{ count: 0, amount: '0' }, { count: 1, amount: '700' }, '0'],
    );
    const detail = await fetchReport(
      setup,
      setup.acquirerToken,
      `settlements/${settlement.settlementId}`,
    );
    const { clearingFileId, fileName } = made.body;
    assert.deepEqual(detail.files, [
      { clearingFileId, fileName, state: 'Made', lines: 1, amount: '700' },
    ]);
  });

  test('the parent organisation can read the reports of a child organisation, and another organisation cannot', async () => {
    const setup = await createTestOrganization();
    const others = await createTestOrganization();
    const below = await setup.client.call('POST', '/provisioning/v2/organizations', {
      token: setup.acquirerToken,
      body: { name: 'Below', userDomainId: `s${randomUUID().slice(0, 13)}` },
    });
    assert.equal(below.status, 201, below.text);
    const { organizationId } = below.body;
    for (const [path, filters] of [
      ['transactions', {}],
      ['summary', span()],
      ['settlements', {}],
    ] as const) {
      const parameters = { ...filters, organizationId };
      assert.deepEqual(
        (await fetchReport(setup, setup.acquirerToken, path, parameters)).items,
        [],
        path,
      );
      const query = new URLSearchParams(parameters).toString();
      const otherResponse = await setup.client.call('GET', `/reporting/v1/${path}?${query}`, {
        token: others.acquirerToken,
      });
      assert.equal(otherResponse.status, 404, path);
    }
  });

  test('events that were forgotten before they were read are made good from the payments', async () => {
    const setup = await createTestOrganization();
    const database = await testDatabase();
    const { organizationId } = setup;
    const sell = () =>
      setup.client.call('POST', `${base}/process`, {
        token: setup.merchant.token,
        body: keyedSale(),
      });
    await sell();
    await reported(setup);
    // The report reader is blocked, and the feed deletes the events before it reads them.
    await database.transaction(async (trx) => {
      const lockStatement = `SELECT 1 FROM report_positions WHERE organization_id = '${organizationId}' FOR UPDATE`;
      await trx.query(lockStatement);
      await Promise.all([sell(), sell(), sell()]);
      await until(async () => {
        const [row] = await database.query<{ count: number }>(
          `SELECT count(*)::int AS count FROM feed_events
           WHERE organization_id = $1 AND type = 'transaction.captured'`,
          [organizationId],
        );
        return row?.count === 4 ? true : undefined;
      }, 'the events to be published');
      await database.query('UPDATE feed_heads SET swept = position WHERE organization_id = $1', [
        organizationId,
      ]);
      await database.query('DELETE FROM feed_events WHERE organization_id = $1', [organizationId]);
    });
    await reported(setup);
    assert.equal((await allOf(setup, setup.acquirerToken, 'transactions')).length, 4);
    const { total } = await fetchReport(setup, setup.acquirerToken, 'summary', span());
    assert.equal(total.count, 4);
    assert.deepEqual((await compareReports(database, organizationId)).differences, []);
  });
});
