// Captures of TCP that the test writes: link layers, byte orders, reordering, retransmission, loss, several connections.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { encodeFrame, type FrameFormat } from '@switchyard/iso8583';
import type { TraceFault } from './recorded-message.ts';
import { readTrace } from './recorded-messages.ts';
import {
  createTestConnection,
  type LinkLayer,
  packetBytes,
  pcapFile,
  pcapngFile,
  type TestPacket,
  tcpFlags,
} from './trace-writer.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'recorded-messages-'));
after(() => rmSync(folder, { recursive: true }));

const binaryLength = { length: 'binary2' } as const;
const startMs = Date.UTC(2026, 10, 29, 23, 15);
const client = { address: '10.0.0.1', port: 40_001 };
const server = { address: '10.0.0.2', port: 8583 };

/** The reader does not decode: any text is a message. */
const frame = (text: string): Buffer => encodeFrame(binaryLength, Buffer.from(text));

const connect = (link: LinkLayer = 'ethernet', from = client, to = server) =>
  createTestConnection({ link, client: from, server: to, startMs });

type Read = { messages: string[]; faults: TraceFault[]; times: (number | undefined)[] };

async function read(
  content: Buffer,
  port?: number,
  framing: FrameFormat = binaryLength,
): Promise<Read> {
  const file = join(folder, 'trace');
  writeFileSync(file, content);
  const result: Read = { messages: [], faults: [], times: [] };
  const report = (fault: TraceFault) => result.faults.push(fault);
  for await (const message of readTrace({ file, framing, port, report })) {
    const { direction, payload, atMs } = message;
    result.messages.push(`${direction} ${payload.toString()}`);
    result.times.push(atMs);
  }
  return result;
}

const readPackets = (packets: readonly TestPacket[], port?: number) =>
  read(pcapFile('ethernet', packets), port);

const exchange = ['ToHost request', 'FromHost response'];

for (const link of [
  'ethernet',
  'vlan',
  'linux-cooked',
  'linux-cooked-2',
  'raw',
  'loopback',
] as const)
  for (const order of ['little', 'big'] as const)
    for (const nanoseconds of [false, true])
      test(`${link}, ${order} endian, ${nanoseconds ? 'ns' : 'µs'}: pcap and pcapng`, async () => {
        const sides =
          link === 'loopback' || !nanoseconds
            ? [client, server]
            : [
                { address: '2001:db8::1', port: 40_001 },
                { address: '2001:db8::2', port: 8583 },
              ];
        const connection = connect(link, ...(sides as [typeof client, typeof server]));
        const packets = [
          ...connection.open(),
          connection.send('client', frame('request')),
          connection.send('server', frame('response')),
          connection.close('client'),
          connection.close('server'),
        ];
        for (const write of [pcapFile, pcapngFile]) {
          const { messages, faults, times } = await read(
            write(link, packets, { order, nanoseconds }),
          );
          assert.deepEqual(messages, exchange);
          assert.deepEqual(faults, []);
          for (const [index, time = 0] of times.entries())
            assert.ok(Math.abs(time - startMs - 4 - index) < 0.5, String(time - startMs));
        }
      });

test('segments in another order, repeated, overlapping, and cut inside messages', async () => {
  const connection = connect();
  const [first, second, third] = [frame('first'), frame('second'), frame('third')];
  const bytes = Buffer.concat([first, second, third]);
  const open = connection.open();
  // The sequence numbers of the client pass 2³² inside these segments.
  const parts = [0, 3, 9, 12, 20].map((start, at, starts) =>
    connection.send('client', bytes.subarray(start, starts[at + 1] ?? bytes.length)),
  ) as [TestPacket, TestPacket, TestPacket, TestPacket, TestPacket];
  const answer = connection.send('server', frame('answer'));
  const [a, b, c, d, e] = parts;
  const sequence = 0xffffffef;
  const overlapping = {
    atMs: startMs,
    bytes: packetBytes('ethernet', {
      source: client,
      destination: server,
      sequence,
      payload: bytes.subarray(0, 16),
    }),
  };
  const order = [
    ...open,
    c,
    a,
    connection.keepAlive('client'),
    b,
    b,
    a,
    e,
    answer,
    overlapping,
    d,
    d,
    e,
  ];
  const { messages, faults } = await readPackets(order);
  assert.deepEqual(
    messages.filter((message) => message.startsWith('ToHost')),
    ['ToHost first', 'ToHost second', 'ToHost third'],
  );
  assert.ok(messages.includes('FromHost answer'));
  assert.deepEqual(faults, []);
});

