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
  openRetailApi,
  paidOf,
  paymentOf,
  requestOf,
  type TestRetailApi,
} from './test-retail-api.ts';

describe('the Retail API', () => {
  let setup: TestRetailApi;
  before(async () => {
    setup = await openRetailApi();
  });
  after(() => setup.close());

  const call = (method: string, path: string, options: RequestOptions = {}) =>
    setup.organization.client.call(method, `/retail/v1${path}`, { token: setup.token, ...options });
  const send = (tsn: string, how: 'sync' | 'async', body: Json, options: RequestOptions = {}) =>
    call('POST', `/devices/${tsn}/${how}?posId=p1`, { body, ...options });
  const statusOf = async (tsn: string) => (await call('GET', `/devices/${tsn}/status`)).body;

  // Spec: NEXO-14
  it('lists the terminals of a store with their connection state, claim state and payment methods', async () => {
    const { tsn, storeId, logicalDeviceId, connect } = await setup.device();
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
    const pending = send(tsn, 'sync', paymentOf());
    const heard = await heardBy(line);
    assert.equal((await call('GET', path)).body.items[0].claimed, true);
    assert.equal((await statusOf(tsn)).claimed, true);
    line.send(paidOf(heard));
    await pending;
    assert.deepEqual((await statusOf(tsn)).claimed, false);
  });

  it('gives the terminals of a store page by page, each once', async () => {
    const { storeId, merchantId } = await setup.device();
    const { provisioning } = setup.organization.platform;
    const scope = { organizationId: setup.organization.organizationId };
    for (let n = 0; n < 4; n += 1) {
      const { view: logicalDevice } = await provisioning.logicalDevices.create(scope, {
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
      await provisioning.logicalDevices.linkPhysicalDevices(scope, logicalDevice.logicalDeviceId, [
        view.physicalDeviceId,
      ]);
    }
    const tsns: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await call('GET', `/stores/${storeId}/devices?limit=2${more}`);
      assert.ok(body.items.length <= 2);
      tsns.push(...body.items.map((item: Json) => item['tsn']));
      cursor = body.nextCursor;
    }
    assert.equal(tsns.length, 5);
    assert.equal(new Set(tsns).size, 5);
  });

  // Spec: JSON-7 NEXO-14
  it('sends a message as it was written, and gives the answer as it came', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    // Other clients send numbers with trailing zeros and unknown members.
    const raw = JSON.stringify(paymentOf())
      .replace('12.5', '12.50')
      .replace('"SaleData"', '"X":1,"SaleData"');
    const pending = send(tsn, 'sync', {}, { raw });
    const { data } = await line.raw();
    assert.equal(data.toString(), raw);
    const { MessageHeader: header } = JSON.parse(raw).SaleToPOIRequest;
    line.send({ SaleToPOIRequest: { MessageHeader: { ...header, MessageType: 'Nothing' } } });
    const other = { ...header, ServiceID: 'other', MessageType: 'Response' };
    line.send({ SaleToPOIResponse: { MessageHeader: other, PaymentResponse: {} } });
    const answered = { ...header, MessageType: 'Response' };
    const answer = `{"SaleToPOIResponse":{"MessageHeader":${JSON.stringify(answered)},"PaymentResponse":{"Response":{"Result":"Failure","ErrorCondition":"Refusal"},"New":10.00}}}`;
    line.send(answer);
    const { status, text, headers } = await pending;
    assert.deepEqual([status, text], [200, answer]);
    assert.match(String(headers['content-type']), /^application\/json/);
    const storedMessage = await call('GET', `/devices/${tsn}/messages/${header.ServiceID}?wait=5`);
    const { status: state, result, errorCondition } = storedMessage.body;
    assert.deepEqual([state, result, errorCondition], ['Answered', 'Failure', 'Refusal']);
  });

  it('passes on a protected message unchanged, with its header in clear', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    const { SaleToPOIRequest: clear } = paymentOf();
    const hidden = { NexoBlob: 'AAAA', SecurityTrailer: { Nonce: 'BBBB' } };
    const pending = send(tsn, 'sync', {
      SaleToPOIRequest: { MessageHeader: clear.MessageHeader, ...hidden },
    });
    await line.raw();
    const header = { ...clear.MessageHeader, MessageType: 'Response' };
    line.send({ SaleToPOIResponse: { MessageHeader: header, ...hidden } });
    assert.equal((await pending).body.SaleToPOIResponse.NexoBlob, 'AAAA');
  });

  it('forwards an abort and answers it with 200 without a body; the payment gets its own response', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    const payment = paymentOf();
    const pending = send(tsn, 'sync', payment);
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
    const { PaymentResponse } = (await pending).body.SaleToPOIResponse;
    assert.equal(PaymentResponse.Response.ErrorCondition, 'Aborted');
  });

  // Spec: NEXO-14
  it('answers an asynchronous request at once, publishes the result as an event and returns it by ServiceID', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    const payment = paymentOf();
    const { ServiceID } = headerOf(payment);
    const accepted = await send(tsn, 'async', payment);
    assert.equal(accepted.status, 202, accepted.text);
    assert.deepEqual([accepted.body.tsn, accepted.body.serviceId], [tsn, ServiceID]);
    const path = String(accepted.headers['location']);
    const get = (wait = '') =>
      setup.organization.client.call('GET', path + wait, { token: setup.token });
    assert.equal((await get()).body.status, 'Waiting');
    const waited = get('&wait=20');
    line.send(paidOf(await heardBy(line)));
    const { body } = await waited;
    assert.deepEqual([body.status, body.result], ['Answered', 'Success']);
    assert.ok(body.response.SaleToPOIResponse.PaymentResponse);
    const event = await until(async () => {
      const { body: page } = await setup.organization.client.call(
        'GET',
        '/events/v1?types=retail.response',
        {
          token: setup.organization.acquirerToken,
        },
      );
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

  it('accepts a ServiceID once, also when several requests arrive in parallel', async () => {
    const { tsn, connect } = await setup.device();
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

  // Spec: NEXO-25
  it('reports an unknown outcome when the terminal disconnects during a payment, and refuses a repeated request', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    const payment = paymentOf();
    const pending = send(tsn, 'sync', payment);
    await heardBy(line);
    line.socket.terminate();
    const { status, body, headers } = await pending;
    assert.equal(status, 502);
    assert.deepEqual([body.code, body.outcome], ['device_disconnected', 'Unknown']);
    assert.match(String(headers['content-type']), /problem\+json/);
    assert.equal(body.SaleToPOIResponse, undefined);
    const { ServiceID } = headerOf(payment);
    const storedMessage = await call('GET', `/devices/${tsn}/messages/${ServiceID}?wait=5`);
    assert.deepEqual(
      [storedMessage.body.status, storedMessage.body.fault],
      ['Failed', 'device_disconnected'],
    );
    assert.equal(body.retryable, false, 'its ServiceID is used up');
    // The till repeats the message while the terminal is offline and after it is back; the first
    // one may have moved money.
    const repeat = async (how: 'sync' | 'async') => (await send(tsn, how, payment)).body;
    const offlineAnswers = [await repeat('sync'), await repeat('async')];
    await connect();
    for (const problem of [...offlineAnswers, await repeat('sync'), await repeat('async')]) {
      const { messageId } = storedMessage.body;
      assert.deepEqual(
        [
          problem.code,
          problem.outcome,
          problem.retryable,
          problem.message.messageId,
          problem.message.status,
        ],
        ['service_id_reused', 'Unknown', false, messageId, 'Failed'],
      );
      const { address } = problem.message;
      const response = await setup.organization.client.call('GET', address, { token: setup.token });
      assert.equal(response.body.messageId, messageId);
    }
  });

  it('refuses a message for an offline terminal, and accepts the same ServiceID again', async () => {
    const { tsn, connect } = await setup.device();
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

  // Spec: NEXO-28
  it('shares no terminal with another point of sale, by HTTP or by a socket', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    const pending = send(tsn, 'sync', paymentOf());
    const heard = await heardBy(line);
    const other = await call('POST', `/devices/${tsn}/sync?posId=p2`, { body: paymentOf() });
    assert.deepEqual([other.status, other.body.code], [409, 'device_claimed']);
    const { baseUrl } = setup.organization.settings;
    const address = `${baseUrl.replace(/^http/, 'ws')}${connectorPaths.posListener}`;
    const headers = { authorization: `Bearer ${setup.token}` };
    const socket = new WebSocket(address, { ca: setup.organization.ca, headers });
    const pos = lineOf(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    const claim = { type: 'claim', tsn, posId: 'p1' };
    pos.send({ ...claim, requestId: '1' });
    assert.equal((await pos.next())['error'].code, 'device_claimed');
    line.send(paidOf(heard));
    assert.equal((await pending).status, 200);
    pos.send({ ...claim, requestId: '2' });
    assert.equal((await pos.next())['type'], 'claimed');
    const refused = await send(tsn, 'sync', paymentOf());
    assert.equal(refused.body.code, 'device_claimed');
    socket.terminate();
  });

  it('reports an error when the terminal rejects the message', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    const pending = send(tsn, 'sync', paymentOf());
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
    const { status, body } = await pending;
    assert.deepEqual([status, body.code, body.outcome], [502, 'message_rejected', 'Unknown']);
  });

  it('refuses terminals of other merchants and organisations, and limits a point of sale to its store', async () => {
    const [ownDevice, neighbour, foreign] = [
      await setup.device(),
      await setup.device(),
      await setup.device(setup.organization.otherMerchant),
    ];
    const token = await setup.tillToken(ownDevice);
    const body = paymentOf();
    const sendAs = (tsn: string, as = token) =>
      setup.organization.client.call('POST', `/retail/v1/devices/${tsn}/sync`, { token: as, body });
    const codes = [ownDevice.tsn, neighbour.tsn, foreign.tsn, 'AXIUM_DX8000-99999999'];
    const responses = await Promise.all(codes.map((tsn) => sendAs(tsn)));
    assert.deepEqual(
      responses.map(({ status, body: problem }) => [status, problem.code]),
      [
        [409, 'device_offline'],
        [403, 'wrong_store'],
        [404, 'device_unknown'],
        [404, 'device_unknown'],
      ],
    );
    const otherOrganization = await createTestOrganization();
    const foreignToken = await otherOrganization.tokenFor({
      name: 'Till',
      entityType: 'tenant',
      entityId: otherOrganization.organizationId,
      roles: ['PointOfSaleTerminal'],
    });
    assert.equal((await sendAs(ownDevice.tsn, foreignToken)).body.code, 'device_unknown');
    const path = `/retail/v1/stores/${ownDevice.storeId}/devices`;
    assert.equal(
      (await setup.organization.client.call('GET', path, { token: foreignToken })).status,
      404,
    );
    assert.equal((await setup.organization.client.call('GET', path, { token })).status, 200);
    const other = `/retail/v1/stores/${neighbour.storeId}/devices`;
    assert.equal((await setup.organization.client.call('GET', other, { token })).status, 404);
    assert.equal((await sendAs(ownDevice.tsn, setup.organization.merchant.token)).status, 403);
    assert.equal((await sendAs(ownDevice.tsn, setup.token)).body.code, 'pos_id_required');
  });

  // Spec: NEXO-23
  it('hides earlier messages of a moved terminal from its new store, and shows them to the organisation', async () => {
    const ownDevice = await setup.device();
    const [beside, foreign] = [
      await setup.device(),
      await setup.device(setup.organization.otherMerchant),
    ];
    const line = await ownDevice.connect();
    const payment = paymentOf();
    const pending = send(ownDevice.tsn, 'sync', payment);
    line.send(paidOf(await heardBy(line)));
    assert.equal((await pending).status, 200);
    const path = `/devices/${ownDevice.tsn}/messages/${headerOf(payment)['ServiceID']}`;
    const read = (token: string) => call('GET', `${path}?wait=20`, { token });
    const first = await setup.tillToken(ownDevice);
    assert.equal((await read(first)).body.result, 'Success');
    let from = ownDevice;
    for (const to of [beside, foreign]) {
      await setup.move({ ...from, physicalDeviceId: ownDevice.physicalDeviceId }, to);
      from = to;
      const token = await setup.tillToken(to);
      const { status, body } = await read(token);
      assert.deepEqual([status, body.code], [404, 'message_not_found']);
      const again = await call('POST', `/devices/${ownDevice.tsn}/sync`, { token, body: payment });
      assert.equal(again.body.message, undefined, 'nor by a repetition');
      assert.notEqual((await read(first)).status, 200, 'the terminal is not there any more');
      assert.equal((await read(setup.token)).body.result, 'Success', 'the organisation sees both');
    }
  });

  it('returns the same error for terminals of other merchants and for unknown terminals, at every URL', async () => {
    const ownDevice = await setup.device();
    const foreign = await setup.device(setup.organization.otherMerchant);
    const token = await setup.tillToken(ownDevice);
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

  it('stores the response for a point of sale that disconnected, and sends the terminal no extra message', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    const abortController = new AbortController();
    const payment = paymentOf();
    const pending = send(tsn, 'sync', payment, { signal: abortController.signal });
    const broken = assert.rejects(pending);
    const heard = await heardBy(line);
    abortController.abort();
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

  it('finds a message whose header contains special characters, and refuses a message over the size limits', async () => {
    const { tsn, connect } = await setup.device();
    const line = await connect();
    const header = { ServiceID: "a/b%2F'?#", SaleID: `till ${'x'.repeat(123)}` };
    const accepted = await send(tsn, 'async', paymentOf(header));
    assert.equal(accepted.status, 202, accepted.text);
    const path = String(accepted.headers['location']);
    line.send(paidOf(await heardBy(line)));
    const response = await setup.organization.client.call('GET', `${path}&wait=20`, {
      token: setup.token,
    });
    assert.equal(response.status, 200, response.text);
    assert.deepEqual(
      [response.body.serviceId, response.body.saleId, response.body.status],
      [header.ServiceID, header.SaleID, 'Answered'],
    );
    const long = await send(tsn, 'sync', paymentOf({ ServiceID: 'x'.repeat(11) }));
    assert.deepEqual([long.status, long.body.code], [422, 'nexo_invalid']);
    const raw = JSON.stringify(paymentOf()).padEnd(1_100_000, ' ');
    assert.equal((await send(tsn, 'sync', {}, { raw })).status, 413);
  });

  it('refuses an invalid request before it contacts the terminal', async () => {
    const { tsn } = await setup.device();
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
