// The event feed of the complete platform: each event is read once, in order, by its owners, and
// without card data.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { type EventList, eventDefinitions, type FeedItem } from '@switchyard/contract';
import { Check, Errors } from 'typebox/value';
import { testDatabase } from '../support/database/test-database.ts';
import { openEventStream } from '../support/event-stream-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';

const path = '/events/v1';

describe('the feed of events', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  async function readFeed(query: string, token = setup.acquirerToken) {
    return setup.client.call('GET', `${path}?${query}`, { token });
  }

  async function page(query = '', token = setup.acquirerToken): Promise<EventList> {
    const { status, body, text } = await readFeed(query, token);
    assert.equal(status, 200, text);
    return body;
  }

  /** All events after a position, page by page. */
  async function all(query = '', from = 0, token = setup.acquirerToken): Promise<FeedItem[]> {
    const items: FeedItem[] = [];
    for (let after = from; ; ) {
      const part = await page(`after=${after}&limit=3&${query}`, token);
      items.push(...part.items);
      assert.ok(part.nextAfter >= after);
      if (!part.hasMore) return items;
      assert.ok(part.nextAfter > after, 'goes on');
      after = part.nextAfter;
    }
  }

  async function sale(merchant = setup.merchant, amount = 1050): Promise<string> {
    const { body, text } = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token: merchant.token,
      body: keyedSale({ amount }),
    });
    assert.equal(body?.state, 'Captured', text);
    return body.transactionId;
  }

  const ofTransaction = (items: FeedItem[], transactionId: string) =>
    items.filter(({ data }) => data['transactionId'] === transactionId);

  /** The end of the feed after all work is published. */
  async function settled(): Promise<number> {
    const database = await testDatabase();
    await eventually('everything is published', async () => {
      const [row] = await database.query<{ n: number }>(
        'SELECT count(*)::int AS n FROM outbox WHERE organization_id = $1',
        [setup.organizationId],
      );
      return row?.n === 0;
    });
    return (await all()).at(-1)?.position ?? 0;
  }

  // Spec: EVT-10
  test('returns the events of a sale and its refund in order, with valid data and without the card number', async () => {
    const from = await settled();
    const transactionId = await sale();
    await setup.client.call('POST', `/payment/v1/transactions/${transactionId}/refund`, {
      token: setup.merchant.token,
      body: { amount: 50 },
    });
    let items: FeedItem[] = [];
    await eventually('the refund event arrives', async () => {
      items = ofTransaction(await all('', from), transactionId);
      return items.some(({ type }) => type === 'transaction.refunded');
    });
    assert.equal(items[0]?.type, 'transaction.captured');
    const sequences = items.map(({ data }) => data['sequence']);
    assert.deepEqual(sequences, sequences.toSorted());
    for (const { type, data } of items) {
      const definition = eventDefinitions.get(type);
      assert.ok(definition, type);
      assert.ok(Check(definition.data, data), JSON.stringify([...Errors(definition.data, data)]));
      assert.equal(data['organizationId'], setup.organizationId);
      assert.equal(data['merchantId'], setup.merchant.merchantId);
    }
    assert.equal(items[0]?.data['amount'], 1050);
    assert.ok(!/\d{13,19}/.test(JSON.stringify(items.map(({ data }) => data))));
    assert.ok(!items.some(({ type }) => type === 'transaction.received'));
  });

  // Spec: QRPROV-29
  test('publishes changes of entities with the names of changed members, without their values', async () => {
    const from = await settled();
    const secretName = `Quiet ${randomUUID()}`;
    const { merchantId } = setup.otherMerchant;
    const url = `/provisioning/v2/merchants/${merchantId}`;
    const currentMerchant = await setup.client.call('GET', url, { token: setup.acquirerToken });
    const { name: _name, country, mcc, timeZone } = currentMerchant.body;
    const changed = await setup.client.call('PUT', url, {
      token: setup.acquirerToken,
      body: { name: secretName, country, mcc, timeZone },
      headers: { 'if-match': String(currentMerchant.headers['etag']) },
    });
    assert.equal(changed.status, 200, changed.text);
    await settled();
    const items = await all('types=merchant.updated', from);
    assert.equal(items.length, 1);
    const { type, data } = items[0] as FeedItem;
    assert.ok(Check(eventDefinitions.get(type)?.data as never, data));
    assert.deepEqual(data['entity'], { type: 'merchant', id: merchantId });
    assert.equal(data['merchantId'], merchantId);
    assert.deepEqual(data['changed'], ['name']);
    assert.ok(!JSON.stringify(items).includes(secretName));
  });

  // Spec: QRPROV-30
  test('publishes one event when a batch is complete, also for an empty batch', async () => {
    const from = await settled();
    const token = setup.merchant.token;
    const authorized = await Promise.all(
      Array.from({ length: 12 }, () =>
        setup.client.call('POST', '/payment/v1/transactions/process', {
          token,
          body: keyedSale({ captureMode: 'Deferred' }),
        }),
      ),
    );
    assert.ok(authorized.every(({ body }) => body.state === 'Authorized'));
    const clientOperationId = `evening-${randomUUID()}`;
    const capture = (body: object) =>
      setup.client.call('POST', '/payment/v1/transactions/captureall', { token, body });
    const { body: batch } = await capture({ clientOperationId });
    const { body: empty } = await capture({ currency: 'JPY' });
    assert.equal(empty.total, 0);
    let items: FeedItem[] = [];
    await eventually('both events arrive', async () => {
      items = await all('types=batch.*', from);
      return items.length >= 2;
    });
    await settled();
    items = await all('types=batch.*', from);
    const batchEvent = items.find(({ data }) => data['batchId'] === batch.batchId);
    assert.equal(items.length, 2);
    assert.ok(Check(eventDefinitions.get('batch.completed')?.data as never, batchEvent?.data));
    const { organizationId, merchant } = setup;
    assert.deepEqual(batchEvent?.data, {
      organizationId,
      merchantId: merchant.merchantId,
      batchId: batch.batchId,
      clientOperationId,
      total: 12,
      succeeded: 12,
      failed: 0,
      filed: 0,
      sequence: 1,
    });
    const nothing = items.find(({ data }) => data['batchId'] === empty.batchId);
    assert.equal(nothing?.data['total'], 0);
    assert.equal(nothing?.data['clientOperationId'], undefined);
  });

  // Spec: QRPROV-21
  test('filters by type, family and merchant, and continues after skipped events', async () => {
    const from = await settled();
    const ownSaleId = await sale();
    const otherSaleId = await sale(setup.otherMerchant);
    await settled();
    const families = await all('types=transaction.*', from);
    assert.equal(ofTransaction(families, ownSaleId).length, 1);
    assert.ok(families.every(({ type }) => type.startsWith('transaction.')));
    const others = await all(`merchantId=${setup.otherMerchant.merchantId.toUpperCase()}`, from);
    assert.equal(ofTransaction(others, otherSaleId).length, 1);
    assert.equal(ofTransaction(others, ownSaleId).length, 0);
    const emptyPage = await page(`after=${from}&types=qr.completed`);
    assert.deepEqual(emptyPage.items, []);
    assert.ok(emptyPage.nextAfter > from, 'the empty page leads on');
    assert.equal(emptyPage.hasMore, false);
    assert.deepEqual(
      (await all('types=batch.completed,*', from)).length,
      (await all('', from)).length,
    );
  });

  test('a developer of a merchant sees the events of this merchant, and cannot name another', async () => {
    const token = await setup.tokenFor({
      name: 'merchant hooks',
      entityType: 'merchant',
      entityId: setup.merchant.merchantId,
      merchantId: setup.merchant.merchantId,
      roles: ['ServiceProvider'],
    });
    const from = await settled();
    const ownSaleId = await sale();
    const otherSaleId = await sale(setup.otherMerchant);
    await settled();
    const items = await all('', from, token);
    assert.equal(ofTransaction(items, ownSaleId).length, 1);
    assert.equal(ofTransaction(items, otherSaleId).length, 0);
    assert.ok(items.every(({ data }) => data['merchantId'] === setup.merchant.merchantId));
    const refused = await readFeed(`merchantId=${setup.otherMerchant.merchantId}`, token);
    assert.equal(refused.status, 403);
    assert.equal(refused.body.code, 'entity_out_of_scope');
  });

  // Spec: QRPROV-26
  test('reads backwards from the newest event, and before a position', async () => {
    const from = await settled();
    const first = await sale();
    await sale();
    await settled();
    const forwards = await all('types=transaction.captured', from);
    const looked: FeedItem[] = [];
    for (let before = 0; ; ) {
      const part = await page(`before=${before}&limit=3&types=transaction.captured`);
      looked.push(...part.items);
      assert.equal(part.hasMore, part.nextBefore !== undefined);
      assert.ok(part.nextAfter >= (looked[0]?.position ?? 0), 'goes on from the end');
      if (part.nextBefore === undefined || part.nextBefore <= from) break;
      assert.ok(before === 0 || part.nextBefore < before, 'goes back');
      before = part.nextBefore;
    }
    const ownReads = looked.filter(({ position }) => position > from);
    assert.deepEqual(ownReads, forwards.toReversed());
    assert.equal(ofTransaction(ownReads, first).length, 1);
    const oldest = await page('before=1');
    assert.deepEqual([oldest.items, oldest.hasMore], [[], false]);
    for (const query of ['before=5&after=1', 'before=5&wait=1']) {
      const { status, body } = await readFeed(query);
      assert.deepEqual([status, body.code], [422, 'field_invalid'], query);
    }
  });

  test('the list of event types is readable without a token', async () => {
    const { status, body } = await setup.client.call('GET', '/events/v1/types');
    assert.equal(status, 200);
    const types = body.items.map(({ type }: { type: string }) => type);
    assert.ok(types.includes('qr.completed') && types.includes('transaction.captured'), types);
  });

  // Spec: QRPROV-25
  test('waits for new events, at most for the given time', async () => {
    const from = await settled();
    const waiting = page(`after=${from}&wait=20&types=transaction.captured`);
    const transactionId = await sale();
    const { items, nextAfter } = await waiting;
    assert.equal(ofTransaction(items, transactionId).length, 1);
    const nothing = await page(`after=${nextAfter}&wait=1&types=qr.completed`);
    assert.deepEqual(nothing.items, []);
  });

  // Spec: QRPROV-25
  test('a stream continues after the last received event and misses no event', async () => {
    const from = await settled();
    const url = `${setup.settings.baseUrl}${path}?types=transaction.*`;
    const first = await openEventStream(url, { token: setup.acquirerToken, ca: setup.ca });
    assert.equal(first.status, 200);
    const one = await sale();
    const [received] = await first.waitForEvents(1);
    first.destroy();
    const item = received?.data as FeedItem;
    assert.equal(item.data['transactionId'], one);
    assert.equal(received?.id, item.position);
    assert.ok((received?.id ?? 0) > from, 'a stream without a position sends new events');
    const two = await sale();
    await settled();
    const again = await openEventStream(url, {
      token: setup.acquirerToken,
      ca: setup.ca,
      lastEventId: received?.id ?? 0,
    });
    const three = await sale();
    const rest = await again.waitForEvents(2);
    again.destroy();
    assert.deepEqual(
      rest.map(({ data }) => (data as FeedItem).data['transactionId']),
      [two, three],
    );
    const feed = await all(`types=transaction.*`, received?.id ?? 0);
    assert.deepEqual(
      rest.map(({ data }) => data),
      feed,
      'the stream and the feed have the same events',
    );
  });

  test('refuses invalid positions, unknown event types, and callers without permission', async () => {
    const end = await settled();
    const cases: [query: string, status: number, code: string, pointer?: string][] = [
      [`after=${end + 1}`, 422, 'cursor_invalid', '?after'],
      ['after=-1', 422, 'field_invalid', '?after'],
      ['after=1.5', 422, 'field_invalid', '?after'],
      ['after=9007199254740992', 422, 'field_invalid', '?after'],
      ['types=transaction.capture', 422, 'field_invalid', '?types'],
      ['types=transaction.captured,', 422, 'field_invalid', '?types'],
      ['types=nothing.*', 422, 'field_invalid', '?types'],
      ['types=__proto__.*', 422, 'field_invalid', '?types'],
      [`types=${Array.from({ length: 101 }, () => '*').join(',')}`, 422, 'field_invalid', '?types'],
      ['merchantId=me', 422, 'field_invalid', '?merchantId'],
      ['limit=201', 422, 'field_invalid', '?limit'],
      ['wait=31', 422, 'field_invalid', '?wait'],
    ];
    for (const [query, status, code, pointer] of cases) {
      const { body, text, ...answer } = await readFeed(query);
      assert.equal(answer.status, status, `${query}: ${text}`);
      assert.equal(body.code, code, query);
      assert.equal(body.errors?.[0]?.pointer, pointer, query);
    }
    const till = await readFeed('', setup.merchant.token);
    assert.equal(till.status, 403);
    const stream = await openEventStream(`${setup.settings.baseUrl}${path}`, {
      token: setup.acquirerToken,
      ca: setup.ca,
      lastEventId: 'yesterday',
    });
    assert.equal(stream.status, 400);
  });

  test('publishes the states of a clearing file, only for the organisation', async () => {
    const fileSetup = await createTestOrganization({ captureTransport: 'File' });
    const readFeed = (method: string, url: string, call: object) =>
      fileSetup.client.call(method, `/payment/v1/${url}`, call);
    const till = { token: fileSetup.merchant.token };
    const office = { token: fileSetup.acquirerToken };
    const sold = await readFeed('POST', 'transactions/process', {
      ...till,
      body: keyedSale({ captureMode: 'Deferred', amount: 1000 }),
    });
    await readFeed('POST', `transactions/${sold.body.transactionId}/capture`, till);
    const made = await readFeed('POST', 'clearing-files', {
      ...office,
      body: { acquirerLink: fileSetup.linkId, openDays: true },
    });
    const { clearingFileId: fileId } = made.body;
    const content = await readFeed('GET', `clearing-files/${fileId}/content`, office);
    const acknowledged = await readFeed('PUT', `clearing-files/${fileId}/acknowledgement`, {
      ...office,
      raw: fileSetup.host.clear(content.text),
      headers: { 'content-type': 'text/plain' },
    });
    assert.equal(acknowledged.status, 200, acknowledged.text);
    let items: FeedItem[] = [];
    await eventually('the file is worked off', async () => {
      items = await all('types=clearing.*', 0, fileSetup.acquirerToken);
      return items.some(({ type }) => type === 'clearing.file_settled');
    });
    assert.deepEqual(items.map(({ type, data }) => [type, data['sequence']]).toSorted(), [
      ['clearing.file_acknowledged', 2],
      ['clearing.file_made', 1],
      ['clearing.file_settled', 3],
    ]);
    for (const { type, data } of items) {
      assert.ok(Check(eventDefinitions.get(type)?.data as never, data), type);
      assert.equal(data['fileId'], fileId);
      assert.deepEqual(data['amounts'], { EUR: '1000' });
    }
    assert.equal(items.find(({ type }) => type === 'clearing.file_settled')?.data['accepted'], 1);
  });

  test('another organisation has a feed of its own', async () => {
    const other = await createTestOrganization();
    const ownSaleId = await sale();
    await settled();
    const otherEvents = await all('', 0, other.acquirerToken);
    assert.equal(ofTransaction(otherEvents, ownSaleId).length, 0);
    assert.ok(otherEvents.length > 0, 'the making of its merchants');
    assert.ok(otherEvents.every(({ data }) => data['organizationId'] === other.organizationId));
    const otherPage = await page(`merchantId=${setup.merchant.merchantId}`, other.acquirerToken);
    assert.deepEqual(otherPage.items, []);
  });

  // Spec: QRPROV-28
  test('a reader before the oldest event gets events_forgotten, and a new reader does not', async () => {
    const end = await settled();
    const database = await testDatabase();
    const swept = end - 2;
    await database.query(
      `WITH gone AS (DELETE FROM feed_events WHERE organization_id = $1 AND position <= $2)
       UPDATE feed_heads SET swept = $2 WHERE organization_id = $1`,
      [setup.organizationId, swept],
    );
    const late = await readFeed(`after=${swept - 1}`);
    assert.equal(late.status, 410, late.text);
    assert.equal(late.body.code, 'events_forgotten');
    assert.match(late.body.detail, new RegExp(String(swept)));
    assert.equal((await page(`after=${swept}`)).items[0]?.position, swept + 1);
    assert.equal((await page()).items[0]?.position, swept + 1);
    const stream = await openEventStream(`${setup.settings.baseUrl}${path}?after=1`, {
      token: setup.acquirerToken,
      ca: setup.ca,
    });
    assert.equal(stream.status, 410);
  });

  test('lists the types, each with its schema', async () => {
    const { status, body } = await setup.client.call('GET', `${path}/types`, {
      token: setup.acquirerToken,
    });
    assert.equal(status, 200);
    assert.equal(body.items.length, eventDefinitions.size);
    const captured = body.items.find(({ type }: FeedItem) => type === 'transaction.captured');
    assert.equal(captured.schema.type, 'object');
    assert.ok(captured.schema.required.includes('transactionId'));
    assert.equal(captured.example.state, 'Captured');
  });
});
