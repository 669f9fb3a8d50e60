// The request log: the requests and responses of an application, visible only to its own
// organisation.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { LoggedRequest } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import {
  type EventStream,
  type EventStreamOptions,
  openEventStream,
} from '../support/event-stream-client.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const path = '/logs/v1/requests';
const transactions = '/payment/v1/transactions';
const process = `${transactions}/process`;
const card = '4111111111111111';

describe('the request log', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  const read = (query = '', token = setup.acquirerToken): Promise<HttpResponse> =>
    setup.client.call('GET', `${path}${query}`, { token });

  async function lines(query: string, token?: string): Promise<LoggedRequest[]> {
    const answer = await read(query, token);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.items;
  }

  /** Waits for the entry, because the server writes it after the response. */
  const lineOf = (answer: HttpResponse): Promise<LoggedRequest> =>
    until(
      async () => (await lines(`?requestId=${String(answer.headers['x-request-id'])}`))[0],
      'the line of a request',
    );

  const sell = (members: Record<string, unknown>) =>
    setup.client.call('POST', process, { token: setup.merchant.token, body: keyedSale(members) });
  const merchantAndStore = () => ({
    merchantId: setup.merchant.merchantId,
    storeId: setup.merchant.storeId,
  });

  test('the server logs the request metadata of a sale and the error codes of a refused request, and no other data', async () => {
    const sale = await sell(merchantAndStore());
    assert.equal(sale.status, 200, sale.text);
    const sold = await lineOf(sale);
    const { sequence, at, durationMs, clientId, ...rest } = sold;
    assert.ok(sequence > 0 && durationMs >= 0 && Math.abs(Date.parse(at) - Date.now()) < 60_000);
    assert.ok(clientId.length > 0);
    assert.deepEqual(rest, {
      organizationId: setup.organizationId,
      requestId: String(sale.headers['x-request-id']),
      method: 'POST',
      path: process,
      operationId: 'processTransaction',
      status: 200,
      merchantId: setup.merchant.merchantId,
      source: 'Api',
    });
    const refused = await lineOf(await sell({ ...merchantAndStore(), amount: 0 }));
    assert.equal(refused.status, 422);
    assert.equal(refused.code, 'amount_zero');
    assert.deepEqual(refused.errors, [{ pointer: '/amount', code: 'amount_zero' }]);
    const namedTransaction = await setup.client.call(
      'GET',
      `${transactions}/${sale.body.transactionId}`,
      {
        token: setup.merchant.token,
      },
    );
    assert.equal(
      (await lineOf(namedTransaction)).path,
      `${transactions}/${sale.body.transactionId}`,
    );
  });

  // Spec: QRPROV-44
  test('the log contains no card number, in any part of a request', async () => {
    const put = [
      await setup.client.call('GET', `${transactions}/${card}`, { token: setup.merchant.token }),
      await setup.client.call('GET', `${transactions}/unknown?number=${card}`, {
        token: setup.merchant.token,
      }),
      await sell({ ...merchantAndStore(), [card]: true }),
      await sell({ ...merchantAndStore(), [`a\0${card}\ud800`]: { [card]: 1 } }),
      await setup.client.call('GET', `${transactions}/unknown`, {
        token: setup.merchant.token,
        headers: { 'x-request-id': card },
      }),
    ];
    const streamedRequests: LoggedRequest[] = [];
    for (const answer of put.filter(({ status }) => status !== 405))
      streamedRequests.push(await lineOf(answer));
    assert.ok(streamedRequests.length >= 4);
    assert.ok(streamedRequests.every(({ status }) => status >= 400));
    assert.ok(!JSON.stringify(streamedRequests).includes(card));
    assert.equal(streamedRequests[0]?.path, `${transactions}/:transactionId`);
    const rows = await lines('?limit=200');
    assert.ok(!JSON.stringify(rows).includes(card));
  });

  test('the list supports filters, both orders, pages and entries after a number', async () => {
    const lastSequence = (await lines('?limit=1'))[0]?.sequence ?? 0;
    const answers: HttpResponse[] = [];
    for (const amount of [100, 0, 200, 0])
      answers.push(await sell({ ...merchantAndStore(), amount }));
    await Promise.all(answers.map(lineOf));
    const behind = `?after=${lastSequence}&operationId=processTransaction&order=OldestFirst`;
    const all = await lines(behind);
    assert.deepEqual(
      all.map(({ status }) => status),
      [200, 422, 200, 422],
    );
    assert.deepEqual(
      all.map(({ sequence }) => sequence),
      all.map(({ sequence }) => sequence).toSorted((one, other) => one - other),
    );
    const count = async (query: string) => (await lines(`${behind}&${query}`)).length;
    assert.equal(await count('status=4xx'), 2);
    assert.equal(await count('status=422'), 2);
    assert.equal(await count('status=421'), 0);
    assert.equal(await count('code=amount_zero'), 2);
    assert.equal(await count('method=GET'), 0);
    assert.equal(await count('path=/payment/'), 4);
    assert.equal(await count('path=/provisioning/'), 0);
    assert.equal(await count(`clientId=${all[0]?.clientId}`), 4);
    assert.equal(await count(`merchantId=${setup.merchant.merchantId}`), 4);
    assert.equal(await count(`merchantId=${setup.otherMerchant.merchantId}`), 0);
    assert.equal(await count('from=2999-01-01T00:00:00Z'), 0);
    for (const end of ['9999-12-31T23:59:60Z', '9999-12-31T23:59:59-12:00']) {
      assert.equal(await count(`from=${end}`), 0);
      assert.equal(await count(`from=0000-01-01T00:00:00Z&to=${end}`), await count(''));
    }
    assert.equal(await count('to=2999-01-01T00:00:00Z'), 4);
    const first = await read(`${behind}&limit=3`);
    assert.equal(first.body.items.length, 3);
    const rest = await read(`${behind}&limit=3&cursor=${first.body.nextCursor}`);
    assert.deepEqual([...first.body.items, ...rest.body.items], all);
    assert.equal(rest.body.nextCursor, null);
    const newest = await lines(`?after=${lastSequence}&operationId=processTransaction`);
    assert.deepEqual(newest, all.toReversed());
    const faulty = ['status=9xx', 'method=FETCH', 'after=-1', 'from=yesterday', 'path=%00'];
    for (const query of faulty) assertProblem(await read(`?${query}`), { code: 'field_invalid' });
    assertProblem(await read(`?cursor=${first.body.nextCursor}`), { code: 'cursor_invalid' });
  });

  test('an organisation sees only its own entries, and a merchant only its own', async () => {
    const answer = await sell(merchantAndStore());
    const { requestId } = await lineOf(answer);
    const developer = await setup.tokenFor({
      name: 'tools',
      entityType: 'merchant',
      entityId: setup.merchant.merchantId,
      merchantId: setup.merchant.merchantId,
      roles: ['ServiceProvider'],
    });
    const neighbour = await setup.tokenFor({
      name: 'tools',
      entityType: 'merchant',
      entityId: setup.otherMerchant.merchantId,
      merchantId: setup.otherMerchant.merchantId,
      roles: ['ServiceProvider'],
    });
    const otherOrganization = await createTestOrganization();
    assert.equal((await lines(`?requestId=${requestId}`, developer)).length, 1);
    assert.equal((await lines(`?requestId=${requestId}`, neighbour)).length, 0);
    const namedTransaction = `?requestId=${requestId}&merchantId=${setup.merchant.merchantId}`;
    assert.equal((await lines(namedTransaction, neighbour)).length, 0);
    assert.equal(
      (await lines(`?requestId=${requestId}`, otherOrganization.acquirerToken)).length,
      0,
    );
    const all = await lines('?limit=200', developer);
    assert.ok(all.every(({ merchantId }) => merchantId === setup.merchant.merchantId));
    assertProblem(await read('', setup.merchant.token), { code: 'permission_denied' });
  });

  test('a request in a sub-organisation is logged there, with the organisation of the caller', async () => {
    const body = { name: 'Below', userDomainId: `s${randomUUID().slice(0, 13)}` };
    const made = await setup.client.call('POST', '/provisioning/v2/organizations', {
      token: setup.acquirerToken,
      body,
    });
    const at = `organizationId=${made.body.organizationId}`;
    const merchantsRequest = await setup.client.call('GET', `/provisioning/v2/merchants?${at}`, {
      token: setup.acquirerToken,
    });
    const query = `?${at}&requestId=${String(merchantsRequest.headers['x-request-id'])}`;
    const line = await until(async () => (await lines(query))[0], 'the line below');
    assert.equal(line.organizationId, made.body.organizationId);
    assert.equal(line.actorOrganizationId, setup.organizationId);
    assert.equal((await lines(query.replace(`${at}&`, ''))).length, 0);
  });

  test('a read of the log is not logged', async () => {
    const answer = await read();
    const later = await sell(merchantAndStore());
    await lineOf(later);
    const query = `?requestId=${String(answer.headers['x-request-id'])}`;
    assert.deepEqual(await lines(query), []);
  });

  const listen = (query = '', options: EventStreamOptions = {}): Promise<EventStream> =>
    openEventStream(`${setup.settings.baseUrl}${path}${query}`, {
      token: setup.acquirerToken,
      ca: setup.ca,
      ...options,
    });
  const statusesOf = (stream: EventStream) =>
    stream.events.map(({ data }) => (data as LoggedRequest).status);

  test('a stream sends entries as they are stored, filtered, and continues after the last id', async () => {
    const sales = '?operationId=processTransaction';
    const all = await listen(sales);
    const refusals = await listen(`${sales}&status=4xx`);
    for (const amount of [100, 0, 300]) await lineOf(await sell({ ...merchantAndStore(), amount }));
    await all.waitForEvents(3);
    await refusals.waitForEvents(1);
    assert.deepEqual(statusesOf(all), [200, 422, 200]);
    assert.deepEqual(statusesOf(refusals), [422]);
    const ids = all.events.map(({ id = 0, type, data }) => {
      assert.equal(type, 'request');
      assert.equal((data as LoggedRequest).sequence, id);
      return id;
    });
    all.destroy();
    refusals.destroy();
    await lineOf(await sell({ ...merchantAndStore(), amount: 0 }));
    const again = await listen(sales, { lastEventId: ids[1] ?? 0 });
    await again.waitForEvents(2);
    assert.deepEqual(statusesOf(again), [200, 422]);
    const early = await listen(`${sales}&after=${ids[0]}`);
    await early.waitForEvents(3);
    assert.deepEqual(statusesOf(early), [422, 200, 422]);
    for (const stream of [again, early]) stream.destroy();
  });

  test('a stream contains only entries of the own organisation, and has the errors of the list', async () => {
    const otherOrganization = await createTestOrganization();
    const otherStream = await listen('', { token: otherOrganization.acquirerToken });
    const ownStream = await listen();
    await lineOf(await sell(merchantAndStore()));
    await ownStream.waitForEvents(1);
    const owners = (stream: EventStream) =>
      new Set(stream.events.map(({ data }) => (data as LoggedRequest).organizationId));
    assert.deepEqual([...owners(ownStream)], [setup.organizationId]);
    assert.ok(!owners(otherStream).has(setup.organizationId));
    for (const stream of [ownStream, otherStream]) stream.destroy();
    assert.equal((await listen('', { token: setup.merchant.token })).status, 403);
    assert.equal((await listen('?status=9xx')).status, 422);
    assert.equal((await listen('', { lastEventId: 'first' })).status, 400);
  });
});