test('lost segments: the messages after them, and a line with the number of bytes', async () => {
  const connection = connect();
  const open = connection.open();
  connection.send('client', frame('lost'));
  const packets = [
    ...open,
    connection.send('client', frame('after')),
    ...Array.from({ length: 300 }, (_, at) => connection.send('server', frame(`answer ${at}`))),
    connection.send('client', frame('end')),
  ];
  const { messages, faults } = await readPackets(packets);
  const sent = messages.filter((message) => message.startsWith('ToHost'));
  assert.deepEqual(sent, ['ToHost after', 'ToHost end']);
  // The message is not held until the end of the file.
  assert.ok(messages.indexOf('ToHost after') < messages.length - 2);
  assert.deepEqual(
    faults.map(({ reason }) => reason),
    ['6 bytes are not in the recording (ToHost, 10.0.0.1:40001 > 10.0.0.2:8583)'],
  );
});

test('several connections, one after a reset with the same ports, and other traffic', async () => {
  const [one, two] = [connect(), connect('ethernet', { ...client, port: 40_002 })];
  const other = connect('ethernet', client, { ...server, port: 443 });
  const again = connect();
  const reset = {
    atMs: startMs,
    bytes: packetBytes('ethernet', {
      source: server,
      destination: client,
      sequence: 1,
      flags: tcpFlags.reset,
    }),
  };
  const first = one.send('client', frame('never opened'));
  const packets = [
    ...two.open(),
    first,
    two.send('client', frame('from two')),
    ...other.open(),
    other.send('client', Buffer.from('16030100510100', 'hex')),
    one.send('server', frame('to one')),
    reset,
    ...again.open(),
    again.send('client', frame('again')),
    two.send('server', frame('to two')),
  ];
  const { messages, faults } = await readPackets(packets, 8583);
  assert.deepEqual(messages, [
    'ToHost never opened',
    'ToHost from two',
    'FromHost to one',
    'ToHost again',
    'FromHost to two',
  ]);
  assert.deepEqual(faults, []);
  const all = await readPackets(packets);
  assert.match(
    all.faults.map(({ reason }) => reason).join(),
    /^the connection is encrypted \(TLS\)/,
  );
});

test('a recording that begins inside a connection, with a keep-alive first', async () => {
  const connection = connect();
  connection.open();
  const keepAlive = connection.keepAlive('client');
  const packets = [
    keepAlive,
    connection.send('server', frame('response')),
    connection.send('client', frame('request')),
  ];
  const { messages, faults } = await readPackets(packets);
  assert.deepEqual(messages, ['FromHost response', 'ToHost request']);
  assert.deepEqual(faults, []);
});

test('an invalid length, an incomplete message, and a file that ends inside a packet', async () => {
  const connection = connect();
  const packets = [
    ...connection.open(),
    connection.send('client', frame('good')),
    connection.send('client', Buffer.from('ffff00', 'hex')),
  ];
  const { messages, faults } = await readPackets(packets);
  assert.deepEqual(messages, ['ToHost good']);
  assert.deepEqual(
    faults.map(({ reason }) => reason.replace(/ \(.*/, '')),
    ['the last message is incomplete: 3 bytes'],
  );
  const whole = pcapFile('ethernet', packets);
  // After an invalid length the next segment begins a message again.
  const text = connect();
  const digits = [
    ...text.open(),
    text.send('client', Buffer.from('no length')),
    text.send('client', Buffer.from('0004good')),
  ];
  const resumed = await read(pcapFile('ethernet', digits), undefined, { length: 'ascii4' });
  assert.deepEqual(resumed.messages, ['ToHost good']);
  assert.match(resumed.faults[0]?.reason ?? '', /^the length in front of a message is invalid/);
  const cut = await read(whole.subarray(0, -5));
  assert.deepEqual(cut.messages, ['ToHost good']);
  assert.match(cut.faults[0]?.reason ?? '', /ends inside a packet/);
  assert.match(cut.faults[0]?.position ?? '', /^byte \d+$/);
});

test('damaged files and link types that are not supported', async () => {
  const packets = connect().open();
  const pcap = pcapFile('ethernet', packets);
  const damaged = Buffer.from(pcap);
  damaged.writeUInt32LE(0x7fffffff, 24 + 8);
  await assert.rejects(read(damaged), /damaged: no valid record at byte 24/);
  const block = pcapngFile('ethernet', packets);
  block.writeUInt32LE(7, 28 + 4);
  await assert.rejects(read(block), /damaged: no valid record at byte 28/);
  const otherLink = Buffer.from(pcap);
  otherLink.writeUInt32LE(105, 20);
  await assert.rejects(read(otherLink), /link type 105/);
  await assert.rejects(read(pcap.subarray(0, 12)), /has no header/);
});
