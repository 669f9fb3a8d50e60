import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { builtInHosts, compileHost, type HostTable, type Message } from '@switchyard/iso8583';
import {
  approvalResponse,
  approve,
  approveNetworkMessages,
  encodeMessageFrame,
  type ReceivedMessage,
  type ScriptedHost,
  startScriptedHost,
} from '../../../test/support/acquirers/scripted-host.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createAddressGuard, createLog, systemClock } from '../../platform/index.ts';
import type { ZoneKeyRing } from '../keys/import-zone-keys.ts';
import type { ExchangeResult } from '../spi/acquirer-spi.ts';
import { type HostLink, openHostLink } from './host-session-pool.ts';

const spoken = compileHost(builtInHosts['iso1987-binary'], { now: Date.now });
const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const longMs = 10_000;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Options = Partial<Parameters<typeof openHostLink>[0]>;

async function setUp(options: Options = {}, script = approve) {
  const host = await startScriptedHost();
  host.script(script);
  const late: Message[] = [];
  const link = openHostLink({
    addressGuard: createAddressGuard({ allowsLoopback: true }),
    host: '127.0.0.1',
    port: host.port,
    tls: false,
    compiledHost: spoken,
    clock: systemClock,
    log,
    onUnmatchedResponse: (answer) => late.push(answer),
    reconnectDelaysMs: [10],
    ...options,
  });
  // The host stops first, so that the sign-off does not wait for a response.
  closers.push(() => link.close(0), host.stop);
  return { host, link, late };
}

const signedOn = (link: HostLink) => eventually('signed on', () => link.isAvailable());

function sale(stan: string): Message {
  const fields = { 3: '000000', 4: '000000001234', 7: '0101120000', 11: stan, 41: 'TERM0001' };
  return { mti: '0200', fields: { ...fields, 49: '978' } };
}

const heardSale = (host: ScriptedHost, count = 1) =>
  eventually(
    `${count} sales arrived`,
    () => host.receivedTypes().filter((mti) => mti === '0200').length === count,
  );

