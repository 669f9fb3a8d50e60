// Whole run: much is made, or waited for, before it shows.
// Hostile or faulty peers: floods, thousands of frames, and messages at the wrong place or time.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import type { TestTerminal } from '../support/provisioning/test-devices.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { createForeignTerminal } from './second-organization.ts';
import {
  type Client,
  handshakeErrorOf,
  type Json,
  type Line,
  startTestConnector,
  type TestConnector,
} from './test-connector.ts';

const hour = 3_600_000;
type Raw = NodeJS.WritableStream & { pause(): void; resume(): void; writableLength: number };
const rawOf = ({ socket }: Line): Raw => (socket as unknown as { _socket: Raw })._socket;

/** A client frame with a mask of zeros. */
function frame(first: number, payload: Buffer = Buffer.of()): Buffer {
  assert.ok(payload.length <= 125);
  return Buffer.concat([Buffer.of(first, 0x80 | payload.length, 0, 0, 0, 0), payload]);
}

describe('peers of the connector that mean no good', () => {
  let setup: TestConnector;
  let till: Client;
  before(async () => {
    setup = await startTestConnector({ times: { idleMs: 100 * hour } });
    till = await setup.application();
  });
  after(() => setup.close());

  type Ready = { terminal: TestTerminal; device: Line; pos: Line; line: Line; claimed: Json };
  async function ready(): Promise<Ready> {
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
  async function metric(text: string): Promise<number> {
    const all = await setup.metrics.registry.metrics();
    const metricLine = all.split('\n').find((row) => row.startsWith(text));
    return Number(metricLine?.split(' ').at(-1) ?? 0);
  }
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
  async function talks({ line, device }: Pick<Ready, 'line' | 'device'>, word: string) {
    line.send(word);
    assert.equal((await device.raw()).data.toString(), word);
    device.send(`${word}!`);
    assert.equal((await line.raw()).data.toString(), `${word}!`);
  }

  describe('by their frames', () => {
    // Spec: NEXO-7
    it('a flood of pings closes the connection, also at the listener for unregistered devices', async () => {
      const pings = Buffer.concat(Array.from({ length: 1500 }, () => frame(0x89)));
      const { line, device } = await ready();
      const unknown = await setup.open(connectorPaths.deviceListener);
      for (const flooding of [line, unknown]) {
        rawOf(flooding).write(pings);
        assert.equal((await flooding.closed()).code, closeCodes.rateLimited);
      }
      assert.equal(device.socket.readyState, device.socket.OPEN);
    });

    it('pings of a peer that does not read leave nothing in our memory', async () => {
      const { device, line } = await ready();
      const raw = rawOf(line);
      raw.pause();
      const payload = Buffer.alloc(125, 'p');
      for (let n = 0; n < 900; n += 1) raw.write(frame(0x89, payload));
      await eventually('the pings are gone', () => raw.writableLength === 0);
      raw.resume();
      await talks({ line, device }, 'still here');
    });

    it('a few pings are answered, as they were', async () => {
      const { line } = await ready();
      const answers: string[] = [];
      line.socket.on('pong', (data) => answers.push(data.toString()));
      for (const word of ['one', 'two', 'three']) line.socket.ping(word);
      await eventually('the answers', () => answers.length === 3);
      assert.deepEqual(answers, ['one', 'two', 'three']);
    });

    it('a message in fragments passes as one, and one in thousands does not', async () => {
      const { line, device } = await ready();
      const raw = rawOf(line);
      const parts = ['a', 'mess', 'age', '', ' in parts'];
      parts.forEach((part, at) => {
        const first = (at === 0 ? 1 : 0) | (at === parts.length - 1 ? 0x80 : 0);
        raw.write(frame(first, Buffer.from(part)));
        // Control frames may come between fragments.
        raw.write(frame(0x89, Buffer.from('between')));
      });
      const heard = await device.raw();
      assert.deepEqual([heard.data.toString(), heard.isBinary], ['amessage in parts', false]);
      const many = Array.from({ length: 1100 }, (_, at) =>
        frame(at === 0 ? 1 : 0, Buffer.from('x')),
      );
      raw.write(Buffer.concat(many));
      assert.equal((await line.closed()).code, 1008);
      assert.equal(device.socket.readyState, device.socket.OPEN);
    });

    it('the server closes a connection whose text message ends inside a UTF-8 character, also in fragments', async () => {
      const { line, device } = await ready();
      const raw = rawOf(line);
      const euro = Buffer.from('€');
      raw.write(frame(0x01, euro.subarray(0, 2)));
      raw.write(frame(0x80, euro.subarray(2)));
      assert.equal((await device.raw()).data.toString(), '€');
      raw.write(frame(0x01, euro.subarray(0, 2)));
      raw.write(frame(0x80, Buffer.from('x')));
      assert.equal((await line.closed()).code, 1007);
      assert.equal(device.socket.readyState, device.socket.OPEN);
    });

    it('the server closes a connection that sends its registration one byte at a time, after ten seconds', async () => {
      const unknown = await setup.open(connectorPaths.deviceListener);
      const raw = rawOf(unknown);
      const whole = frame(0x81, Buffer.from('{"tsn":"AXIUM_DX8000-10000001"}'));
      for (const byte of whole.subarray(0, 8)) raw.write(Buffer.of(byte));
      // Pings between the fragments of a message do not extend the time limit.
      const fragments = await setup.open(connectorPaths.deviceListener);
      rawOf(fragments).write(Buffer.concat([frame(0x01, Buffer.from('{')), frame(0x89)]));
      await once(fragments.socket, 'pong');
      setup.clock.advance(10_000);
      for (const slow of [unknown, fragments]) {
        assert.equal((await slow.closed()).code, closeCodes.timeout);
      }
    });

    it('random bytes end a connection and nothing else', async () => {
      const { line, device } = await ready();
      for (let n = 0; n < 20; n += 1) {
        const unknown = await setup.open(connectorPaths.deviceListener);
        // The first byte is invalid in every client frame.
        rawOf(unknown).write(Buffer.concat([Buffer.of(0xff), randomBytes(200)]));
        assert.ok([1002, 1006, 1007, 1009].includes((await unknown.closed()).code));
      }
      await talks({ line, device }, 'untouched');
    });

    it('two hundred thousand empty messages all arrive once the point of sale reads them', async () => {
      const { line, device } = await ready();
      rawOf(line).pause();
      const thousand = Buffer.concat(Array.from({ length: 1000 }, () => frame(0x82)));
      for (let n = 0; n < 200; n += 1) rawOf(device).write(thousand);
      await stalled('switchyard_connector_messages_total{to="pos"}');
      rawOf(line).resume();
      for (let heard = 0; heard < 200_000; heard += 1) await line.raw();
      device.send('after all');
      assert.equal((await line.raw()).data.toString(), 'after all');
    });

    it('a device that does not read slows its point of sale, and the server disconnects the device after ten seconds', async () => {
      const { terminal, line, device, pos } = await ready();
      rawOf(device).pause();
      const passed = 'switchyard_connector_bytes_total{to="device"}';
      const before_ = await metric(passed);
      for (let n = 0; n < 400; n += 1) line.send(Buffer.alloc(65_536));
      const acceptedBytes = (await stalled(passed)) - before_;
      assert.ok(
        acceptedBytes > 0 && acceptedBytes < 16_000_000,
        `${acceptedBytes} bytes were taken`,
      );
      setup.clock.advance(10_000);
      assert.equal((await line.closed()).code, closeCodes.deviceDisconnected);
      rawOf(device).resume();
      assert.equal((await device.closed()).code, closeCodes.slowConsumer);
      const status = await setup.ask(pos, { type: 'status', requestId: 's', tsn: terminal.tsn });
      assert.equal(status['online'], false);
    });
  });

  describe('by their words', () => {
    it('thousands of claims of terminals that do not exist are cut off early', async () => {
      const pos = await setup.pos(await setup.tokenOf(till));
      for (let n = 0; n < 5000; n += 1) {
        const tsn = `AXIUM_DX8000-${10_000_000 + n}`;
        pos.send({ type: 'claim', requestId: String(n), tsn, posId: 'p' });
      }
      assert.equal((await pos.closed()).code, closeCodes.rateLimited);
      await talks(await ready(), 'others go on');
    });

    it('an address of a session is worth nothing to another tenant, nor afterwards to its own', async () => {
      const otherSetup = await startTestConnector({ settings: { connectorSessionAuth: 'bearer' } });
      try {
        const client = await otherSetup.application();
        const token = await otherSetup.tokenOf(client);
        const foreignTerminal = await createForeignTerminal(otherSetup);
        const terminal = await otherSetup.terminal();
        const device = await otherSetup.connect(terminal, client);
        const pos = await otherSetup.pos(token);
        const claimed = await otherSetup.ask(pos, {
          type: 'claim',
          requestId: 'c',
          tsn: terminal.tsn,
          posId: 'p',
        });
        const path = new URL(claimed['sessionUrl']).pathname;
        const theirToken = await otherSetup.tokenOf(
          foreignTerminal.client,
          foreignTerminal.userDomainId,
        );
        const other = await handshakeErrorOf(otherSetup.open(path, { token: theirToken }));
        assert.deepEqual([other.status, other.body['code']], [410, 'session_gone']);
        const line = await otherSetup.open(path, { token });
        line.send('mine');
        assert.equal((await device.raw()).data.toString(), 'mine');
        assert.equal((await handshakeErrorOf(otherSetup.open(path, { token }))).status, 410);
      } finally {
        await otherSetup.close();
      }
    });

    // Spec: LIST-5
    it('requests for unknown session addresses do not keep a point of sale from its claimed session', async (t) => {
      const unauthenticated = { windowSeconds: 3600, limit: 2 };
      const setup = await startTestConnector({ rateLimits: { unauthenticated } });
      t.after(() => setup.close());
      const till = await setup.application();
      const { tsn } = await setup.terminal();
      await setup.connect({ tsn }, till);
      const pos = await setup.pos(await setup.tokenOf(till));
      const openUnknownSession = () =>
        handshakeErrorOf(setup.open(`${connectorPaths.sessions}/${'a'.repeat(43)}`));
      for (const status of [410, 410, 429])
        assert.equal((await openUnknownSession()).status, status);
      const { line } = await setup.session(pos, { tsn, posId: 'p1' });
      assert.equal(line.socket.readyState, line.socket.OPEN);
    });

    it('unregistered connections can use only a part of the connection limit', async (t) => {
      const full = await startTestConnector({ settings: { connectorConnections: 12 } });
      t.after(() => full.close());
      const client = await full.application();
      const terminal = await full.terminal();
      const idle = [1, 2, 3].map(() => full.open(connectorPaths.deviceListener));
      const lines = await Promise.all(idle);
      const { status, headers, body } = await handshakeErrorOf(
        full.open(connectorPaths.deviceListener),
      );
      assert.deepEqual([status, body['code'], headers['retry-after']], [429, 'rate_limited', '5']);
      const pos = await full.pos(await full.tokenOf(client));
      assert.equal(pos.socket.readyState, pos.socket.OPEN, 'a client with a token connects');
      lines[0]?.socket.terminate();
      let device: Line | undefined;
      await eventually('room', async () => {
        device = await full.connect(terminal, client).catch(() => undefined);
        return device !== undefined;
      });
      device?.close();
    });
  });

  describe('at the listener of devices', () => {
    it('a device connects only with its own certificate, credentials and token', async () => {
      const terminal = await setup.terminal();
      const { cert, key } = await setup.certify(terminal.physicalDeviceId);
      const another = await setup.certify((await setup.terminal()).physicalDeviceId);
      const port = setup.devicePort;
      const credentials = { client_id: till.clientId, client_secret: till.clientSecret };
      const wrong = { ...credentials, client_secret: 'wrong' };
      const plain = await setup.register({ tsn: terminal.tsn }, { cert, key, port });
      assert.equal(plain.answer['type'], 'registered', JSON.stringify(plain.answer));
      const refusedRegistration = await setup.register(
        { tsn: terminal.tsn, ...wrong },
        { cert, key, port },
      );
      assert.equal(refusedRegistration.answer['error'].code, 'unauthorized');
      const { answer } = await setup.register(
        { tsn: terminal.tsn, ...credentials },
        { cert, key, port },
      );
      assert.equal(answer['type'], 'registered', JSON.stringify(answer));
      const url = new URL(answer['connectionUrl']);
      assert.equal(url.origin, 'wss://localhost:9021', 'the listener that requires certificates');
      const token = answer['token'];
      for (const clientCertificate of [{}, { cert: another.cert, key: another.key }]) {
        const { status, body } = await handshakeErrorOf(
          setup.open(url.pathname, { token, port, ...clientCertificate }),
        );
        assert.deepEqual([status, body['code']], [401, 'token_invalid']);
      }
      const device = await setup.open(url.pathname, { token, port, cert, key });
      const pos = await setup.pos(await setup.tokenOf(till));
      const { line } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p' });
      await talks({ line, device }, 'over mutual TLS');
      const posToken = await setup.tokenOf(till);
      const refusedConnection = await handshakeErrorOf(
        setup.open(connectorPaths.posListener, { token: posToken, port }),
      );
      assert.equal(refusedConnection.status, 404, 'points of sale have no business there');
      device.close();
    });
  });

  // These tests run last, because they move the clock: certificates issued at the moved time are
  // not yet valid at the real time.
  describe('by the time', () => {
    it('a session ends after a day, however busy it is', async () => {
      const { line, device } = await ready();
      for (let hours = 0; hours < 24; hours += 6) {
        await talks({ line, device }, `at ${hours}`);
        if (hours < 18) setup.clock.advance(6 * hour);
      }
      setup.clock.advance(6 * hour - 1000);
      await talks({ line, device }, 'a second before');
      setup.clock.advance(1000);
      assert.equal((await line.closed()).code, closeCodes.sessionExpired);
      assert.equal(device.socket.readyState, device.socket.OPEN);
    });

    it('503: a draining process refuses new connections with a Retry-After header', async (t) => {
      const full = await startTestConnector();
      t.after(() => full.close());
      const client = await full.application();
      const token = await full.tokenOf(client);
      const terminal = await full.terminal();
      const device = await full.connect(terminal, client);
      full.drain();
      for (const path of [
        connectorPaths.deviceListener,
        connectorPaths.posListener,
        `${connectorPaths.sessions}/${'x'.repeat(43)}`,
        `${connectorPaths.deviceConnections}/${'x'.repeat(36)}`,
      ]) {
        const { status, headers, body } = await handshakeErrorOf(full.open(path, { token }));
        assert.deepEqual([status, body['code']], [503, 'shutting_down'], path);
        assert.equal(headers['retry-after'], '1');
      }
      assert.equal(device.socket.readyState, device.socket.OPEN);
    });
  });
});
