import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { builtInHosts, compileHost, type Message } from '@switchyard/iso8583';
import { eventually } from '../../../test/eventually.ts';
import {
  type Asked,
  answerTo,
  approve,
  frameOf,
  networkOnly,
  type ScriptedHost,
  startScriptedHost,
} from '../../../test/scripted-host.ts';
import { createLog, systemClock } from '../../platform/index.ts';
import { type Exchange, type HostLink, openLink } from './host-link.ts';

const spoken = compileHost(builtInHosts['iso1987-binary'], { now: Date.now });
const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const longMs = 10_000;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Options = Partial<Parameters<typeof openLink>[0]>;

async function setUp(options: Options = {}, script = approve) {
  const host = await startScriptedHost();
  host.script(script);
  const late: Message[] = [];
  const link = openLink({
    host: '127.0.0.1',
    port: host.port,
    tls: false,
    spoken,
    clock: systemClock,
    log,
    onUnmatched: (answer) => late.push(answer),
    backOffMs: [10],
    ...options,
  });
  // The host goes first, so that no sign-off waits for a silent one.
  closers.push(() => link.close(0), host.stop);
  return { host, link, late };
}

const signedOn = (link: HostLink) => eventually('signed on', () => link.available());

function sale(stan: string): Message {
  const fields = { 3: '000000', 4: '000000001234', 7: '0101120000', 11: stan, 41: 'TERM0001' };
  return { mti: '0200', fields: { ...fields, 49: '978' } };
}

const heardSale = (host: ScriptedHost, count = 1) =>
  eventually(
    `${count} sales heard`,
    () => host.heard().filter((mti) => mti === '0200').length === count,
  );

