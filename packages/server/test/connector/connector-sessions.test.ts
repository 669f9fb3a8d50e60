// Whole run: much is made, or waited for, before it shows.
// How sessions continue, change owners and end, and how the connector handles hostile peers.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import { BackplaneError } from '../../src/connector/nodes/backplane.ts';
import type { TestTerminal } from '../support/provisioning/test-devices.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  type Client,
  handshakeErrorOf,
  type Json,
  type Line,
  startTestConnector,
  type TestConnector,
} from './test-connector.ts';

type Ready = { terminal: TestTerminal; device: Line; pos: Line; line: Line; claimed: Json };

/** A session that is open at both ends. */
async function readyAt(setup: TestConnector, till: Client): Promise<Ready> {
  const terminal = await setup.terminal();
  const device = await setup.connect(terminal, till);
  const pos = await setup.pos(await setup.tokenOf(till));
  return {
    terminal,
    device,
    pos,
    ...(await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' })),
  };
}

describe('sessions of the connector', () => {
  let setup: TestConnector;
  let till: Client;

  before(async () => {
    setup = await startTestConnector();
    till = await setup.application();
  });
  after(() => setup.close());

  const ready = () => readyAt(setup, till);

  const claim = (pos: Line, { tsn }: TestTerminal, more: Json = {}) =>
    setup.ask(pos, { type: 'claim', requestId: 'c', tsn, posId: 'p1', ...more });

  async function metric(text: string): Promise<number> {
    const all = await setup.metrics.registry.metrics();
    const metricLine = all.split('\n').find((row) => row.startsWith(text));
    return Number(metricLine?.split(' ').at(-1) ?? 0);
  }

  /** Waits until a metric stops growing and returns its value. */
  async function stalled(name: string): Promise<number> {
    let [last, looks] = [-1, 0];
    await eventually('no more is taken', async () => {
      const now = await metric(name);
      looks = now === last ? looks + 1 : 0;
      last = now;
      return looks === 20;
    });
    return last;
  }

  async function talks({ line, device }: { line: Line; device: Line }): Promise<void> {
    line.send('?');
    assert.equal((await device.raw()).data.toString(), '?');
    device.send('!');
    assert.equal((await line.raw()).data.toString(), '!');
  }

  describe('after a break', () => {
    // Spec: NEXO-1 NEXO-13
    it('the same owner resumes the session and first receives the messages that the device sent during the break', async () => {
      const { terminal, device, pos, line, claimed } = await ready();
      line.socket.terminate();
      await eventually('the break is seen', async () => {
        const { error } = await claim(pos, terminal, { posId: 'p2' });
        return error?.code === 'device_claimed' && error.retryAfterSeconds === 30;
      });
      for (const text of ['one', 'two']) device.send(text);
      device.send(Buffer.from([3]));
      await setup.ask(pos, { type: 'status', requestId: 's', tsn: terminal.tsn });
      const { resumeToken } = claimed;
      const resumed = await claim(pos, terminal, { resumeToken });
      assert.equal(resumed['resumed'], true);
      device.send('four');
      const again = await setup.open(new URL(resumed['sessionUrl']).pathname);
      const heard = [];
      for (let n = 0; n < 4; n += 1) heard.push(await again.raw());
      assert.deepEqual(
        heard.map(({ data, isBinary }) => (isBinary ? [...data] : data.toString())),
        ['one', 'two', [3], 'four'],
      );
      await talks({ line: again, device });
    });

    // Spec: NEXO-17 NEXO-32
    it('the point of sale resumes the session although its connection breaks again before it has used the session address', async () => {
      const { terminal, device, pos, line, claimed } = await ready();
      line.socket.terminate();
      await eventually('the break is seen', async () => {
        const { error } = await claim(pos, terminal, { posId: 'p2' });
        return error?.retryAfterSeconds === 30;
      });
      device.send('one');
      const first = await claim(pos, terminal, { resumeToken: claimed['resumeToken'] });
      assert.equal(first['resumed'], true);
      device.send('two');
      // The network breaks again before the session address was used; a new control connection
      // follows.
      pos.socket.terminate();
      const other = await setup.pos(await setup.tokenOf(till));
      const old = await claim(other, terminal, { resumeToken: claimed['resumeToken'] });
      assert.equal(old['error'].code, 'device_claimed', 'the token before is worth nothing');
      const second = await claim(other, terminal, { resumeToken: first['resumeToken'] });
      assert.equal(second['resumed'], true, JSON.stringify(second));
      assert.equal(
        (await handshakeErrorOf(setup.open(new URL(first['sessionUrl']).pathname))).status,
        410,
      );
      const again = await setup.open(new URL(second['sessionUrl']).pathname);
      device.send('three');
      const heard = [];
      for (let n = 0; n < 3; n += 1) heard.push((await again.raw()).data.toString());
      assert.deepEqual(heard, ['one', 'two', 'three']);
      await talks({ line: again, device });
    });

    it('the connector holds 32 messages, drops the rest, and does not deliver them to another owner', async () => {
      const { terminal, device, pos, line } = await ready();
      line.socket.terminate();
      await eventually('the break is seen', async () => {
        const { error } = await claim(pos, terminal, { posId: 'p2' });
        return error?.retryAfterSeconds === 30;
      });
      const before = await metric('switchyard_connector_messages_dropped_total');
      for (let n = 0; n < 40; n += 1) device.send(`held ${n}`);
      await eventually(
        'eight are dropped',
        async () => (await metric('switchyard_connector_messages_dropped_total')) === before + 8,
      );
      setup.clock.advance(30_000);
      await eventually('it is free', async () => {
        const status = { type: 'status', requestId: 's', tsn: terminal.tsn };
        return (await setup.ask(pos, status))['claimed'] === false;
      });
      const other = await setup.session(pos, { tsn: terminal.tsn, posId: 'p2' });
      await talks({ line: other.line, device });
      assert.equal(await metric('switchyard_connector_messages_dropped_total'), before + 40);
    });

    it('ends at once where the point of sale closes in good order', async () => {
      const { terminal, device, pos, line } = await ready();
      line.close(1000);
      await line.closed();
      await eventually('another one gets it', async () => {
        const answer = await claim(pos, terminal, { posId: 'p2' });
        return answer['type'] === 'claimed';
      });
      device.close();
    });

    it('the connector closes the session at once when the device is lost, and reserves the device for the point of sale', async () => {
      const { terminal, device, pos, line, claimed } = await ready();
      device.socket.terminate();
      assert.equal((await line.closed()).code, closeCodes.deviceDisconnected);
      assert.equal((await claim(pos, terminal))['error'].code, 'device_offline');
      const reconnected = await setup.connect(terminal, till);
      const other = await claim(pos, terminal, { posId: 'p2' });
      assert.equal(other['error'].code, 'device_claimed');
      const { resumeToken } = claimed;
      const resumed = await claim(pos, terminal, { resumeToken });
      const again = await setup.open(new URL(resumed['sessionUrl']).pathname);
      await talks({ line: again, device: reconnected });
    });
  });

  describe('claimed by a point of sale that did not receive the response', () => {
    // Spec: NEXO-16
    it('the point of sale can claim the device again when the session address was unused for five seconds', async () => {
      const terminal = await setup.terminal();
      const device = await setup.connect(terminal, till);
      const first = await setup.pos(await setup.tokenOf(till));
      const unheard = await claim(first, terminal);
      assert.equal(unheard['type'], 'claimed');
      // The network breaks before the response arrives, so the point of sale does not know the
      // session.
      first.socket.terminate();
      const pos = await setup.pos(await setup.tokenOf(till));
      setup.clock.advance(2_000);
      const early = await claim(pos, terminal);
      assert.deepEqual(
        [early['error']?.code, early['error']?.retryAfterSeconds],
        ['device_claimed', 3],
      );
      setup.clock.advance(3_000);
      const other = await claim(pos, terminal, { posId: 'p2' });
      assert.deepEqual(
        [other['error']?.code, other['error']?.retryAfterSeconds],
        ['device_claimed', 55],
      );
      const { line, claimed } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
      assert.equal(claimed['resumed'], undefined);
      await talks({ line, device });
      assert.equal(
        (await handshakeErrorOf(setup.open(new URL(unheard['sessionUrl']).pathname))).status,
        410,
      );
    });
  });

  describe('taken over', () => {
    // Spec: NEXO-2
    it('by the same owner once no data flows, or by force, which is audited', async () => {
      const { terminal, device, pos, line } = await ready();
      const refused = await claim(pos, terminal, { takeOver: true });
      assert.equal(refused['error'].code, 'takeover_refused');
      assert.equal(refused['error'].retryAfterSeconds, 150);
      const forced = await setup.session(pos, {
        tsn: terminal.tsn,
        posId: 'p1',
        takeOver: true,
        force: true,
      });
      assert.equal((await line.closed()).code, closeCodes.superseded);
      await talks({ line: forced.line, device });
      const [record] = await setup.database.query<{ entity_id: string; actor_client_id: string }>(
        `SELECT entity_id, actor_client_id FROM audit_records
         WHERE organization_id = $1 AND action = 'terminalSession.takenOver'`,
        [setup.organizationId],
      );
      assert.deepEqual(
        [record?.entity_id, record?.actor_client_id],
        [terminal.logicalDeviceId, till.clientId],
      );
      setup.clock.advance(20_000);
      setup.clock.advance(130_000);
      const quiet = await setup.session(pos, { tsn: terminal.tsn, posId: 'p1', takeOver: true });
      assert.equal((await forced.line.closed()).code, closeCodes.superseded);
      await talks({ line: quiet.line, device });
    });
  });

  describe('released', () => {
    const release = (pos: Line, claimed: Json, more: Json = {}) =>
      setup.ask(pos, {
        type: 'release',
        requestId: 'r',
        sessionId: claimed['sessionId'],
        ...more,
      });

    // Spec: NEXO-18
    it('a point of sale can repeat the release when the node of the device was unreachable', async () => {
      const { pos, line, claimed } = await ready();
      const { backplane } = setup.connector;
      const { request } = backplane;
      backplane.request = () => Promise.reject(new BackplaneError('NATS is away'));
      const answer = await release(pos, claimed).finally(() => {
        backplane.request = request;
      });
      assert.deepEqual(
        [answer['error'].code, answer['error'].retryable],
        ['node_unreachable', true],
      );
      assert.equal((await release(pos, claimed))['type'], 'released');
      assert.equal((await line.closed()).code, closeCodes.released);
      assert.equal((await release(pos, claimed))['error'].code, 'session_unknown');
    });

    // Spec: NEXO-18
    it('over another control connection, by its owner alone', async () => {
      const { pos, line, terminal, claimed } = await ready();
      pos.socket.terminate();
      await pos.closed();
      const again = await setup.pos(await setup.tokenOf(till));
      const { tsn } = terminal;
      const others = await setup.pos(await setup.tokenOf(await setup.application()));
      for (const [who, more] of [
        [again, {}],
        [again, { tsn, posId: 'p2' }],
        [others, { tsn, posId: 'p1' }],
      ] as const) {
        const { error } = await release(who, claimed, more);
        assert.equal(error?.code, 'session_unknown');
      }
      const unnamed = await release(again, claimed, { tsn });
      assert.equal(unnamed['error'].code, 'pos_id_required');
      assert.equal(line.socket.readyState, line.socket.OPEN);
      assert.equal((await release(again, claimed, { tsn, posId: 'p1' }))['type'], 'released');
      assert.equal((await line.closed()).code, closeCodes.released);
    });
  });

  // Spec: NEXO-15
  it('end with their token though their control connections are gone, and not with one that was renewed', async () => {
    const client = await setup.application();
    const { clientId: client_id, clientSecret: client_secret } = client;
    const revoke = async (token: string) => {
      const path = `/auth/realms/${setup.userDomainId}/protocol/openid-connect/revoke`;
      const { status } = await setup.api(path, { form: { token, client_id, client_secret } });
      assert.equal(status, 200);
    };
    const first = await setup.tokenOf(client);
    const open = async (posId: string) => {
      const { tsn } = await setup.terminal();
      const device = await setup.connect({ tsn }, till);
      const pos = await setup.pos(first);
      return { device, pos, ...(await setup.session(pos, { tsn, posId })) };
    };
    const [gone, renewed] = [await open('p1'), await open('p2')];
    gone.pos.close();
    await gone.pos.closed();
    await talks(gone);
    const second = await setup.tokenOf(client);
    const answer = await setup.ask(renewed.pos, { type: 'renewToken', token: second });
    assert.equal(answer['type'], 'tokenRenewed');
    await revoke(first);
    assert.equal((await gone.line.closed()).code, closeCodes.unauthorized);
    await talks(renewed);
    renewed.pos.close();
    await renewed.pos.closed();
    await revoke(second);
    assert.equal((await renewed.line.closed()).code, closeCodes.unauthorized);
  });

  // Spec: NEXO-15
  it('go on by a renewed token though the word of it was lost once', async (t) => {
    const { backplane } = setup.connector;
    const { publish } = backplane;
    let renewals = 0;
    backplane.publish = (topic, message) => {
      if (message['kind'] === 'renewed') renewals += 1;
      if (message['kind'] !== 'renewed' || renewals > 1) publish(topic, message);
    };
    t.after(() => {
      backplane.publish = publish;
    });
    const client = await setup.application();
    const first = await setup.tokenOf(client);
    const terminal = await setup.terminal();
    const device = await setup.connect(terminal, till);
    const pos = await setup.pos(first);
    const { line } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
    await setup.ask(pos, {
      type: 'renewToken',
      requestId: 'n',
      token: await setup.tokenOf(client),
    });
    await eventually('another renewal', async () => renewals > 1);
    const path = `/auth/realms/${setup.userDomainId}/protocol/openid-connect/revoke`;
    const { clientId: client_id, clientSecret: client_secret } = client;
    const form = { token: first, client_id, client_secret };
    assert.equal((await setup.api(path, { form })).status, 200);
    const before = renewals;
    await eventually('it is looked at', async () => renewals > before + 3);
    await talks({ line, device });
  });

  describe('at their end', () => {
    it('session_expired: an hour without data; data puts it off', async () => {
      const { line, device } = await ready();
      setup.clock.advance(3_500_000);
      await talks({ line, device });
      setup.clock.advance(3_500_000);
      await talks({ line, device });
      setup.clock.advance(3_600_000);
      assert.equal((await line.closed()).code, closeCodes.sessionExpired);
      assert.equal(device.socket.readyState, device.socket.OPEN);
    });

    it('the connector disconnects a peer that answers no ping, and closes the session on the other side', async () => {
      const terminal = await setup.terminal();
      const { tsn } = terminal;
      const { clientId: client_id, clientSecret: client_secret } = till;
      const { answer } = await setup.register({ tsn, client_id, client_secret });
      const path = new URL(answer['connectionUrl']).pathname;
      const silent = { token: answer['token'], autoPong: false };
      const device = await setup.open(path, silent);
      const pos = await setup.pos(await setup.tokenOf(till));
      const { line } = await setup.session(pos, { tsn, posId: 'p1' });
      const pinged = () => new Promise((resolve) => device.socket.once('ping', resolve));
      for (let n = 0; n < 2; n += 1) {
        const heard = pinged();
        setup.clock.advance(25_000);
        await heard;
      }
      setup.clock.advance(25_000);
      assert.equal((await device.closed()).code, 1006);
      assert.equal((await line.closed()).code, closeCodes.deviceDisconnected);
    });
  });

  describe('with peers that mean no good', () => {
    it('1009: a message that is too long, on either side and on the control connection', async () => {
      const { line, pos } = await ready();
      line.send(Buffer.alloc(1_048_577));
      assert.equal((await line.closed()).code, 1009);
      pos.send('x'.repeat(5000));
      assert.equal((await pos.closed()).code, 1009);
      const other = await ready();
      other.device.send(Buffer.alloc(1_048_577));
      assert.equal((await other.device.closed()).code, 1009);
      assert.equal((await other.line.closed()).code, closeCodes.deviceDisconnected);
    });

    it('passes the longest message there may be', async () => {
      const { line, device } = await ready();
      const most = Buffer.alloc(1_048_576, 7);
      line.send(most);
      assert.ok((await device.raw()).data.equals(most));
    });

    it('1007: a text that is no UTF-8', async () => {
      const { line, device } = await ready();
      line.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
      assert.equal((await line.closed()).code, 1007);
      assert.equal(device.socket.readyState, device.socket.OPEN);
    });

    it('1002: the connector closes a connection that sends unmasked frames, reserved frame types or reserved bits', async () => {
      for (const frame of [
        [0x81, 0x01, 0x41],
        [0x83, 0x80, 0, 0, 0, 0],
        [0xc1, 0x80, 0, 0, 0, 0],
      ]) {
        const { line, device } = await ready();
        const { _socket: raw } = line.socket as unknown as { _socket: NodeJS.WritableStream };
        raw.write(Buffer.from(frame));
        assert.equal((await line.closed()).code, 1002);
        assert.equal(device.socket.readyState, device.socket.OPEN);
      }
    });

    it('the connector slows down the sender while the reader does not read, then disconnects the reader', async () => {
      const { line, device } = await ready();
      const { _socket: raw } = line.socket as unknown as {
        _socket: { pause(): void; resume(): void };
      };
      raw.pause();
      const passed = 'switchyard_connector_bytes_total{to="pos"}';
      const before = await metric(passed);
      for (let n = 0; n < 400; n += 1) device.send(Buffer.alloc(65_536));
      const acceptedBytes = (await stalled(passed)) - before;
      assert.ok(
        acceptedBytes > 0 && acceptedBytes < 16_000_000,
        `${acceptedBytes} bytes were taken`,
      );
      const sessions = 'switchyard_connector_sessions';
      const open = await metric(sessions);
      setup.clock.advance(10_000);
      await eventually('it is given up', async () => (await metric(sessions)) < open);
      raw.resume();
      assert.equal((await line.closed()).code, closeCodes.slowConsumer);
      assert.equal(device.socket.readyState, device.socket.OPEN);
    });

    it('a slow reader that continues to read receives every message', async () => {
      const { line, device } = await ready();
      const { _socket: raw } = line.socket as unknown as {
        _socket: { pause(): void; resume(): void };
      };
      raw.pause();
      for (let n = 0; n < 200; n += 1) device.send(Buffer.alloc(65_536, n));
      await stalled('switchyard_connector_bytes_total{to="pos"}');
      raw.resume();
      for (let n = 0; n < 200; n += 1) assert.equal((await line.raw()).data[0], n);
    });

    it('the connector refuses HTTP upgrade requests that are not valid WebSocket handshakes', async () => {
      const token = await setup.tokenOf(till);
      const sendUpgrade = (lines: readonly string[]) =>
        new Promise<string>((resolve, reject) => {
          const socket = connect({
            port: setup.apiPort,
            host: '127.0.0.1',
            ca: setup.ca,
            checkServerIdentity: () => undefined,
          });
          let heard = '';
          socket.on('data', (part) => {
            heard += part.toString();
          });
          socket.on('error', reject);
          socket.on('close', () => resolve(heard));
          socket.write(
            [
              `GET ${connectorPaths.posListener} HTTP/1.1`,
              'Host: localhost',
              'Connection: Upgrade',
              'Upgrade: websocket',
              `Authorization: Bearer ${token}`,
              ...lines,
              '',
              '',
            ].join('\r\n'),
          );
        });
      const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
      assert.match(
        await sendUpgrade([key, 'Sec-WebSocket-Version: 8']),
        /^HTTP\/1.1 426 .*\r\nSec-WebSocket-Version: 13/s,
      );
      assert.match(
        await sendUpgrade(['Sec-WebSocket-Version: 13']),
        /^HTTP\/1.1 400 .*"header_invalid"/s,
      );
      assert.match(
        await sendUpgrade([key, 'Sec-WebSocket-Version: 13', 'Authorization: Bearer x']),
        /^HTTP\/1.1 401 .*WWW-Authenticate/s,
      );
    });

    it('the connector writes no session identifier, resume token or client secret to the log', async () => {
      const { claimed } = await ready();
      const all = setup.logged.join('');
      for (const secret of [claimed['resumeToken'], till.clientSecret, claimed['sessionId']]) {
        assert.ok(!all.includes(secret));
      }
    });
  });
});

// Spec: NEXO-15
it('sessions end with the key of their token though their control connections are gone', async (t) => {
  const setup = await startTestConnector();
  t.after(() => setup.close());
  const { device, pos, line } = await readyAt(setup, await setup.application());
  pos.close();
  await pos.closed();
  line.send('?');
  assert.equal((await device.raw()).data.toString(), '?');
  await setup.identity.signingKeys.replaceAtOnce(setup.userDomainId);
  assert.equal((await line.closed()).code, closeCodes.unauthorized);
});

describe('a connector that is full, or stops', () => {
  it('rate_limited: with Retry-After, as HTTP', async (t) => {
    const setup = await startTestConnector({ settings: { connectorConnections: 2 } });
    t.after(() => setup.close());
    const token = await setup.tokenOf(await setup.application());
    await setup.pos(token);
    await setup.pos(token);
    const { status, headers, body } = await handshakeErrorOf(setup.pos(token));
    assert.deepEqual([status, body['code']], [429, 'rate_limited']);
    assert.equal(headers['retry-after'], '5');
  });

  it('restarting: the connector closes every connection with code 1012, and the device is offline afterwards', async (t) => {
    const setup = await startTestConnector();
    t.after(() => setup.close());
    const { terminal, device, pos, line } = await readyAt(setup, await setup.application());
    const presence = async () =>
      (await setup.connector.presence.find(setup.organizationId, [terminal.physicalDeviceId])).get(
        terminal.physicalDeviceId,
      );
    assert.equal((await presence())?.isOnline, true);
    await setup.connector.stop();
    assert.equal((await device.closed()).code, closeCodes.restarting);
    assert.equal((await pos.closed()).code, closeCodes.restarting);
    assert.equal((await line.closed()).code, closeCodes.restarting);
    assert.equal((await presence())?.isOnline, false);
  });

  it('the connector requires the bearer token again on the session when this is configured', async (t) => {
    const setup = await startTestConnector({ settings: { connectorSessionAuth: 'bearer' } });
    t.after(() => setup.close());
    const till = await setup.application();
    const token = await setup.tokenOf(till);
    const terminal = await setup.terminal();
    await setup.connect(terminal, till);
    const pos = await setup.pos(token);
    const claimed = await setup.ask(pos, {
      type: 'claim',
      requestId: 'c',
      tsn: terminal.tsn,
      posId: 'p1',
    });
    const path = new URL(claimed['sessionUrl']).pathname;
    assert.equal((await handshakeErrorOf(setup.open(path))).status, 401);
    await setup.open(path, { token });
  });
});