describe('ISO 8583 host link', () => {
  test('sends no financial message before the sign-on is approved', async () => {
    const heldRequests: ReceivedMessage[] = [];
    const { host, link } = await setUp({}, (received) => heldRequests.push(received));
    await eventually('the sign-on arrived', () => heldRequests.length === 1);
    const notSent = { result: 'NotSent', reason: 'not signed on' };
    assert.deepEqual(await link.sendRequest(sale('000001'), longMs), notSent);
    assert.equal(link.isAvailable(), false);
    host.script(approve);
    for (const received of heldRequests) approve(received);
    await signedOn(link);
    assert.equal((await link.sendRequest(sale('000002'), longMs)).result, 'Responded');
    assert.deepEqual(host.receivedTypes(), ['0800001', '0200']);
  });

  test('retries a declined sign-on after a delay', async () => {
    const states: boolean[] = [];
    const { host, link } = await setUp(
      { onAvailabilityChange: (available) => states.push(available) },
      ({ message, socket }) =>
        socket.end(encodeMessageFrame(approvalResponse(message, { 39: '58' }))),
    );
    await eventually('three tries', () => host.connections() === 3);
    assert.equal(link.isAvailable(), false);
    assert.equal(link.findFault(), 'the host answered the sign-on with response code 58');
    host.script(approve);
    await signedOn(link);
    assert.equal(link.findFault(), undefined);
    assert.deepEqual(states, [true]);
  });

  test('states that the host did not answer the sign-on', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { host, link } = await setUp({}, () => {});
    while (host.receivedTypes().length === 0) await new Promise((done) => setImmediate(done));
    t.mock.timers.tick(5000);
    while (link.findFault() === undefined) await new Promise((done) => setImmediate(done));
    assert.match(link.findFault() ?? '', /^the host did not answer the sign-on/);
  });

  test('sends echoes while idle, and reconnects after two missed echoes', async () => {
    const { host, link } = await setUp({ echoIntervalMs: 25 });
    const echoes = () => host.receivedTypes().filter((each) => each === '0800301').length;
    await eventually('two echoes', () => echoes() >= 2);
    assert.equal(host.connections(), 1);
    host.script(() => {});
    await eventually('given up', () => !link.isAvailable());
    host.script(approve);
    await signedOn(link);
    assert.equal(host.connections(), 2);
  });

  test('keeps the connection if the host misses echoes but sends other messages', async () => {
    const { host, link } = await setUp({ echoIntervalMs: 25 });
    const echoes = () => host.receivedTypes().filter((each) => each === '0800301').length;
    const echo = encodeMessageFrame({
      mti: '0800',
      fields: { 7: '0101120000', 11: '000007', 70: '301' },
    });
    host.script((received) => {
      if (received.message.fields[70] !== '301') approve(received);
      else if (received.message.mti === '0800') received.socket.write(echo);
    });
    await eventually('five echoes without an answer', () => echoes() >= 5);
    assert.equal(link.isAvailable(), true);
    assert.equal(host.connections(), 1);
  });

  test('correlates responses in any order and segmentation', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    const heldRequests: ReceivedMessage[] = [];
    host.script((received) => heldRequests.push(received));
    const exchanges = ['000001', '000002', '000003'].map((stan) =>
      link.sendRequest(sale(stan), longMs),
    );
    await eventually('all requests arrived', () => heldRequests.length === 3);
    const bytes = Buffer.concat(
      heldRequests.reverse().map(({ message }) => encodeMessageFrame(approvalResponse(message))),
    );
    for (let at = 0; at < bytes.length; at += 7)
      heldRequests[0]?.socket.write(bytes.subarray(at, at + 7));
    const stans = (await Promise.all(exchanges)).map((each) =>
      each.result === 'Responded' ? each.response.fields[11] : each.result,
    );
    assert.deepEqual(stans, ['000001', '000002', '000003']);
    host.script(approve);
  });

  test('reconnects if the host exceeds the request rate limit', async () => {
    const { host, link } = await setUp({}, approveNetworkMessages);
    await signedOn(link);
    const { socket } = host.received.at(-1) ?? assert.fail('no sign-on arrived');
    const fields = { 7: '0101120000', 11: '000007', 70: '301' };
    socket.write(Buffer.concat(Array(5000).fill(encodeMessageFrame({ mti: '0800', fields }))));
    await eventually('taken again', () => host.connections() > 1 && link.isAvailable());
    assert.ok(host.receivedTypes().filter((each) => each.startsWith('0810')).length < 1000);
  });

  test('disconnects a host that sends requests and never reads responses', async () => {
    const states: boolean[] = [];
    const received: ReceivedMessage[] = [];
    const { link } = await setUp({ onAvailabilityChange: (up) => states.push(up) }, (each) => {
      received.push(each);
      approve(each);
    });
    await signedOn(link);
    const socket = received[0]?.socket;
    assert.ok(socket);
    socket.pause();
    const echo = { 7: '0101120000', 11: '000007', 70: '301' };
    const burst = Buffer.concat(
      Array(2000).fill(encodeMessageFrame({ mti: '0800', fields: echo })),
    );
    for (let sent = 0; sent < 200 && !states.includes(false); sent += 1) {
      await new Promise<void>((resolve) => socket.write(burst, () => resolve()));
    }
    await eventually('let go', () => states.includes(false));
    socket.destroy();
  });

  // Spec: ACQ-4
  test('never sends a queued message after its time-out', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    const { socket } = host.received[0] ?? assert.fail('no sign-on arrived');
    socket.pause();
    const filler = 'x'.repeat(999);
    const fillers: Promise<ExchangeResult<Message>>[] = [];
    let stan = 0;
    const next = () => {
      stan += 1;
      return sale(String(stan).padStart(6, '0'));
    };
    const wide = (message: Message): Message => ({
      ...message,
      fields: { ...message.fields, 48: filler, 60: filler, 61: filler, 62: filler, 63: filler },
    });
    // Fills the socket buffer, so that further messages stay in the queue.
    let stuck: ExchangeResult<Message> = { result: 'Timeout' };
    while (stuck.result === 'Timeout' && stan < 15_000) {
      for (let count = 0; count < 50; count += 1) {
        fillers.push(link.sendRequest(wide(next()), 60_000));
      }
      stuck = await link.sendRequest(next(), 20);
    }
    assert.deepEqual(stuck, { result: 'NotSent', reason: 'not sent in time' });
    const traceNumber = String(stan).padStart(6, '0');
    socket.resume();
    for (const each of await Promise.all(fillers)) assert.equal(each.result, 'Responded');
    assert.equal((await link.sendRequest(next(), longMs)).result, 'Responded');
    assert.ok(!host.received.some(({ message }) => message.fields[11] === traceNumber));
  });

  test('rejects a duplicate trace number while the first message is pending', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(approveNetworkMessages);
    const first = link.sendRequest(sale('000001'), longMs);
    const second = await link.sendRequest(sale('000001'), longMs);
    assert.deepEqual(second, { result: 'NotSent', reason: 'duplicate trace' });
    await heardSale(host);
    for (const received of host.received) if (received.message.mti === '0200') approve(received);
    assert.equal((await first).result, 'Responded');
  });

  test('reconnects after a framing error', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(approveNetworkMessages);
    const waiting = link.sendRequest(sale('000001'), longMs);
    await heardSale(host);
    host.received.at(-1)?.socket.write(Buffer.alloc(64, 0xff));
    assert.deepEqual(await waiting, { result: 'ConnectionLost' });
    await eventually('a second connection', () => host.connections() === 2);
    await signedOn(link);
  });

  test('reconnects after invalid bytes in the segment of the sign-on response', async () => {
    const states: boolean[] = [];
    const { host, link } = await setUp(
      { onAvailabilityChange: (available) => states.push(available) },
      ({ message, socket }) =>
        socket.write(
          Buffer.concat([encodeMessageFrame(approvalResponse(message)), Buffer.alloc(64, 0xff)]),
        ),
    );
    await eventually('tried again', () => host.connections() >= 3);
    host.script(approve);
    await signedOn(link);
    assert.equal((await link.sendRequest(sale('000001'), longMs)).result, 'Responded');
    assert.deepEqual(states, [true]);
  });

  test('accepts a response that arrived before the time-out while the event loop was blocked', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script((received) => {
      approve(received);
      // The response is in the socket buffer when the time-out passes.
      const until = performance.now() + 100;
      while (performance.now() < until);
    });
    assert.equal((await link.sendRequest(sale('000001'), 50)).result, 'Responded');
  });

  test('skips an undecodable message, and its request times out', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(({ socket }) => socket.write(Buffer.from([0, 3, 1, 2, 3])));
    assert.deepEqual(await link.sendRequest(sale('000001'), 30), { result: 'Timeout' });
    host.script(approve);
    assert.equal((await link.sendRequest(sale('000002'), longMs)).result, 'Responded');
    assert.equal(host.connections(), 1);
  });

  test('reports a response after the time-out as unmatched', async () => {
    const { host, link, late } = await setUp();
    await signedOn(link);
    host.script(approveNetworkMessages);
    assert.deepEqual(await link.sendRequest(sale('000001'), 20), { result: 'Timeout' });
    await heardSale(host);
    for (const received of host.received) if (received.message.mti === '0200') approve(received);
    await eventually('the late response', () => late.length === 1);
    assert.equal(late[0]?.fields[11], '000001');
  });

  test('fails pending requests after a disconnect, and reconnects', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(({ socket }) => socket.destroy());
    const exchange = await link.sendRequest(sale('000001'), longMs);
    assert.deepEqual(exchange, { result: 'ConnectionLost' });
    assert.equal(link.isAvailable(), false);
    host.script(approve);
    await signedOn(link);
  });

  test('close drains pending requests, rejects new ones and signs off', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(approveNetworkMessages);
    const waiting = link.sendRequest(sale('000001'), longMs);
    await heardSale(host);
    const closed = link.close(longMs);
    assert.equal(link.isAvailable(), false);
    const refused = { result: 'NotSent', reason: 'not signed on' };
    assert.deepEqual(await link.sendRequest(sale('000002'), longMs), refused);
    for (const received of host.received) if (received.message.mti === '0200') approve(received);
    assert.equal((await waiting).result, 'Responded');
    await closed;
    assert.deepEqual(host.receivedTypes(), ['0800001', '0200', '0800002']);
    assert.equal(host.connections(), 1);
  });

  test('close stops waiting after its time-out', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(approveNetworkMessages);
    const waiting = link.sendRequest(sale('000001'), longMs);
    await heardSale(host);
    await link.close(30);
    assert.deepEqual(await waiting, { result: 'ConnectionLost' });
    assert.equal(host.receivedTypes().at(-1), '0800002');
  });

  // Spec: ACQ-4
  test('closes gracefully without pending payments, and resets the TCP connection otherwise', async () => {
    const endOf = (socket: Socket | undefined) =>
      new Promise<string>((resolve) => {
        socket?.once('end', () => resolve('end'));
        socket?.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
      });
    for (const [script, end] of [
      [approve, 'end'],
      [() => {}, 'ECONNRESET'],
    ] as const) {
      const { host, link } = await setUp();
      await signedOn(link);
      host.script(script);
      const received = link.sendRequest(sale('000001'), longMs);
      await heardSale(host);
      const ended = endOf(host.received[0]?.socket);
      await link.close(0);
      await received;
      assert.equal(await ended, end);
    }
  });

  // Spec: ACQ-3
  test('sends nothing after a host sign-off until the next sign-on', async () => {
    const states: boolean[] = [];
    const { host, link } = await setUp({
      onAvailabilityChange: (available) => states.push(available),
    });
    await signedOn(link);
    const heldRequests: ReceivedMessage[] = [];
    const heldSignOns = () => heldRequests.filter(({ message }) => message.fields[70] === '001');
    host.script((received) => heldRequests.push(received));
    const inFlight = link.sendRequest(sale('000001'), longMs);
    await heardSale(host);
    const fields = { 7: '0101120000', 11: '000778', 70: '002' };
    host.received[0]?.socket.write(encodeMessageFrame({ mti: '0800', fields }));
    await eventually('acknowledged', () => host.receivedTypes().includes('0810002'));
    assert.equal(link.isAvailable(), false);
    const notSent = { result: 'NotSent', reason: 'not signed on' };
    assert.deepEqual(await link.sendRequest(sale('000002'), longMs), notSent);
    // A declined sign-on is retried on the same connection, which still has a pending response.
    await eventually('a sign-on', () => heldSignOns().length === 1);
    const refused = heldSignOns()[0] ?? assert.fail('no sign-on');
    refused.socket.write(encodeMessageFrame(approvalResponse(refused.message, { 39: '91' })));
    await eventually('another sign-on', () => heldSignOns().length === 2);
    assert.deepEqual(await link.sendRequest(sale('000003'), longMs), notSent);
    for (const received of heldRequests) if (received.message.mti === '0200') approve(received);
    assert.equal((await inFlight).result, 'Responded');
    host.script(approve);
    approve(heldSignOns()[1] ?? assert.fail('no sign-on'));
    await signedOn(link);
    assert.equal((await link.sendRequest(sale('000004'), longMs)).result, 'Responded');
    const expectedMessages = ['0800001', '0200', '0810002', '0800001', '0800001', '0200'];
    assert.deepEqual(host.receivedTypes(), expectedMessages);
    assert.equal(host.connections(), 1);
    assert.deepEqual(states, [true, false, true]);
  });

  // Spec: ACQ-3
  test('acknowledges a sign-off advice and its repeat with 0830, and that of another origin with 0834', async () => {
    for (const [mti, response] of [
      ['0820', '0830002'],
      ['0821', '0830002'],
      ['0824', '0834002'],
      ['0825', '0834002'],
    ] as const) {
      const { host, link } = await setUp();
      await signedOn(link);
      host.script(() => {});
      const fields = { 7: '0101120000', 11: '000778', 70: '002' };
      host.received[0]?.socket.write(encodeMessageFrame({ mti, fields }));
      await eventually('acknowledged', () => host.receivedTypes().includes(response));
      assert.equal(link.isAvailable(), false, mti);
      await eventually('a sign-on', () => host.receivedTypes().length === 3);
      assert.deepEqual(host.receivedTypes(), ['0800001', response, '0800001']);
    }
  });

  test('responds to echo requests of the host and ignores financial requests', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    const socket = host.received[0]?.socket;
    socket?.write(encodeMessageFrame(sale('000777')));
    const fields = { 7: '0101120000', 11: '000778', 70: '301' };
    socket?.write(encodeMessageFrame({ mti: '0800', fields }));
    await eventually('the answer', () =>
      host.received.some(({ message }) => message.mti === '0810'),
    );
    const answers = host.received.filter(({ message }) => message.mti !== '0800');
    assert.deepEqual(
      answers.map(({ message }) => ({ ...message, fields: { ...message.fields } })),
      [{ mti: '0810', fields: { ...fields, 39: '00' } }],
    );
  });

  test('answers 40 to a cut-over, 96 to an unreadable key and nothing to a 0500, and logs each', async () => {
    const lines: string[] = [];
    const settings = { logLevel: 'info', instanceName: 'test' } as const;
    const { host, link } = await setUp({
      log: createLog(settings, { write: (line: string) => void lines.push(line) }),
    });
    await signedOn(link);
    const socket = host.received[0]?.socket;
    const answersTo = async (mti: string, fields: Message['fields']) => {
      const sent = { 7: '0101120000', 11: '000778', ...fields };
      const earlier = host.received.length;
      socket?.write(encodeMessageFrame({ mti, fields: sent }));
      await eventually('the answer', () => host.received.length > earlier);
      const { message } = host.received.at(-1) ?? assert.fail('no answer');
      return [message.mti, message.fields[70], message.fields[39]];
    };
    assert.deepEqual(await answersTo('0800', { 70: '201' }), ['0810', '201', '40']);
    assert.deepEqual(await answersTo('0820', { 70: '161' }), ['0830', '161', '40']);
    assert.deepEqual(await answersTo('0800', { 48: 'KEY', 70: '101' }), ['0810', '101', '96']);
    socket?.write(encodeMessageFrame({ mti: '0500', fields: { 11: '000778' } }));
    assert.deepEqual(await answersTo('0800', { 70: '001' }), ['0810', '001', '00']);
    assert.deepEqual(await answersTo('0800', {}), ['0810', undefined, '00']);
    const logged = lines.map((line) => JSON.parse(line)).filter(({ mti }) => mti !== undefined);
    assert.deepEqual(
      logged.map(({ mti, functionCode, stan, msg }) => [functionCode ?? stan ?? mti, msg]),
      [
        ['201', 'host requested a function that the platform does not support'],
        ['161', 'host requested a function that the platform does not support'],
        ['000778', 'host sent a key in another format than keyChange of its table; rejected'],
        ['0500', 'host sent a request that the platform does not answer'],
      ],
    );
  });
});

