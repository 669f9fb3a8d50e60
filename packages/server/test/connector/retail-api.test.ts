// The Retail API from end to end: a point of sale that uses HTTP, and a terminal at the connector.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { connectorPaths } from '@switchyard/contract';
import { WebSocket } from 'ws';
import { testDatabase } from '../support/database/test-database.ts';
import type { RequestOptions } from '../support/https-client.ts';
import { createTestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';
import { type Json, lineOf } from './test-connector.ts';
import {
  headerOf,
  heardBy,
  paidOf,
  paymentOf,
  type RetailScene,
  requestOf,
  retailScene,
} from './test-retail-api.ts';

describe('the Retail API', () => {
  let on: RetailScene;
  before(async () => {
    on = await retailScene();
  });
  after(() => on.close());

  const call = (method: string, path: string, options: RequestOptions = {}) =>
    on.on.client.call(method, `/retail/v1${path}`, { token: on.token, ...options });
  const send = (tsn: string, how: 'sync' | 'async', body: Json, options: RequestOptions = {}) =>
    call('POST', `/devices/${tsn}/${how}?posId=p1`, { body, ...options });
  const statusOf = async (tsn: string) => (await call('GET', `/devices/${tsn}/status`)).body;

  it('tells how the terminals of a store stand, and what can be paid with', async () => {
    const { tsn, storeId, logicalDeviceId, connect } = await on.device();
    const path = `/stores/${storeId}/devices`;
    const before = await call('GET', path);
    assert.equal(before.status, 200, before.text);
    const [first] = before.body.items;
    assert.deepEqual(
      [first.tsn, first.deviceId, first.online, first.claimed, first.lastSeenAt],
      [tsn, logicalDeviceId, false, false, undefined],
    );
    assert.deepEqual([first.enabled, first.paymentMethods], [true, ['card']]);
    const line = await connect();
    const { body } = await call('GET', path);
    assert.equal(body.items[0].online, true);
    assert.match(body.items[0].lastSeenAt, /^20/);
    const asked = send(tsn, 'sync', paymentOf());
    const heard = await heardBy(line);
    assert.equal((await call('GET', path)).body.items[0].claimed, true);
    assert.equal((await statusOf(tsn)).claimed, true);
    line.send(paidOf(heard));
    await asked;
    assert.deepEqual((await statusOf(tsn)).claimed, false);
  });

  it('gives the terminals of a store page by page, each once', async () => {
    const { storeId, merchantId } = await on.device();
    const { provisioning } = on.on.platform;
    const scope = { organizationId: on.on.organizationId };
    for (let n = 0; n < 4; n += 1) {
      const { view: spot } = await provisioning.logicalDevices.create(scope, {
        storeId,
        name: `More ${n}`,
      });
      const serialNumber = String(71_000_000 + Math.floor(Math.random() * 9_000_000));
      const { view } = await provisioning.physicalDevices.create(scope, {
        serialNumber,
        make: 'AXIUM',
        model: 'DX8000',
        family: 'axium',
        merchantId,
      });
      await provisioning.logicalDevices.linkPhysicalDevices(scope, spot.logicalDeviceId, [
        view.physicalDeviceId,
      ]);
    }
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await call('GET', `/stores/${storeId}/devices?limit=2${more}`);
      assert.ok(body.items.length <= 2);
      seen.push(...body.items.map((item: Json) => item['tsn']));
      cursor = body.nextCursor;
    }
    assert.equal(seen.length, 5);
    assert.equal(new Set(seen).size, 5);
  });

  it('sends a message as it was written, and gives the answer as it came', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    // Other clients send numbers with trailing zeros and unknown members.
    const raw = JSON.stringify(paymentOf())
      .replace('12.5', '12.50')
      .replace('"SaleData"', '"X":1,"SaleData"');
    const asked = send(tsn, 'sync', {}, { raw });
    const { data } = await line.raw();
    assert.equal(data.toString(), raw);
    const { MessageHeader: header } = JSON.parse(raw).SaleToPOIRequest;
    line.send({ SaleToPOIRequest: { MessageHeader: { ...header, MessageType: 'Nothing' } } });
    const other = { ...header, ServiceID: 'other', MessageType: 'Response' };
    line.send({ SaleToPOIResponse: { MessageHeader: other, PaymentResponse: {} } });
    const answered = { ...header, MessageType: 'Response' };
    const answer = `{"SaleToPOIResponse":{"MessageHeader":${JSON.stringify(answered)},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondition":"Refusal"},"New":10.00}}}`;
    line.send(answer);
    const { status, text, headers } = await asked;
    assert.deepEqual([status, text], [200, answer]);
    assert.match(String(headers['content-type']), /^application\/json/);
    const kept = await call('GET', `/devices/${tsn}/messages/${header.ServiceID}?wait=5`);
    const { status: state, result, errorCondition } = kept.body;
    assert.deepEqual([state, result, errorCondition], ['Answered', 'Failure', 'Refusal']);
  });

  it('passes on what is protected, header in clear', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const { SaleToPOIRequest: clear } = paymentOf();
    const hidden = { NexoBlob: 'AAAA', SecurityTrailer: { Nonce: 'BBBB' } };
    const asked = send(tsn, 'sync', {
      SaleToPOIRequest: { MessageHeader: clear.MessageHeader, ...hidden },
    });
    await line.raw();
    const header = { ...clear.MessageHeader, MessageType: 'Response' };
    line.send({ SaleToPOIResponse: { MessageHeader: header, ...hidden } });
    assert.equal((await asked).body.SaleToPOIResponse.NexoBlob, 'AAAA');
  });

  it('aborts what runs: 200 without a body, and the request has its own end', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const payment = paymentOf();
    const asked = send(tsn, 'sync', payment);
    const heard = await heardBy(line);
    const { ServiceID, SaleID } = headerOf(payment);
    const reference = { MessageCategory: 'Payment', ServiceID, SaleID };
    const abort = requestOf('Abort', { MessageReference: reference, AbortReason: 'customer' });
    const aborted = await send(tsn, 'sync', abort);
    assert.deepEqual([aborted.status, aborted.text], [200, '']);
    assert.equal((await heardBy(line)).header.MessageCategory, 'Abort');
    const header = { ...heard.header, MessageType: 'Response' };
    const failure = { Response: { Result: 'Failure', ErrorCondition: 'Aborted' } };
    line.send({ SaleToPOIResponse: { MessageHeader: header, PaymentResponse: failure } });
    const { PaymentResponse } = (await asked).body.SaleToPOIResponse;
    assert.equal(PaymentResponse.Response.ErrorCondition, 'Aborted');
  });

  it('answers at once where nobody waits: the result is an event, and fetched by its ServiceID', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const payment = paymentOf();
    const { ServiceID } = headerOf(payment);
    const accepted = await send(tsn, 'async', payment);
    assert.equal(accepted.status, 202, accepted.text);
    assert.deepEqual([accepted.body.tsn, accepted.body.serviceId], [tsn, ServiceID]);
    const path = String(accepted.headers['location']);
    const get = (wait = '') => on.on.client.call('GET', path + wait, { token: on.token });
    assert.equal((await get()).body.status, 'Waiting');
    const waited = get('&wait=20');
    line.send(paidOf(await heardBy(line)));
    const { body } = await waited;
    assert.deepEqual([body.status, body.result], ['Answered', 'Success']);
    assert.ok(body.response.SaleToPOIResponse.PaymentResponse);
    const event = await until(async () => {
      const { body: page } = await on.on.client.call('GET', '/events/v1?types=retail.response', {
        token: on.on.acquirerToken,
      });
      return page.items.find((item: Json) => JSON.stringify(item).includes(body.messageId));
    }, 'the event');
    const text = JSON.stringify(event);
    assert.match(text, /"result":"Success"/);
    assert.ok(!text.includes('411111'), 'an event tells nothing of a card');
    const database = await testDatabase();
    const [row] = await database.query<{ response: Buffer }>(
      'SELECT response FROM retail_messages WHERE message_id = $1',
      [body.messageId],
    );
    assert.ok(row !== undefined && !row.response.includes('411111'), 'it is sealed');
  });

  it('takes a ServiceID once, also of several that come at once', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const payment = paymentOf();
    const all = [1, 2, 3].map(() => send(tsn, 'sync', payment));
    line.send(paidOf(await heardBy(line)));
    const statuses = (await Promise.all(all)).map(({ status, body }) => [status, body.code]);
    assert.equal(statuses.filter(([status]) => status === 200).length, 1);
    assert.equal(statuses.filter(([, code]) => code === 'service_id_reused').length, 2);
    const again = await send(tsn, 'async', payment);
    assert.deepEqual([again.status, again.body.outcome], [409, 'Unknown']);
    const database = await testDatabase();
    await database.query(
      `UPDATE retail_messages SET created_at = now() - interval '49 hours' WHERE service_id = $1`,
      [headerOf(payment)['ServiceID']],
    );
    const later = send(tsn, 'sync', payment);
    line.send(paidOf(await heardBy(line)));
    assert.equal((await later).status, 200);
  });

  it('tells of a terminal that is lost in the middle, and invents no answer', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const payment = paymentOf();
    const asked = send(tsn, 'sync', payment);
    await heardBy(line);
    line.socket.terminate();
    const { status, body, headers } = await asked;
    assert.equal(status, 502);
    assert.deepEqual([body.code, body.outcome], ['device_disconnected', 'Unknown']);
    assert.match(String(headers['content-type']), /problem\+json/);
    assert.equal(body.SaleToPOIResponse, undefined);
    const { ServiceID } = headerOf(payment);
    const kept = await call('GET', `/devices/${tsn}/messages/${ServiceID}?wait=5`);
    assert.deepEqual([kept.body.status, kept.body.fault], ['Failed', 'device_disconnected']);
    assert.equal(body.retryable, false, 'its ServiceID is used up');
    // The till repeats the message while the terminal is offline and after it is back; the first
    // one may have moved money.
    const repeat = async (how: 'sync' | 'async') => (await send(tsn, how, payment)).body;
    const away = [await repeat('sync'), await repeat('async')];
    await connect();
    for (const told of [...away, await repeat('sync'), await repeat('async')]) {
      const { messageId } = kept.body;
      assert.deepEqual(
        [told.code, told.outcome, told.retryable, told.message.messageId, told.message.status],
        ['service_id_reused', 'Unknown', false, messageId, 'Failed'],
      );
      const { address } = told.message;
      const found = await on.on.client.call('GET', address, { token: on.token });
      assert.equal(found.body.messageId, messageId);
    }
  });

  it('tells that a terminal is offline, and its ServiceID stays good', async () => {
    const { tsn, connect } = await on.device();
    const payment = paymentOf();
    const offline = await send(tsn, 'sync', payment);
    const { status, body, headers } = offline;
    assert.deepEqual([status, body.code, body.outcome], [409, 'device_offline', 'NotProcessed']);
    assert.ok(Number(headers['retry-after']) > 0);
    const waiting = call('POST', `/devices/${tsn}/sync?posId=p1&waitSeconds=20`, { body: payment });
    const line = await connect();
    line.send(paidOf(await heardBy(line)));
    assert.equal((await waiting).status, 200);
  });

  it('shares no terminal with another point of sale, by HTTP or by a socket', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const asked = send(tsn, 'sync', paymentOf());
    const heard = await heardBy(line);
    const other = await call('POST', `/devices/${tsn}/sync?posId=p2`, { body: paymentOf() });
    assert.deepEqual([other.status, other.body.code], [409, 'device_claimed']);
    const { baseUrl } = on.on.settings;
    const address = `${baseUrl.replace(/^http/, 'ws')}${connectorPaths.posListener}`;
    const headers = { authorization: `Bearer ${on.token}` };
    const socket = new WebSocket(address, { ca: on.on.ca, headers });
    const pos = lineOf(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    const claim = { type: 'claim', tsn, posId: 'p1' };
    pos.send({ ...claim, requestId: '1' });
    assert.equal((await pos.next())['error'].code, 'device_claimed');
    line.send(paidOf(heard));
    assert.equal((await asked).status, 200);
    pos.send({ ...claim, requestId: '2' });
    assert.equal((await pos.next())['type'], 'claimed');
    const refused = await send(tsn, 'sync', paymentOf());
    assert.equal(refused.body.code, 'device_claimed');
    socket.terminate();
  });

  it('tells of a message that the terminal rejects', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const asked = send(tsn, 'sync', paymentOf());
    const { data } = await line.raw();
    const { MessageHeader: header } = JSON.parse(data.toString()).SaleToPOIRequest;
    const { ServiceID: _, ...rest } = header;
    const event = { MessageClass: 'Event', MessageCategory: 'Event', MessageType: 'Notification' };
    line.send({
      SaleToPOIRequest: {
        MessageHeader: { ...rest, ...event },
        EventNotification: {
          TimeStamp: '2026-03-01T12:30:00.000Z',
          EventToNotify: 'Reject',
          RejectedMessage: data.toString('base64'),
        },
      },
    });
    const { status, body } = await asked;
    assert.deepEqual([status, body.code, body.outcome], [502, 'message_rejected', 'Unknown']);
  });

  it('knows no terminal of others, and keeps a till to its store', async () => {
    const [own, neighbour, foreign] = [
      await on.device(),
      await on.device(),
      await on.device(on.on.otherMerchant),
    ];
    const token = await on.tillToken(own);
    const body = paymentOf();
    const ask = (tsn: string, as = token) =>
      on.on.client.call('POST', `/retail/v1/devices/${tsn}/sync`, { token: as, body });
    const codes = [own.tsn, neighbour.tsn, foreign.tsn, 'AXIUM_DX8000-99999999'];
    const told = await Promise.all(codes.map((tsn) => ask(tsn)));
    assert.deepEqual(
      told.map(({ status, body: problem }) => [status, problem.code]),
      [
        [409, 'device_offline'],
        [403, 'wrong_store'],
        [404, 'device_unknown'],
        [404, 'device_unknown'],
      ],
    );
    const stranger = await createTestOrganization();
    const theirs = await stranger.tokenFor({
      name: 'Till',
      entityType: 'tenant',
      entityId: stranger.organizationId,
      roles: ['PointOfSaleTerminal'],
    });
    assert.equal((await ask(own.tsn, theirs)).body.code, 'device_unknown');
    const path = `/retail/v1/stores/${own.storeId}/devices`;
    assert.equal((await on.on.client.call('GET', path, { token: theirs })).status, 404);
    assert.equal((await on.on.client.call('GET', path, { token })).status, 200);
    const other = `/retail/v1/stores/${neighbour.storeId}/devices`;
    assert.equal((await on.on.client.call('GET', other, { token })).status, 404);
    assert.equal((await ask(own.tsn, on.on.merchant.token)).status, 403);
    assert.equal((await ask(own.tsn, on.token)).body.code, 'pos_id_required');
  });

  it('tells answers where the terminal stood, and not where it stands now', async () => {
    const own = await on.device();
    const [beside, foreign] = [await on.device(), await on.device(on.on.otherMerchant)];
    const line = await own.connect();
    const payment = paymentOf();
    const asked = send(own.tsn, 'sync', payment);
    line.send(paidOf(await heardBy(line)));
    assert.equal((await asked).status, 200);
    const path = `/devices/${own.tsn}/messages/${headerOf(payment)['ServiceID']}`;
    const read = (token: string) => call('GET', `${path}?wait=20`, { token });
    const first = await on.tillToken(own);
    assert.equal((await read(first)).body.result, 'Success');
    let from = own;
    for (const to of [beside, foreign]) {
      await on.move({ ...from, physicalDeviceId: own.physicalDeviceId }, to);
      from = to;
      const token = await on.tillToken(to);
      const { status, body } = await read(token);
      assert.deepEqual([status, body.code], [404, 'message_not_found']);
      const again = await call('POST', `/devices/${own.tsn}/sync`, { token, body: payment });
      assert.equal(again.body.message, undefined, 'nor by a repetition');
      assert.notEqual((await read(first)).status, 200, 'the terminal is not there any more');
      assert.equal((await read(on.token)).body.result, 'Success', 'the organisation sees both');
    }
  });

  it('answers alike for terminals of others and for none, at each of its addresses', async () => {
    const own = await on.device();
    const foreign = await on.device(on.on.otherMerchant);
    const token = await on.tillToken(own);
    const tsns = [
      foreign.tsn,
      foreign.tsn.split('-')[1] ?? '',
      'AXIUM_DX8000-99999999',
      '%00',
      "'",
    ];
    for (const tsn of tsns) {
      const paths: [string, string][] = [
        ['GET', 'status'],
        ['GET', 'messages/1'],
        ['POST', 'sync'],
        ['POST', 'async'],
      ];
      for (const [method, path] of paths) {
        const options = method === 'POST' ? { token, body: paymentOf() } : { token };
        const { status, body } = await call(method, `/devices/${tsn}/${path}`, options);
        assert.deepEqual([status, body.code], [404, 'device_unknown'], `${tsn} ${path}`);
      }
    }
  });

  it('keeps the answer for a till whose connection broke, and the terminal is told nothing', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const gone = new AbortController();
    const payment = paymentOf();
    const asked = send(tsn, 'sync', payment, { signal: gone.signal });
    const broken = assert.rejects(asked);
    const heard = await heardBy(line);
    gone.abort();
    await broken;
    const { ServiceID } = headerOf(payment);
    const path = `/devices/${tsn}/messages/${ServiceID}`;
    assert.equal((await call('GET', path)).body.status, 'Waiting');
    const other = await call('POST', `/devices/${tsn}/sync?posId=p2`, { body: paymentOf() });
    assert.equal(other.body.code, 'device_claimed', 'a payment is under way');
    line.send(paidOf(heard));
    const { body } = await call('GET', `${path}?wait=20`);
    assert.deepEqual([body.status, body.result], ['Answered', 'Success']);
    const next = send(tsn, 'sync', paymentOf());
    assert.equal((await heardBy(line)).header.MessageCategory, 'Payment', 'and nothing before it');
    line.socket.terminate();
    await next;
  });

  it('finds a message by whatever a header may hold', async () => {
    const { tsn, connect } = await on.device();
    const line = await connect();
    const header = { ServiceID: "a/b%2F'?#", SaleID: `till ${'x'.repeat(123)}` };
    const accepted = await send(tsn, 'async', paymentOf(header));
    assert.equal(accepted.status, 202, accepted.text);
    const path = String(accepted.headers['location']);
    line.send(paidOf(await heardBy(line)));
    const found = await on.on.client.call('GET', `${path}&wait=20`, { token: on.token });
    assert.equal(found.status, 200, found.text);
    assert.deepEqual(
      [found.body.serviceId, found.body.saleId, found.body.status],
      [header.ServiceID, header.SaleID, 'Answered'],
    );
    const long = await send(tsn, 'sync', paymentOf({ ServiceID: 'x'.repeat(11) }));
    assert.deepEqual([long.status, long.body.code], [422, 'nexo_invalid']);
    const raw = JSON.stringify(paymentOf()).padEnd(1_100_000, ' ');
    assert.equal((await send(tsn, 'sync', {}, { raw })).status, 413);
  });

  it('refuses what is no request, before a terminal is touched', async () => {
    const { tsn } = await on.device();
    const { SaleToPOIRequest } = paymentOf();
    const header = { ...SaleToPOIRequest.MessageHeader };
    const { ServiceID: _, ...nameless } = header;
    const wrong: (Json | string)[] = [
      '[]',
      'nothing',
      '{"SaleToPOIRequest":{}}',
      { SaleToPOIRequest: { ...SaleToPOIRequest, MessageHeader: nameless } },
      { SaleToPOIResponse: { MessageHeader: { ...header, MessageType: 'Response' } } },
    ];
    for (const each of wrong) {
      const raw = typeof each === 'string' ? each : JSON.stringify(each);
      const { status, body } = await send(tsn, 'sync', {}, { raw });
      assert.deepEqual([status, body.code], [422, 'nexo_invalid'], raw);
    }
    const abort = requestOf('Abort', { AbortReason: 'x' });
    assert.equal((await send(tsn, 'async', abort)).body.code, 'nexo_invalid');
    const missing = await call('GET', `/devices/${tsn}/messages/${randomUUID().slice(0, 8)}`);
    assert.deepEqual([missing.status, missing.body.code], [404, 'message_not_found']);
  });
});
