// Whole run: much is made, or waited for, before it shows.
// Reconciliation of an acquirer's file: matched, different, missing here, missing there, and
// decisions.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/reporting/v1/reconciliations';
const head = 'type,acquirerMerchantId,retrievalReferenceNumber,amount,currency,settlementDate,fee';

type Movement = {
  type: string;
  merchant: string;
  reference: string;
  amount: number;
  currency: string;
  date: string;
};

const lineOf = ({ type, merchant, reference, amount, currency, date }: Movement, fee = '') =>
  [type, merchant, reference, amount, currency, date, fee].join(',');

describe('reconciliations', () => {
  let setup: TestOrganization;
  let movements: Movement[];
  let day: string;

  const call = (method: string, path: string, body?: unknown, token = setup.acquirerToken) =>
    setup.client.call(method, base + path, { token, ...defined({ body }) });

  const send = (text: string, query = '', token = setup.acquirerToken) =>
    setup.client.call(
      'POST',
      `${base}?acquirerLinkId=${setup.linkId}&from=${day}&to=${day}${query}`,
      {
        token,
        raw: text,
        headers: { 'content-type': 'text/csv' },
      },
    );

  async function completed(sent: HttpResponse): Promise<HttpResponse['body']> {
    assert.equal(sent.status, 202, sent.text);
    return until(async () => {
      const { body } = await call('GET', `/${sent.body.reconciliationId}`);
      return body.state === 'Completed' ? body : undefined;
    }, 'the comparison');
  }

  const items = async (id: string, query = '') =>
    (await call('GET', `/${id}/items${query}`)).body.items;

  async function sell(amount: number): Promise<string> {
    const sale = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token: setup.merchant.token,
      body: keyedSale({ amount, storeId: setup.merchant.storeId }),
    });
    assert.equal(sale.body.state, 'Captured', sale.text);
    return sale.body.transactionId;
  }

  /** The movements that the platform stores, in the form of a correct acquirer file. */
  async function createMovements(count: number): Promise<Movement[]> {
    const database = await testDatabase();
    return until(async () => {
      const rows = await database.query<Movement>(
        `SELECT kind AS type, acquirer_merchant_number AS merchant, retrieval_reference AS reference,
           amount, currency, settlement_date::text AS date
         FROM report_all_movements WHERE organization_id = $1 ORDER BY number, payment_id`,
        [setup.organizationId],
      );
      return rows.length >= count ? rows : undefined;
    }, 'the movements in the reports');
  }

  before(async () => {
    setup = await createTestOrganization();
    const [, second = ''] = [await sell(1000), await sell(2000), await sell(3000)];
    const refund = await setup.client.call('POST', `/payment/v1/transactions/${second}/refund`, {
      token: setup.merchant.token,
      body: { amount: 500 },
    });
    assert.ok([200, 202].includes(refund.status), refund.text);
    movements = await createMovements(4);
    day = movements[0]?.date ?? '';
  });

  // Spec: REP-13
  test('a file that agrees is matched to the last line, and all three sides balance', async () => {
    const text = [head, ...movements.map((each) => lineOf(each, '7'))].join('\n');
    const done = await completed(await send(text, '&name=first%20file'));
    assert.deepEqual(
      [done.name, done.lines, done.matched, done.different, done.missingHere, done.missingThere],
      ['first file', 4, 4, 0, 0, 0],
    );
    assert.equal(done.open, 0);
    assert.deepEqual(done.balances, [
      {
        currency: 'EUR',
        theirs: '5500',
        operations: '5500',
        ledger: '5500',
        fees: '28',
        isBalanced: true,
      },
    ]);
  });

  // Spec: REP-15
  test('the server reports different and missing movements, accepts one decision for each, and stores the decision', async () => {
    const [one, two, three, refund] = movements;
    assert.ok(one && two && three && refund);
    const unknownMovement = { ...one, reference: '999999999999', amount: 42 };
    const lines = [one, { ...two, amount: 2001 }, refund, unknownMovement];
    const done = await completed(
      await send([head, ...lines.map((each) => lineOf(each))].join('\r\n')),
    );
    assert.deepEqual(
      [done.matched, done.different, done.missingHere, done.missingThere, done.open],
      [2, 1, 1, 1, 3],
    );
    const [balance] = done.balances;
    assert.deepEqual(
      [balance.theirs, balance.operations, balance.ledger, balance.isBalanced],
      ['2543', '5500', '5500', false],
    );
    const id = done.reconciliationId;
    const [different] = await items(id, '?outcome=Different');
    assert.deepEqual(different.differences, ['amount']);
    assert.deepEqual([different.theirs.amount, different.ours.amount], [2001, 2000]);
    assert.equal(different.theirs.line, 3);
    const [here] = await items(id, '?outcome=MissingHere');
    assert.deepEqual(here.waysToResolve, ['AcceptTheirs', 'AcquirerCorrects', 'WriteOff']);
    const [there] = await items(id, '?outcome=MissingThere');
    assert.deepEqual([there.ours.amount, there.theirs], [3000, undefined]);
    assert.equal((await items(id, '?isOpen=true')).length, 3);

    const decision = { resolution: 'WriteOff', note: 'Below the limit of claims' };
    const path = `/${id}/items/${here.number}/resolve`;
    const responses = await Promise.all([
      call('POST', path, decision),
      call('POST', path, decision),
    ]);
    assert.deepEqual(responses.map(({ status }) => status).toSorted(), [200, 409]);
    const resolved = responses.find(({ status }) => status === 200)?.body;
    assert.deepEqual(resolved.waysToResolve, []);
    assert.deepEqual(
      [resolved.resolution.resolution, resolved.resolution.note],
      ['WriteOff', 'Below the limit of claims'],
    );
    assertProblem(
      await call('POST', `/${id}/items/${there.number}/resolve`, { resolution: 'AcceptOurs' }),
      {
        code: 'resolution_not_allowed',
        pointer: null,
      },
    );
    assert.equal((await call('GET', `/${id}`)).body.open, 2);

    // The next file contains the missing movement.
    await completed(await send([head, lineOf(three)].join('\n')));
    const [found] = await items(id, '?outcome=MissingThere');
    assert.equal(found.resolution.resolution, 'FoundLater');
    assert.equal(found.resolution.by, 'platform');
    assert.equal((await call('GET', `/${id}`)).body.open, 1);
  });

  test('a file that cannot be read is refused with the line and the member, and leaves nothing', async () => {
    const [one] = movements;
    assert.ok(one);
    const before = (await call('GET', '')).body.items.length;
    const bad: [string, Parameters<typeof assertProblem>[1]][] = [
      ['', { code: 'malformed_csv' }],
      [head, { code: 'malformed_csv' }],
      ['type,amount\nCapture,1', { code: 'field_required' }],
      [`${head},colour\n`, { code: 'field_unknown' }],
      [`${head}\n${lineOf(one)}\n${lineOf({ ...one, amount: -1 })}`, { code: 'amount_invalid' }],
      [
        `${head}\n${lineOf({ ...one, amount: 1.5 })}`,
        { code: 'field_invalid', pointer: '/2/amount' },
      ],
      [
        `${head}\n${lineOf({ ...one, currency: 'eur' })}`,
        { code: 'currency_unknown', pointer: '/2/currency' },
      ],
      [
        `${head}\n${lineOf({ ...one, type: 'Gift' })}`,
        { code: 'field_invalid', pointer: '/2/type' },
      ],
      [`${head}\n"${lineOf(one)}`, { code: 'malformed_csv' }],
      [`${head}\n${lineOf(one)},one,more`, { code: 'malformed_csv' }],
    ];
    for (const [text, expected] of bad) {
      const answer = await send(text);
      if (expected.code === 'amount_invalid') assert.equal(answer.status, 422, answer.text);
      else assertProblem(answer, expected, JSON.stringify(text));
    }
    assert.equal((await call('GET', '')).body.items.length, before);
  });

  test('the server checks the date range and the acquirer link before it imports a file', async () => {
    const long = `${base}?acquirerLinkId=${setup.linkId}&from=2026-01-01&to=2026-03-01`;
    const how = { token: setup.acquirerToken, raw: head, headers: { 'content-type': 'text/csv' } };
    assertProblem(await setup.client.call('POST', long, how), {
      code: 'field_invalid',
      pointer: '?to',
    });
    const otherOrganization = await createTestOrganization();
    const foreign = `${base}?acquirerLinkId=${otherOrganization.linkId}&from=${day}&to=${day}`;
    assert.equal((await setup.client.call('POST', foreign, how)).status, 404);
    const json = { ...how, headers: { 'content-type': 'application/json' }, raw: '{}' };
    assert.equal((await setup.client.call('POST', `${long}`, json)).status, 415);
  });

  test('the server refuses card numbers in a file, in its name and in a note', async () => {
    const sold = `Capture,M1,606012000017,1250,EUR,${day}`;
    const table = (reference: string) => `${head},acquirerReference\n${sold},,${reference}`;
    for (const text of ['4111111111111111', 'card 5555 5555 5555 4444']) {
      assertProblem(await send(table(text)), {
        code: 'field_invalid',
        pointer: '/2/acquirerReference',
      });
      assertProblem(await send(table('ARN-1'), `&name=${encodeURIComponent(text)}`), {
        code: 'field_invalid',
        pointer: '?name',
      });
    }
    // A usual acquirer reference has 23 digits.
    const { reconciliationId } = await completed(await send(table('74537604221431003881865')));
    const decision = { resolution: 'WriteOff', note: 'of card 4111-1111-1111-1111' };
    assertProblem(await call('POST', `/${reconciliationId}/items/2/resolve`, decision), {
      code: 'field_invalid',
      pointer: '/note',
    });
  });

  test('the first and the last days of the calendar are days like others', async () => {
    const how = { token: setup.acquirerToken, headers: { 'content-type': 'text/csv' } };
    const at = (from: string, to: string) =>
      setup.client.call('POST', `${base}?acquirerLinkId=${setup.linkId}&from=${from}&to=${to}`, {
        ...how,
        raw: `${head}\nCapture,M1,606012000017,1250,EUR,${to},`,
      });
    const last = await completed(await at('9999-12-30', '9999-12-31'));
    assert.deepEqual([last.missingHere, last.missingThere], [1, 0]);
    for (const day of ['0000-01-01', '1969-12-31']) {
      assertProblem(await at(day, day), { code: 'field_invalid', pointer: '?from' });
    }
  });

  test('the comparison fails with reference_repeated if thousands of lines contain the same reference', async () => {
    const line = `Capture,M1,606012000099,1250,EUR,${day},`;
    const sent = await send([head, ...Array.from({ length: 3_100 }, () => line)].join('\n'));
    assert.equal(sent.status, 202, sent.text);
    const { failure } = await until(async () => {
      const { body } = await call('GET', `/${sent.body.reconciliationId}`);
      return body.state === 'Failed' ? body : undefined;
    }, 'the end of the comparison');
    assert.equal(failure, 'reference_repeated');
    assert.equal((await call('DELETE', `/${sent.body.reconciliationId}`)).status, 204);
  });

  test('only the organisation sees its reconciliation; merchants and other organisations have no access', async () => {
    const done = await completed(
      await send([head, ...movements.map((each) => lineOf(each))].join('\n')),
    );
    const otherOrganization = await createTestOrganization();
    assertProblem(
      await call('GET', `/${done.reconciliationId}`, undefined, otherOrganization.acquirerToken),
      {
        code: 'resource_not_found',
        pointer: null,
      },
    );
    assertProblem(await call('GET', '', undefined, setup.merchant.token), {
      code: 'permission_denied',
    });
    assert.equal((await call('DELETE', `/${done.reconciliationId}`)).status, 204);
    assertProblem(await call('GET', `/${done.reconciliationId}`), { code: 'resource_not_found' });
  });
});