const hostWith = (network: Partial<HostTable['network']>) => {
  const { network: base, ...table } = builtInHosts['iso1987-binary'];
  return compileHost({ ...table, network: { ...base, ...network } }, { now: Date.now });
};

describe('the sign-on that a host table requires', () => {
  test('None: payments follow at once, without sign-on, echo and sign-off', async () => {
    const compiledHost = hostWith({ signOnBy: 'None', echoSeconds: null });
    const { host, link } = await setUp({ compiledHost });
    await signedOn(link);
    assert.equal((await link.sendRequest(sale('000001'), longMs)).result, 'Responded');
    await link.close(longMs);
    assert.deepEqual(host.receivedTypes(), ['0200']);
  });

  test('Terminal: each terminal signs on once, before its first payment', async () => {
    const { host, link } = await setUp({ compiledHost: hostWith({ signOnBy: 'Terminal' }) });
    await signedOn(link);
    const stans = ['000001', '000002'];
    const results = await Promise.all(stans.map((stan) => link.sendRequest(sale(stan), longMs)));
    assert.deepEqual(
      results.map(({ result }) => result),
      ['Responded', 'Responded'],
    );
    const other = sale('000003');
    other.fields[41] = 'TERM0002';
    await link.sendRequest(other, longMs);
    const types = ['0800001', '0200', '0200', '0800001', '0200'];
    assert.deepEqual(host.receivedTypes(), types);
    assert.equal(host.received[0]?.message.fields[41], 'TERM0001');
  });

  test('Terminal: a refused sign-on sends no payment, and the next payment repeats it', async () => {
    const { host, link } = await setUp({ compiledHost: hostWith({ signOnBy: 'Terminal' }) });
    await signedOn(link);
    host.script(({ message, socket }) =>
      socket.write(encodeMessageFrame(approvalResponse(message, { 39: '05' }))),
    );
    const refused = await link.sendRequest(sale('000001'), longMs);
    assert.deepEqual(refused, { result: 'NotSent', reason: 'the terminal is not signed on' });
    host.script(approve);
    assert.equal((await link.sendRequest(sale('000002'), longMs)).result, 'Responded');
    assert.deepEqual(host.receivedTypes(), ['0800001', '0800001', '0200']);
  });

  test('the response to a sign-on can have a new key', async () => {
    const key = `PT01A1B2C3${'0123456789ABCDEF'.repeat(2)}`;
    const imported: unknown[] = [];
    const keyRing: ZoneKeyRing = {
      listMacKeyRefs: () => [],
      getPinKey: () => undefined,
      shouldRequestKeys: () => false,
      importKey: async (update) => {
        imported.push(update);
        return true;
      },
    };
    const { link } = await setUp({ keyRing }, ({ message, socket }) =>
      socket.write(encodeMessageFrame(approvalResponse(message, { 48: key }))),
    );
    await signedOn(link);
    const [update] = imported;
    assert.partialDeepStrictEqual(update, {
      usage: 'ZonePin',
      keyIndex: '01',
      checkValue: 'A1B2C3',
    });
  });
});
