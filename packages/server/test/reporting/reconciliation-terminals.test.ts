// Whole run: much is made, or waited for, before it shows.
// Two terminals of a merchant with the same reference: each line of the file matches its own sale.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../support/database/test-database.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/reporting/v1/reconciliations';
const reference = '606012000017';

type Moved = { transactionId: string; merchant: string; terminal: string; date: string };

// Spec: REP-14
test('of two sales with one reference and amount each is found by its terminal', async () => {
  const {
    client,
    merchant,
    organizationId,
    linkId,
    acquirerToken: token,
  } = await createTestOrganization();
  for (const deviceId of merchant.deviceIds) {
    const sale = await client.call('POST', '/payment/v1/transactions/process', {
      token: merchant.token,
      body: keyedSale({ amount: 700, storeId: merchant.storeId, deviceId }),
    });
    assert.equal(sale.body.state, 'Captured', sale.text);
  }
  const database = await testDatabase();
  // Each terminal numbers its messages from one, so equal references also occur in practice within
  // an hour.
  const moved = await until(async () => {
    const rows = await database.query<Moved>(
      `UPDATE report_payments SET retrieval_reference = $2 WHERE organization_id = $1
       RETURNING payment_id AS "transactionId", acquirer_merchant_number AS merchant, terminal,
         settlement_date::text AS date`,
      [organizationId, reference],
    );
    return rows.length === 2 ? rows : undefined;
  }, 'the movements in the reports');
  assert.equal(new Set(moved.map(({ terminal }) => terminal)).size, 2);
  const [{ date: from }, { date: to }] = moved.toSorted((a, b) => a.date.localeCompare(b.date)) as [
    Moved,
    Moved,
  ];

  const outcomesOf = async (lines: readonly string[]) => {
    const head =
      'type,acquirerMerchantId,retrievalReferenceNumber,amount,currency,settlementDate,terminalId';
    const query = `acquirerLinkId=${linkId}&from=${from}&to=${to}`;
    const sent = await client.call('POST', `${base}?${query}`, {
      token,
      raw: [head, ...lines].join('\n'),
      headers: { 'content-type': 'text/csv' },
    });
    assert.equal(sent.status, 202, sent.text);
    const path = `${base}/${sent.body.reconciliationId}`;
    await until(async () => {
      const { body } = await client.call('GET', path, { token });
      return body.state === 'Completed' ? true : undefined;
    }, 'the comparison');
    const { body } = await client.call('GET', `${path}/items`, { token });
    return body.items as {
      outcome: string;
      differences: string[];
      theirs?: { terminalId?: string };
      ours?: { transactionId: string; terminalId?: string };
    }[];
  };
  const lineOf = ({ merchant, date, terminal }: Moved) =>
    `Capture,${merchant},${reference},700,EUR,${date},${terminal}`;

  const sought = new Map(moved.map((each) => [each.terminal, each.transactionId]));
  for (const lines of [moved, moved.toReversed()]) {
    const items = await outcomesOf(lines.map(lineOf));
    assert.deepEqual(
      items.map(({ outcome, theirs }) => [outcome, theirs?.terminalId]),
      lines.map(({ terminal }) => ['Matched', terminal]),
    );
    for (const { theirs, ours } of items) {
      assert.equal(ours?.terminalId, theirs?.terminalId);
      assert.equal(ours?.transactionId, sought.get(theirs?.terminalId ?? ''));
    }
  }

  const [one, other] = moved as [Moved, Moved];
  const renamed = await outcomesOf([lineOf(one), lineOf({ ...other, terminal: '99999999' })]);
  assert.deepEqual(
    renamed.map(({ outcome, differences }) => [outcome, ...differences]),
    [['Matched'], ['Different', 'terminalId']],
  );
  assert.equal(renamed[1]?.ours?.transactionId, other.transactionId);

  // The line could belong to either sale, so it matches none.
  const strange = await outcomesOf([lineOf({ ...other, terminal: '99999999' })]);
  assert.deepEqual(
    strange.map(({ outcome }) => outcome),
    ['MissingHere', 'MissingThere', 'MissingThere'],
  );
});
