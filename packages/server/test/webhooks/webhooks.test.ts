// Webhooks on the complete platform: endpoints, signatures verified by a public library, and the
// result of each event.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CreatedWebhookEndpoint, defined } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { reported } from '../support/provisioning/report-client.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  accept,
  answerWith,
  assertGenuine,
  isGenuineByKey,
  type Receiver,
  receiver,
} from './webhook-receiver.ts';

const base = '/webhooks/v1';

describe('webhooks', () => {
  let setup: TestOrganization;
  const opened: Receiver[] = [];
  before(async () => {
    setup = await createTestOrganization();
  });
  after(async () => {
    for (const each of opened) await each.stop();
  });

  async function open(how = accept): Promise<Receiver> {
    const one = await receiver(how);
    opened.push(one);
    return one;
  }

  const callApi = (method: string, path: string, body?: unknown, token = setup.acquirerToken) =>
    setup.client.call(method, `${base}${path}`, { token, ...defined({ body }) });

  async function create(input: object): Promise<CreatedWebhookEndpoint> {
    const { status, body, text, headers } = await callApi('POST', '/endpoints', input);
    assert.equal(status, 201, text);
    assert.equal(headers['location'], `${base}/endpoints/${body.endpointId}`);
    assert.equal(headers['cache-control'], 'no-store');
    return body;
  }

  async function sale(merchant = setup.merchant): Promise<string> {
    const { body, text } = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token: merchant.token,
      body: keyedSale(),
    });
    assert.equal(body?.state, 'Captured', text);
    return body.transactionId;
  }

  const receivedFor = (to: Receiver, transactionId: string) =>
    to.received.filter(({ body }) => JSON.parse(body).data.transactionId === transactionId);

  // Spec: EVT-11 QRPROV-32
  test('a sale reaches the endpoint, signed so that public libraries verify it', async () => {
    const to = await open();
    const made = await create({ url: to.url, eventTypes: ['transaction.*'] });
    assert.match(made.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.match(made.publicKey, /^whpk_[A-Za-z0-9+/]{43}=$/);
    const transactionId = await sale();
    await eventually(
      'the sale event arrives',
      async () => receivedFor(to, transactionId).length > 0,
    );
    const [delivery] = receivedFor(to, transactionId);
    assert.ok(delivery);
    assert.equal(delivery.headers['content-type'], 'application/json');
    assert.ok(!delivery.body.includes('4111111111111111'));
    const event = assertGenuine(delivery, made.secret) as { type: string };
    assert.equal(event.type, 'transaction.captured');
    assert.ok(isGenuineByKey(delivery, made.publicKey));
    const bent = { ...delivery, body: delivery.body.replace('captured', 'refunded') };
    assert.throws(() => assertGenuine(bent, made.secret));
    assert.equal(isGenuineByKey(bent, made.publicKey), false);
    // The body has the bytes of the feed, and the id is that of the event.
    const feed = await setup.client.call('GET', '/events/v1?limit=200', {
      token: setup.acquirerToken,
    });
    const item = feed.body.items.find(
      ({ eventId }: { eventId: string }) => eventId === delivery.id,
    );
    const { type, timestamp, data } = item;
    assert.equal(JSON.stringify({ type, timestamp, data }), delivery.body);
  });

  // Spec: QRPROV-31
  test('an endpoint gets only the events of its types and its merchant', async () => {
    const [byType, byMerchant, all] = [await open(), await open(), await open()];
    await create({ url: byType.url, eventTypes: ['transaction.refunded', 'batch.completed'] });
    const { merchantId } = setup.otherMerchant;
    await create({ url: byMerchant.url, eventTypes: ['*'], merchantId });
    await create({ url: all.url, eventTypes: ['*'] });
    const [ownSaleId, otherSaleId] = [await sale(), await sale(setup.otherMerchant)];
    await eventually(
      'both events arrive',
      async () =>
        receivedFor(all, ownSaleId).length > 0 && receivedFor(all, otherSaleId).length > 0,
    );
    await eventually(
      'the merchant gets its own',
      async () => receivedFor(byMerchant, otherSaleId).length > 0,
    );
    assert.equal(receivedFor(byMerchant, ownSaleId).length, 0);
    assert.equal(byType.received.length, 0);
  });

  // Spec: EVT-12 QRPROV-31
  test('old keys sign together with the new keys for a day, also after a second renewal', async () => {
    const to = await open();
    const made = await create({ url: to.url, eventTypes: ['endpoint.test'] });
    const path = `/endpoints/${made.endpointId}`;
    const lost = await callApi('POST', `${path}/secret`);
    const renewed = await callApi('POST', `${path}/secret`);
    assert.equal(renewed.status, 200, renewed.text);
    assert.notEqual(renewed.body.secret, made.secret);
    const ms = Date.parse(renewed.body.previousUntil) - Date.now();
    assert.ok(Math.abs(ms - 86_400_000) < 60_000);
    const endpoint = await callApi('GET', path);
    assert.equal(endpoint.body.publicKey, renewed.body.publicKey);
    assert.equal(endpoint.body.previousPublicKey, lost.body.publicKey);
    assert.equal(endpoint.body.secret, undefined);
    assert.equal((await callApi('POST', `${path}/test`)).status, 202);
    await eventually('the test came', async () => to.received.length > 0);
    const [delivery] = to.received;
    assert.ok(delivery);
    const secrets = [made.secret, lost.body.secret, renewed.body.secret];
    for (const secret of secrets) assertGenuine(delivery, secret);
    for (const key of [made.publicKey, renewed.body.publicKey]) {
      assert.ok(isGenuineByKey(delivery, key));
    }
    assert.equal((await callApi('POST', `${path}/secret`)).status, 200);
    assertProblem(await callApi('POST', `${path}/secret`), { code: 'keys_renewed_often' });
    const database = await testDatabase();
    await database.query(
      'UPDATE webhook_endpoints SET previous_until = now() WHERE endpoint_id = $1',
      [made.endpointId],
    );
    assert.equal((await callApi('GET', path)).body.previousPublicKey, undefined);
  });

  // Spec: QRPROV-33
  test('the log shows each attempt, and a resend has the same identifier and bytes', async () => {
    const to = await open(
      answerWith(503, {}, `down\u0000 for 4111111111111111 ${'x'.repeat(5000)}`),
    );
    const made = await create({ url: to.url, eventTypes: ['endpoint.test'] });
    const body = { type: 'transaction.captured' };
    const sent = await callApi('POST', `/endpoints/${made.endpointId}/test`, body);
    assert.equal(sent.status, 202, sent.text);
    const path = `/deliveries/${sent.body.deliveryId}`;
    await eventually('a try failed', async () => (await callApi('GET', path)).body.attempts === 1);
    const failed = (await callApi('GET', path)).body;
    assert.equal(failed.status, 'Pending');
    assert.equal(failed.log.length, 1);
    assert.equal(failed.log[0].status, 503);
    assert.match(failed.log[0].answer, /^down\ufffd for \[redacted\] x+$/);
    assert.ok(failed.log[0].answer.length <= 1024);
    assert.ok(Date.parse(failed.nextAttemptAt) > Date.now());
    to.answer(answerWith(200, {}, 'thanks'));
    const again = await callApi('POST', `${path}/resend`);
    assert.equal(again.status, 202, again.text);
    await eventually(
      'it is delivered',
      async () => (await callApi('GET', path)).body.status === 'Delivered',
      60_000,
    );
    const done = (await callApi('GET', path)).body;
    assert.deepEqual(
      done.log.map(({ status }: { status: number }) => status),
      [503, 200],
    );
    assert.equal(done.lastAttempt.answer, 'thanks');
    const [first, second] = to.received;
    assert.equal(first?.id, second?.id);
    assert.equal(first?.body, second?.body);
    assert.equal(first?.body, done.body);
    assert.deepEqual(JSON.parse(done.body).data.test, true);
    const list = await callApi('GET', `/deliveries?endpointId=${made.endpointId}&status=Delivered`);
    assert.equal(list.body.items.length, 1);
    assert.equal(list.body.items[0].deliveryId, done.deliveryId);
    const byEvent = await callApi('GET', `/deliveries?eventId=${done.eventId}`);
    assert.deepEqual(byEvent.body.items, list.body.items);
    const failedDeliveries = await callApi(
      'GET',
      `/deliveries?endpointId=${made.endpointId}&status=Failed`,
    );
    assert.deepEqual(failedDeliveries.body, { items: [], nextCursor: null });
  });

  // Spec: QRPROV-34
  test('an endpoint is changed, disabled, enabled and deleted, each step audited', async () => {
    const to = await open();
    const made = await create({ url: to.url, eventTypes: ['*'], description: 'books' });
    const path = `/endpoints/${made.endpointId}`;
    const read = await callApi('GET', path);
    const { secret: _secret, ...view } = read.body;
    const disabledEndpoint = await setup.client.call('PUT', base + path, {
      token: setup.acquirerToken,
      body: { ...view, status: 'Disabled' },
      headers: { 'if-match': String(read.headers['etag']) },
    });
    assert.equal(disabledEndpoint.status, 200, disabledEndpoint.text);
    assert.equal(disabledEndpoint.body.disabledReason, 'Requested');
    const stale = await setup.client.call('PUT', base + path, {
      token: setup.acquirerToken,
      body: { ...view, status: 'Enabled' },
      headers: { 'if-match': String(read.headers['etag']) },
    });
    assertProblem(stale, { code: 'precondition_failed' });
    assertProblem(await callApi('POST', `${path}/test`), { code: 'endpoint_state' });
    const missed = await sale();
    const { organizationId } = setup;
    const database = await testDatabase();
    await eventually('the sale is published', async () => {
      const [row] = await database.query<{ n: number }>(
        'SELECT count(*)::int AS n FROM outbox WHERE organization_id = $1',
        [organizationId],
      );
      return row?.n === 0;
    });
    const onAgain = await callApi('PUT', path, { url: to.url, eventTypes: ['*'] });
    assert.equal(onAgain.body.status, 'Enabled', onAgain.text);
    assert.equal(onAgain.body.missedEvents, true);
    assert.equal(onAgain.body.description, undefined);
    const laterSaleId = await sale();
    await eventually('the next sale comes', async () => receivedFor(to, laterSaleId).length > 0);
    assert.equal(receivedFor(to, missed).length, 0);
    const replay = await callApi('POST', `${path}/replay`, {});
    assert.equal(replay.status, 202, replay.text);
    await eventually('the missed event arrives', async () => receivedFor(to, missed).length > 0);
    assert.equal(receivedFor(to, laterSaleId).length, 1);
    assert.equal((await callApi('GET', path)).body.missedEvents, undefined);
    assert.equal((await callApi('DELETE', path)).status, 204);
    assertProblem(await callApi('GET', path), { code: 'endpoint_not_found' });
    await eventually('its deliveries are deleted', async () => {
      const [row] = await database.query<{ n: number }>(
        'SELECT count(*)::int AS n FROM webhook_deliveries WHERE endpoint_id = $1',
        [made.endpointId],
      );
      return row?.n === 0;
    });
    const records = await setup.client.call('GET', '/audit/v1/records?limit=200', {
      token: setup.acquirerToken,
    });
    const actions = records.body.items
      .filter(({ entity }: { entity: { id: string } }) => entity.id === made.endpointId)
      .map(({ action }: { action: string }) => action);
    assert.deepEqual(actions.toReversed(), [
      'endpoint.created',
      'endpoint.updated',
      'endpoint.updated',
      'endpoint.deleted',
    ]);
    assert.ok(!records.text.includes(made.secret));
  });

  // Spec: QRPROV-34
  test('a replay of a period sends all its events again, with the same identifiers and bytes', async () => {
    const to = await open();
    const made = await create({ url: to.url, eventTypes: ['transaction.*'] });
    const first = await sale();
    await eventually('the first came', async () => receivedFor(to, first).length === 1);
    const from = JSON.parse(receivedFor(to, first)[0]?.body ?? '').timestamp;
    const second = await sale();
    await eventually('the second came', async () => receivedFor(to, second).length === 1);
    const path = `/endpoints/${made.endpointId}/replay`;
    const begun = await callApi('POST', path, { from });
    assert.equal(begun.status, 202, begun.text);
    assert.equal(begun.body.endpointId, made.endpointId);
    for (const transactionId of [first, second]) {
      await eventually('it came again', async () => receivedFor(to, transactionId).length === 2);
      const [one, other] = receivedFor(to, transactionId);
      assert.deepEqual([other?.id, other?.body], [one?.id, one?.body]);
    }
    assertProblem(await callApi('POST', path, { to: from }), { code: 'field_invalid' });
    assertProblem(await callApi('POST', path, { from, to: from }), { code: 'field_invalid' });
  });

  // Spec: INV-20
  test('after a jump of the feed a replay of a time finds the events before and behind it, and reports are current', async () => {
    const to = await open();
    const made = await create({ url: to.url, eventTypes: ['transaction.*'] });
    const first = await sale();
    await eventually('the first came', async () => receivedFor(to, first).length === 1);
    const from = JSON.parse(receivedFor(to, first)[0]?.body ?? '').timestamp;
    await reported(setup);
    await (await testDatabase()).query(
      'UPDATE feed_heads SET position = position + 1000000 WHERE organization_id = $1',
      [setup.organizationId],
    );
    await reported(setup);
    const second = await sale();
    await eventually('the second came', async () => receivedFor(to, second).length === 1);
    const begun = await callApi('POST', `/endpoints/${made.endpointId}/replay`, { from });
    assert.equal(begun.status, 202, begun.text);
    for (const transactionId of [first, second]) {
      await eventually('it came again', async () => receivedFor(to, transactionId).length === 2);
    }
  });

  // Spec: QRPROV-35
  test('an endpoint can be made to prove itself first', async () => {
    const to = await open(answerWith(200, {}, 'ok'));
    const made = await create({ url: to.url, eventTypes: ['*'], challenge: true });
    assert.deepEqual([made.status, made.disabledReason], ['Disabled', 'Unverified']);
    const path = `/endpoints/${made.endpointId}`;
    const input = { url: to.url, eventTypes: ['*'] };
    assertProblem(await callApi('PUT', path, input), { code: 'endpoint_state' });
    assertProblem(await callApi('POST', `${path}/verify`), { code: 'endpoint_unverified' });
    to.answer(({ body }, reply) => void reply.end(JSON.parse(body).data.challenge));
    const verified = await callApi('POST', `${path}/verify`);
    assert.equal(verified.status, 200, verified.text);
    assert.equal(verified.body.status, 'Enabled');
    assert.ok(verified.body.verifiedAt);
    for (const delivery of to.received) assertGenuine(delivery, made.secret);
    const moved = await callApi('PUT', path, { ...input, url: `${to.url}/elsewhere` });
    assert.equal(moved.body.verifiedAt, undefined, moved.text);
  });

  // Spec: QRPROV-31
  test('an invalid endpoint is refused with a pointer to each member', async () => {
    const good = { url: 'https://hooks.example/x', eventTypes: ['*'] };
    const refusals: [object, string, string?][] = [
      [{ ...good, url: 'http://hooks.example/' }, '/url'],
      [{ ...good, url: 'https://10.0.0.1/' }, '/url'],
      [{ ...good, url: 'https://[fd00::1]/' }, '/url'],
      [{ ...good, url: 'https://me:secret@hooks.example/' }, '/url'],
      [{ ...good, url: 'https://hooks.example/#here' }, '/url'],
      [{ ...good, url: 'nonsense' }, '/url'],
      [{ ...good, url: 'https://hooks.example/ with space' }, '/url'],
      [{ ...good, eventTypes: [] }, '/eventTypes'],
      [{ ...good, eventTypes: ['*', '*'] }, '/eventTypes'],
      [{ ...good, eventTypes: ['transaction.'] }, '/eventTypes/0'],
      [{ ...good, eventTypes: ['*', 'weather.changed'] }, '/eventTypes/1'],
      [{ ...good, eventTypes: 'transaction.captured' }, '/eventTypes'],
      [{ ...good, more: 1 }, '/more', 'field_unknown'],
      [{ eventTypes: ['*'] }, '/url', 'field_required'],
    ];
    for (const [input, pointer, code = 'field_invalid'] of refusals) {
      const answer = await callApi('POST', '/endpoints', input);
      assertProblem(answer, { code: code as 'field_invalid', pointer }, JSON.stringify(input));
    }
    const merchantId = '0198ffff-ffff-7fff-bfff-ffffffffffff';
    const refusedResponse = await callApi('POST', '/endpoints', { ...good, merchantId });
    assertProblem(refusedResponse, { code: 'merchant_not_found' });
    for (const id of ['nonsense', merchantId]) {
      assertProblem(await callApi('GET', `/endpoints/${id}`), { code: 'endpoint_not_found' });
      assertProblem(await callApi('POST', `/endpoints/${id}/test`), { code: 'endpoint_not_found' });
      assertProblem(await callApi('POST', `/endpoints/${id}/replay`), {
        code: 'endpoint_not_found',
      });
      assertProblem(await callApi('GET', `/deliveries/${id}`), { code: 'delivery_not_found' });
      assertProblem(await callApi('POST', `/deliveries/${id}/resend`), {
        code: 'delivery_not_found',
      });
    }
    const other = await createTestOrganization();
    const { endpointId } = await create(good);
    const otherResponse = await setup.client.call('GET', `${base}/endpoints/${endpointId}`, {
      token: other.acquirerToken,
    });
    assertProblem(otherResponse, { code: 'endpoint_not_found' });
    const changed = { ...good, endpointId: merchantId };
    assertProblem(await callApi('PUT', `/endpoints/${endpointId}`, changed), {
      code: 'field_read_only',
      pointer: '/endpointId',
    });
    const bad = await callApi('POST', `/endpoints/${endpointId}/test`, { type: 'weather.changed' });
    assertProblem(bad, { code: 'field_invalid', pointer: '/type' });
  });

  test('calls to endpoints on request are rate-limited', async () => {
    const to = await open();
    const { endpointId } = await create({ url: to.url, eventTypes: ['endpoint.test'] });
    const tried = await callApi('POST', `/endpoints/${endpointId}/test`);
    const paths = ['verify', 'test', 'replay'].map((verb) => `/endpoints/${endpointId}/${verb}`);
    for (const path of [...paths, `/deliveries/${tried.body.deliveryId}/resend`]) {
      const { headers } = await callApi('POST', path);
      assert.equal(headers['ratelimit-policy'], '"outgoing";q=50;w=1', path);
    }
  });

  test('an organisation has so many endpoints and no more, also where they are made at once', async () => {
    const other = await createTestOrganization();
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        other.client.call('POST', `${base}/endpoints`, {
          token: other.acquirerToken,
          body: { url: `https://hooks.example/${index}`, eventTypes: ['*'], status: 'Disabled' },
        }),
      ),
    );
    const full = made.filter(({ status }) => status !== 201);
    assert.equal(full.length, 10);
    for (const answer of full) assertProblem(answer, { code: 'endpoint_limit_reached' });
    const page = await other.client.call('GET', `${base}/endpoints?limit=30`, {
      token: other.acquirerToken,
    });
    const { nextCursor } = page.body;
    const rest = await other.client.call('GET', `${base}/endpoints?limit=30&cursor=${nextCursor}`, {
      token: other.acquirerToken,
    });
    const ids = [...page.body.items, ...rest.body.items].map(({ endpointId }) => endpointId);
    assert.equal(new Set(ids).size, 50);
    assert.equal(rest.body.nextCursor, null);
  });
});
