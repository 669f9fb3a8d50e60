// Whole run: much is made, or waited for, before it shows.
// Exports: requested, written after the response, downloaded whole and in parts, by their owners
// only.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { parse } from 'csv-parse/sync';
import { assertProblem } from '../support/assert-problem-response.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/reporting/v1/exports';
const salesCount = 25;
/** An order identifier may be any text. */
const oddOrders = new Map([
  [3, 'a|b'],
  [4, 'x|y|=hyperlink("http://evil/?"&a1;"ok")'],
  [5, '|'],
]);

describe('exports', () => {
  let setup: TestOrganization;
  let transactionIds: string[];
  let orderIds: string[];

  const call = (method: string, path: string, body?: unknown, token = setup.acquirerToken) =>
    setup.client.call(method, base + path, { token, ...defined({ body }) });
  const content = (exportId: string, headers: Record<string, string> = {}) =>
    setup.client.call('GET', `${base}/${exportId}/content`, {
      token: setup.acquirerToken,
      headers,
    });

  async function sell(members: Record<string, unknown>): Promise<string> {
    const sale = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token: setup.merchant.token,
      body: keyedSale({ storeId: setup.merchant.storeId, ...members }),
    });
    assert.equal(sale.status, 200, sale.text);
    return sale.body.transactionId;
  }

  const reported = (count: number) =>
    until(async () => {
      const { body } = await setup.client.call('GET', '/reporting/v1/transactions?limit=200', {
        token: setup.acquirerToken,
      });
      return body.items.length >= count ? true : undefined;
    }, 'the sales in the reports');

  async function completed(ordered: HttpResponse): Promise<HttpResponse['body']> {
    assert.equal(ordered.status, 202, ordered.text);
    const { exportId } = ordered.body;
    assert.equal(ordered.headers['location'], `${base}/${exportId}`);
    return until(async () => {
      const { body } = await call('GET', `/${exportId}`);
      return body.state === 'Completed' ? body : undefined;
    }, 'the export to be completed');
  }

  before(async () => {
    setup = await createTestOrganization();
    transactionIds = [];
    orderIds = Array.from({ length: salesCount }, (_, at) => oddOrders.get(at) ?? randomUUID());
    for (let count = 0; count < salesCount; count += 1) {
      const order = { orderId: orderIds[count], orderDescription: '=cmd|calc' };
      const clientTransactionId = count === 0 ? '-1+2' : `sale-${count}-${randomUUID()}`;
      const isFirst = count === 0;
      transactionIds.push(
        await sell({ order, amount: 1000 + count, ...(isFirst ? {} : { clientTransactionId }) }),
      );
    }
    await reported(salesCount);
  });

  // Spec: REP-11
  test('a CSV contains every payment once, the oldest first, and the response gives its length', async () => {
    const done = await completed(await call('POST', '', { format: 'Csv', transactions: {} }));
    assert.equal(done.rows, salesCount);
    assert.match(done.fileName, /^transactions-\d{8}-\d{6}\.csv$/);
    const answer = await content(done.exportId);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8');
    assert.equal(answer.headers['content-length'], String(done.bytes));
    assert.equal(answer.headers['content-disposition'], `attachment; filename="${done.fileName}"`);
    const rows = parse(answer.text, { columns: true }) as Record<string, string>[];
    assert.deepEqual(
      rows.map(({ transactionId }) => transactionId),
      transactionIds,
    );
    assert.deepEqual(
      rows.map(({ amount }) => amount),
      transactionIds.map((_id, index) => String(1000 + index)),
    );
    assert.deepEqual(
      rows.map(({ orderId }) => orderId),
      orderIds,
    );
    for (const { day, offline, updatedAt, clientTransactionId } of rows) {
      assert.match(`${day} ${offline} ${updatedAt}`, /^[\d-]{10} false [\d-]{10}T[\d:.]+Z$/);
      assert.match(clientTransactionId ?? '', /^(?:sale-\d+-)?[\da-f-]{36}$/);
    }
    assert.ok(rows.every(({ maskedNumber }) => /^411111\*+1111$/.test(maskedNumber ?? '')));
    assert.doesNotMatch(answer.text, /4111111111111111/);
  });

  test('JSON Lines contain the same data as the search for the same payments', async () => {
    const transactions = { amountMin: 1003, amountMax: 1007, state: 'Captured' };
    const ordered = await call('POST', '', { format: 'JsonLines', transactions });
    const done = await completed(ordered);
    const { text, headers } = await content(done.exportId);
    assert.equal(headers['content-type'], 'application/jsonl; charset=utf-8');
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ transactionId, amount }) => [transactionId, amount]),
      transactionIds.slice(3, 8).map((id, index) => [id, 1003 + index]),
    );
    const query = '?amountMin=1003&amountMax=1007&state=Captured&order=OldestFirst';
    const search = await setup.client.call('GET', `/reporting/v1/transactions${query}`, {
      token: setup.acquirerToken,
    });
    for (const [index, item] of search.body.items.entries()) {
      const { response, ...flat } = item;
      assert.deepEqual(lines[index], {
        ...flat,
        responseCategory: response.category,
        responseCode: response.code,
        ...defined({ responseReason: response.reason }),
        offline: item.offline ?? false,
      });
    }
  });

  // Spec: REP-11
  test('a client continues an interrupted download with a range request', async () => {
    const done = await completed(await call('POST', '', { format: 'Csv', transactions: {} }));
    const whole = await content(done.exportId);
    const etag = String(whole.headers['etag']);
    const half = Math.floor(done.bytes / 2);
    const rest = await content(done.exportId, { range: `bytes=${half}-`, 'if-range': etag });
    assert.equal(rest.status, 206, rest.text);
    assert.equal(rest.headers['content-range'], `bytes ${half}-${done.bytes - 1}/${done.bytes}`);
    const first = await content(done.exportId, { range: `bytes=0-${half - 1}` });
    assert.equal(first.text + rest.text, whole.text);
    const changed = await content(done.exportId, { range: 'bytes=5-', 'if-range': '"other"' });
    assert.equal(changed.status, 200);
    assert.equal(changed.text, whole.text);
    const beyond = await content(done.exportId, { range: `bytes=${done.bytes}-` });
    assertProblem(beyond, { code: 'range_not_satisfiable', pointer: null });
    assert.equal(beyond.headers['content-range'], `bytes */${done.bytes}`);
  });

  test('the same clientOperationId is the same export, and another order under it is refused', async () => {
    const clientOperationId = randomUUID();
    const order = { clientOperationId, format: 'Csv', transactions: { currency: 'EUR' } };
    const first = await call('POST', '', order);
    assert.equal(first.status, 202, first.text);
    const again = await call('POST', '', order);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(again.body.exportId, first.body.exportId);
    const other = await call('POST', '', { ...order, transactions: { currency: 'USD' } });
    assertProblem(other, { code: 'client_id_reused', pointer: '/transactions' });
    const responses = await Promise.all(
      Array.from({ length: 4 }, () =>
        call('POST', '', { ...order, clientOperationId: `${clientOperationId}-2` }),
      ),
    );
    assert.equal(new Set(responses.map(({ body }) => body.exportId)).size, 1);
  });

  test('settlements are a report too', async () => {
    const done = await completed(await call('POST', '', { format: 'Csv', settlements: {} }));
    const rows = parse((await content(done.exportId)).text, { columns: true }) as Record<
      string,
      string
    >[];
    const captured = rows.reduce((sum, row) => sum + Number(row['capturedAmount']), 0);
    const sold = transactionIds.reduce((sum, _id, index) => sum + 1000 + index, 0);
    assert.equal(captured, sold);
  });

  test('an invalid export request gets an error for the missing, unknown or invalid field', async () => {
    assertProblem(await call('POST', '', { format: 'Csv' }), {
      code: 'field_required',
      pointer: '/transactions',
    });
    const twoReports = { format: 'Csv', transactions: {}, settlements: {} };
    assertProblem(await call('POST', '', twoReports), { code: 'field_invalid' });
    assertProblem(await call('POST', '', { format: 'Xlsx', transactions: {} }), {
      code: 'field_invalid',
      pointer: '/format',
    });
    assertProblem(await call('POST', '', { format: 'Csv', transactions: { colour: 'red' } }), {
      code: 'field_unknown',
      pointer: '/transactions/colour',
    });
    const amounts = { amountMin: 10, amountMax: 1 };
    assertProblem(await call('POST', '', { format: 'Csv', transactions: amounts }), {
      code: 'field_invalid',
      pointer: '/transactions/amountMin',
    });
  });

  test('a merchant exports only its own payments, and another merchant does not see the export', async () => {
    const { token } = setup.merchant;
    const role = { name: 'manager', entityType: 'merchant' as const, roles: ['Merchant'] };
    const manager = await setup.tokenFor({
      ...role,
      entityId: setup.otherMerchant.merchantId,
      merchantId: setup.otherMerchant.merchantId,
    });
    const ordered = await call('POST', '', { format: 'Csv', transactions: {} }, token);
    assert.equal(ordered.status, 202, ordered.text);
    const { exportId } = ordered.body;
    assertProblem(await call('GET', `/${exportId}`, undefined, manager), {
      code: 'resource_not_found',
      pointer: null,
    });
    assert.equal((await call('GET', `/${exportId}`)).status, 200, 'the organisation above');
    const { merchantId } = setup.otherMerchant;
    const foreign = { format: 'Csv', transactions: { merchantId } };
    assertProblem(await call('POST', '', foreign, token), { code: 'entity_out_of_scope' });
  });

  test('another organisation does not see them, and a deleted one is gone with its content', async () => {
    const done = await completed(await call('POST', '', { format: 'Csv', transactions: {} }));
    const otherOrganization = await createTestOrganization();
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/content'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const) {
      const answer = await setup.client.call(method, `${base}/${done.exportId}${path}`, {
        token: otherOrganization.acquirerToken,
      });
      assertProblem(answer, { code: 'resource_not_found', pointer: null }, `${method} ${path}`);
    }
    assertProblem(await call('POST', `/${done.exportId}/cancel`), { code: 'export_ended' });
    assert.equal((await call('DELETE', `/${done.exportId}`)).status, 204);
    assertProblem(await content(done.exportId), { code: 'resource_not_found' });
    const { body } = await setup.client.call('GET', '/audit/v1/records?limit=50', {
      token: setup.acquirerToken,
    });
    const actions = body.items
      .filter((item: { entity: { id: string } }) => item.entity.id === done.exportId)
      .map(({ action }: { action: string }) => action);
    assert.deepEqual(actions.toSorted(), ['export.deleted', 'export.ordered']);
  });

  test('pages of the list go on, the newest first', async () => {
    const first = await call('GET', '?limit=2');
    assert.equal(first.body.items.length, 2);
    const second = await call('GET', `?limit=2&cursor=${first.body.nextCursor}`);
    const ids = [...first.body.items, ...second.body.items].map(({ exportId }) => exportId);
    assert.deepEqual(ids, ids.toSorted().toReversed());
    assert.equal(new Set(ids).size, ids.length);
  });
});
