// The Cloud Connector from end to end: register, connect, claim, exchange messages, release.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import { decodeJwt } from 'jose';
import {
  type Client,
  handshakeErrorOf,
  startTestConnector,
  type TestConnector,
} from './test-connector.ts';

describe('the connector', () => {
  let setup: TestConnector;
  let till: Client;
  let token: string;

  before(async () => {
    setup = await startTestConnector();
    till = await setup.application();
    token = await setup.tokenOf(till);
  });
  after(() => setup.close());

  const credentials = () => ({ client_id: till.clientId, client_secret: till.clientSecret });

  // Spec: CC-2 CC-5 CC-7 VER-6 NEXO-9
  it('registers a device, closes the connection, and returns a connection URL and a token', async () => {
    const terminal = await setup.terminal();
    const { line, answer } = await setup.register({ tsn: terminal.tsn, ...credentials() });
    const { code, reason } = await line.closed();
    assert.deepEqual([code, reason], [1000, 'registered']);
    const { connectionUrl, token: jwt, ...rest } = answer;
    assert.deepEqual(rest, {
      type: 'registered',
      tsn: terminal.tsn,
      tokenType: 'Bearer',
      expiresIn: 120,
      heartbeatSeconds: 25,
      maxMessageBytes: 1_048_576,
    });
    assert.match(
      connectionUrl,
      /^wss:\/\/localhost:8443\/cloud-connector\/v1\/device-connections\/[A-Za-z0-9_-]{43}$/,
    );
    const { aud, sub, tsn, cid, jti, iat = 0, exp = 0 } = decodeJwt(jwt);
    assert.deepEqual(
      { aud, sub, tsn, cid, life: exp - iat },
      {
        aud: 'cloud-connector/device',
        sub: terminal.logicalDeviceId,
        tsn: terminal.tsn,
        cid: jti,
        life: 120,
      },
    );
  });

  // Spec: SVC-26 SVC-27 CC-10
  it('carries text as text and binary as binary, both ways and in order', async () => {
    const terminal = await setup.terminal();
    const device = await setup.connect(terminal, till);
    const pos = await setup.pos(token);
    const { line } = await setup.session(pos, { tsn: terminal.serialNumber, posId: 'p1' });
    for (let n = 0; n < 50; n += 1) line.send(n % 2 === 0 ? `text ${n}` : Buffer.from([n, 255]));
    for (let n = 0; n < 50; n += 1) {
      const { data, isBinary } = await device.raw();
      assert.equal(isBinary, n % 2 === 1);
      assert.deepEqual(data, n % 2 === 0 ? Buffer.from(`text ${n}`) : Buffer.from([n, 255]));
    }
    device.send('{"SaleToPOIResponse":{}}');
    assert.deepEqual(await line.raw(), {
      data: Buffer.from('{"SaleToPOIResponse":{}}'),
      isBinary: false,
    });
  });

  it('carries messages of each frame length unchanged, both ways and in order', async () => {
    const terminal = await setup.terminal();
    const device = await setup.connect(terminal, till);
    const pos = await setup.pos(token);
    const { line } = await setup.session(pos, { tsn: terminal.serialNumber, posId: 'p1' });
    const lengths = [0, 1, 125, 126, 4091, 4092, 8192, 65_535, 65_536, 512];
    for (const [from, to] of [
      [line, device],
      [device, line],
    ] as const) {
      for (const length of lengths) from.send(Buffer.alloc(length, length));
      for (const length of lengths) {
        const { data, isBinary } = await to.raw();
        assert.deepEqual([data, isBinary], [Buffer.alloc(length, length), true]);
      }
    }
  });

  // Spec: CC-11
  it('reports the status of a device, and notifies the point of sale of changes during a claim', async () => {
    const terminal = await setup.terminal();
    const pos = await setup.pos(token);
    const status = { type: 'status', requestId: 's', tsn: terminal.tsn };
    assert.deepEqual(await setup.ask(pos, status), {
      type: 'deviceStatus',
      requestId: 's',
      tsn: terminal.tsn,
      online: false,
      claimed: false,
    });
    const device = await setup.connect(terminal, till);
    const { online, lastSeenAt } = await setup.ask(pos, status);
    assert.equal(online, true);
    assert.match(lastSeenAt, /^\d{4}-.*Z$/);
    await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
    assert.equal((await setup.ask(pos, status))['claimed'], true);
    device.close(1000);
    for (;;) {
      const message = await pos.next();
      if (message['type'] === 'deviceStatus' && message['online'] === false) break;
    }
  });

  it('releases a device, closes its session, and allows a new claim', async () => {
    const terminal = await setup.terminal();
    await setup.connect(terminal, till);
    const pos = await setup.pos(token);
    const { line, claimed } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
    const { sessionId } = claimed;
    const released = await setup.ask(pos, { type: 'release', requestId: 'r', sessionId });
    assert.deepEqual(released, { type: 'released', requestId: 'r', sessionId });
    const { code, reason } = await line.closed();
    assert.equal(code, closeCodes.released);
    assert.match(reason, /^released:/);
    const again = await setup.ask(pos, { type: 'release', requestId: 'x', sessionId });
    assert.equal(again['error'].code, 'session_unknown');
    await setup.session(pos, { tsn: terminal.tsn, posId: 'another' });
  });

  // Spec: CC-9
  it('lets one of two points of sale win', async () => {
    const terminal = await setup.terminal();
    await setup.connect(terminal, till);
    const points = await Promise.all([setup.pos(token), setup.pos(token)]);
    const replies = await Promise.all(
      points.map((pos, n) =>
        setup.ask(pos, { type: 'claim', requestId: 'c', tsn: terminal.tsn, posId: `p${n}` }),
      ),
    );
    assert.deepEqual(replies.map(({ type }) => type).sort(), ['claimed', 'error']);
    const { error } = replies.find(({ type }) => type === 'error') ?? {};
    assert.equal(error.code, 'device_claimed');
    assert.ok(error.retryAfterSeconds > 0);
  });

  it('answers plain HTTP there with 426', async () => {
    const { status, headers, body } = await setup.api(connectorPaths.posListener, { token });
    assert.equal(status, 426);
    assert.equal(headers['upgrade'], 'websocket');
    assert.equal(body.code, 'upgrade_required');
  });

  it('refuses a handshake without a token as HTTP', async () => {
    const { status, headers, body } = await handshakeErrorOf(
      setup.open(connectorPaths.posListener),
    );
    assert.equal(status, 401);
    assert.match(String(headers['www-authenticate']), /^Bearer /);
    assert.equal(body['code'], 'token_missing');
  });
});