describe('the link to a host', () => {
  test('signs on first, and lets nothing financial pass before', async () => {
    const held: Asked[] = [];
    const { host, link } = await setUp({}, (asked) => held.push(asked));
    await eventually('sign-on heard', () => held.length === 1);
    const notSent = { result: 'NotSent', reason: 'not signed on' };
    assert.deepEqual(await link.exchange(sale('000001'), longMs), notSent);
    assert.equal(link.available(), false);
    host.script(approve);
    for (const asked of held) approve(asked);
    await signedOn(link);
    assert.equal((await link.exchange(sale('000002'), longMs)).result, 'Answered');
    assert.deepEqual(host.heard(), ['0800001', '0200']);
  });

  test('a refused sign-on is tried again, later', async () => {
    const states: boolean[] = [];
    const { host, link } = await setUp(
      { onState: (available) => states.push(available) },
      ({ message, socket }) => socket.end(frameOf(answerTo(message, { 39: '58' }))),
    );
    await eventually('three tries', () => host.connections() === 3);
    assert.equal(link.available(), false);
    host.script(approve);
    await signedOn(link);
    assert.deepEqual(states, [true]);
  });

  test('echoes while idle, and reconnects after two that are missed', async () => {
    const { host, link } = await setUp({ echoEveryMs: 25 });
    const echoes = () => host.heard().filter((each) => each === '0800301').length;
    await eventually('two echoes', () => echoes() >= 2);
    assert.equal(host.connections(), 1);
    host.script(() => {});
    await eventually('given up', () => !link.available());
    host.script(approve);
    await signedOn(link);
    assert.equal(host.connections(), 2);
  });

  test('a host that misses echoes and is heard meanwhile lives', async () => {
    const { host, link } = await setUp({ echoEveryMs: 25 });
    const echoes = () => host.heard().filter((each) => each === '0800301').length;
    const echo = frameOf({ mti: '0800', fields: { 7: '0101120000', 11: '000007', 70: '301' } });
    host.script((asked) => {
      if (asked.message.fields[70] !== '301') approve(asked);
      else if (asked.message.mti === '0800') asked.socket.write(echo);
    });
    await eventually('five echoes without an answer', () => echoes() >= 5);
    assert.equal(link.available(), true);
    assert.equal(host.connections(), 1);
  });

  test('answers find their requests in any order, and in any pieces', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    const held: Asked[] = [];
    host.script((asked) => held.push(asked));
    const exchanges = ['000001', '000002', '000003'].map((stan) =>
      link.exchange(sale(stan), longMs),
    );
    await eventually('all asked', () => held.length === 3);
    const bytes = Buffer.concat(held.reverse().map(({ message }) => frameOf(answerTo(message))));
    for (let at = 0; at < bytes.length; at += 7) held[0]?.socket.write(bytes.subarray(at, at + 7));
    const stans = (await Promise.all(exchanges)).map((each) =>
      each.result === 'Answered' ? each.answer.fields[11] : each.result,
    );
    assert.deepEqual(stans, ['000001', '000002', '000003']);
    host.script(approve);
  });

  test('a host that asks more than it has reason to is let go, and taken again', async () => {
    const { host, link } = await setUp({}, networkOnly);
    await signedOn(link);
    const { socket } = host.asked.at(-1) ?? assert.fail('nobody signed on');
    const fields = { 7: '0101120000', 11: '000007', 70: '301' };
    socket.write(Buffer.concat(Array(5000).fill(frameOf({ mti: '0800', fields }))));
    await eventually('taken again', () => host.connections() > 1 && link.available());
    assert.ok(host.heard().filter((each) => each.startsWith('0810')).length < 1000);
  });

  test('a host that asks without end and never reads is let go', async () => {
    const states: boolean[] = [];
    const asked: Asked[] = [];
    const { link } = await setUp({ onState: (up) => states.push(up) }, (each) => {
      asked.push(each);
      approve(each);
    });
    await signedOn(link);
    const socket = asked[0]?.socket;
    assert.ok(socket);
    socket.pause();
    const echo = { 7: '0101120000', 11: '000007', 70: '301' };
    const burst = Buffer.concat(Array(2000).fill(frameOf({ mti: '0800', fields: echo })));
    for (let sent = 0; sent < 200 && !states.includes(false); sent += 1) {
      await new Promise<void>((resolve) => socket.write(burst, () => resolve()));
    }
    await eventually('let go', () => states.includes(false));
    socket.destroy();
  });

  test('what still waits here when its time is over is never sent', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    const { socket } = host.asked[0] ?? assert.fail('nobody signed on');
    socket.pause();
    const filler = 'x'.repeat(999);
    const fillers: Promise<Exchange>[] = [];
    let stan = 0;
    const next = () => {
      stan += 1;
      return sale(String(stan).padStart(6, '0'));
    };
    const wide = (message: Message): Message => ({
      ...message,
      fields: { ...message.fields, 48: filler, 60: filler, 61: filler, 62: filler, 63: filler },
    });
    // Until the system takes no more for the host: what comes then waits here.
    let stuck: Exchange = { result: 'Timeout' };
    while (stuck.result === 'Timeout' && stan < 15_000) {
      for (let count = 0; count < 50; count += 1) {
        fillers.push(link.exchange(wide(next()), 60_000));
      }
      stuck = await link.exchange(next(), 20);
    }
    assert.deepEqual(stuck, { result: 'NotSent', reason: 'not sent in time' });
    const given = String(stan).padStart(6, '0');
    socket.resume();
    for (const each of await Promise.all(fillers)) assert.equal(each.result, 'Answered');
    assert.equal((await link.exchange(next(), longMs)).result, 'Answered');
    assert.ok(!host.asked.some(({ message }) => message.fields[11] === given));
  });

  test('a trace in flight is not sent twice', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(networkOnly);
    const first = link.exchange(sale('000001'), longMs);
    const second = await link.exchange(sale('000001'), longMs);
    assert.deepEqual(second, { result: 'NotSent', reason: 'duplicate trace' });
    await heardSale(host);
    for (const asked of host.asked) if (asked.message.mti === '0200') approve(asked);
    assert.equal((await first).result, 'Answered');
  });

  test('a stream that cannot be framed ends the connection, and a new one is made', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(networkOnly);
    const waiting = link.exchange(sale('000001'), longMs);
    await heardSale(host);
    host.asked.at(-1)?.socket.write(Buffer.alloc(64, 0xff));
    assert.deepEqual(await waiting, { result: 'ConnectionLost' });
    await eventually('a second connection', () => host.connections() === 2);
    await signedOn(link);
  });

  test('garbage in one segment with the sign-on answer leaves no half-open link', async () => {
    const states: boolean[] = [];
    const { host, link } = await setUp(
      { onState: (available) => states.push(available) },
      ({ message, socket }) =>
        socket.write(Buffer.concat([frameOf(answerTo(message)), Buffer.alloc(64, 0xff)])),
    );
    await eventually('tried again', () => host.connections() >= 3);
    host.script(approve);
    await signedOn(link);
    assert.equal((await link.exchange(sale('000001'), longMs)).result, 'Answered');
    assert.deepEqual(states, [true]);
  });

  test('an answer that came while the thread stood still is in time', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script((asked) => {
      approve(asked);
      // The answer lies in the socket, and the time for it passes before anybody can read.
      const until = performance.now() + 100;
      while (performance.now() < until);
    });
    assert.equal((await link.exchange(sale('000001'), 50)).result, 'Answered');
  });

  test('a message that cannot be read is skipped; its request times out', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(({ socket }) => socket.write(Buffer.from([0, 3, 1, 2, 3])));
    assert.deepEqual(await link.exchange(sale('000001'), 30), { result: 'Timeout' });
    host.script(approve);
    assert.equal((await link.exchange(sale('000002'), longMs)).result, 'Answered');
    assert.equal(host.connections(), 1);
  });

  test('an answer after its time is told of', async () => {
    const { host, link, late } = await setUp();
    await signedOn(link);
    host.script(networkOnly);
    assert.deepEqual(await link.exchange(sale('000001'), 20), { result: 'Timeout' });
    await heardSale(host);
    for (const asked of host.asked) if (asked.message.mti === '0200') approve(asked);
    await eventually('told', () => late.length === 1);
    assert.equal(late[0]?.fields[11], '000001');
  });

  test('a host that hangs up costs what waits, and is called again', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(({ socket }) => socket.destroy());
    const exchange = await link.exchange(sale('000001'), longMs);
    assert.deepEqual(exchange, { result: 'ConnectionLost' });
    assert.equal(link.available(), false);
    host.script(approve);
    await signedOn(link);
  });

  test('closing waits for what is in flight, takes no more, signs off, and stays closed', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(networkOnly);
    const waiting = link.exchange(sale('000001'), longMs);
    await heardSale(host);
    const closed = link.close(longMs);
    assert.equal(link.available(), false);
    const refused = { result: 'NotSent', reason: 'not signed on' };
    assert.deepEqual(await link.exchange(sale('000002'), longMs), refused);
    for (const asked of host.asked) if (asked.message.mti === '0200') approve(asked);
    assert.equal((await waiting).result, 'Answered');
    await closed;
    assert.deepEqual(host.heard(), ['0800001', '0200', '0800002']);
    assert.equal(host.connections(), 1);
  });

  test('closing does not wait beyond its time', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    host.script(networkOnly);
    const waiting = link.exchange(sale('000001'), longMs);
    await heardSale(host);
    await link.close(30);
    assert.deepEqual(await waiting, { result: 'ConnectionLost' });
    assert.equal(host.heard().at(-1), '0800002');
  });

  test('hangs up orderly where all was answered, and resets where a sale may lie unread', async () => {
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
      const asked = link.exchange(sale('000001'), longMs);
      await heardSale(host);
      const ended = endOf(host.asked[0]?.socket);
      await link.close(0);
      await asked;
      assert.equal(await ended, end);
    }
  });

  test('a host that signs off gets nothing more until it has taken us in again', async () => {
    const states: boolean[] = [];
    const { host, link } = await setUp({ onState: (available) => states.push(available) });
    await signedOn(link);
    const held: Asked[] = [];
    const heldSignOns = () => held.filter(({ message }) => message.fields[70] === '001');
    host.script((asked) => held.push(asked));
    const inFlight = link.exchange(sale('000001'), longMs);
    await heardSale(host);
    const fields = { 7: '0101120000', 11: '000778', 70: '002' };
    host.asked[0]?.socket.write(frameOf({ mti: '0800', fields }));
    await eventually('acknowledged', () => host.heard().includes('0810002'));
    assert.equal(link.available(), false);
    const notSent = { result: 'NotSent', reason: 'not signed on' };
    assert.deepEqual(await link.exchange(sale('000002'), longMs), notSent);
    // No, not yet: it is asked again over the same connection, which still has an answer to give.
    await eventually('a sign-on', () => heldSignOns().length === 1);
    const refused = heldSignOns()[0] ?? assert.fail('no sign-on');
    refused.socket.write(frameOf(answerTo(refused.message, { 39: '91' })));
    await eventually('another sign-on', () => heldSignOns().length === 2);
    assert.deepEqual(await link.exchange(sale('000003'), longMs), notSent);
    for (const asked of held) if (asked.message.mti === '0200') approve(asked);
    assert.equal((await inFlight).result, 'Answered');
    host.script(approve);
    approve(heldSignOns()[1] ?? assert.fail('no sign-on'));
    await signedOn(link);
    assert.equal((await link.exchange(sale('000004'), longMs)).result, 'Answered');
    const heard = ['0800001', '0200', '0810002', '0800001', '0800001', '0200'];
    assert.deepEqual(host.heard(), heard);
    assert.equal(host.connections(), 1);
    assert.deepEqual(states, [true, false, true]);
  });

  test('a host that signs off by an advice, or by one that it repeats, is answered as such and left alone', async () => {
    for (const mti of ['0820', '0821']) {
      const { host, link } = await setUp();
      await signedOn(link);
      host.script(() => {});
      const fields = { 7: '0101120000', 11: '000778', 70: '002' };
      host.asked[0]?.socket.write(frameOf({ mti, fields }));
      await eventually('acknowledged', () => host.heard().includes('0830002'));
      assert.equal(link.available(), false, mti);
      await eventually('a sign-on', () => host.heard().length === 3);
      assert.deepEqual(host.heard(), ['0800001', '0830002', '0800001']);
    }
  });

  test('answers the echo of the host, and no other request of it', async () => {
    const { host, link } = await setUp();
    await signedOn(link);
    const socket = host.asked[0]?.socket;
    socket?.write(frameOf(sale('000777')));
    const fields = { 7: '0101120000', 11: '000778', 70: '301' };
    socket?.write(frameOf({ mti: '0800', fields }));
    await eventually('the answer', () => host.asked.some(({ message }) => message.mti === '0810'));
    const answers = host.asked.filter(({ message }) => message.mti !== '0800');
    assert.deepEqual(
      answers.map(({ message }) => ({ ...message, fields: { ...message.fields } })),
      [{ mti: '0810', fields: { ...fields, 39: '00' } }],
    );
  });
});
