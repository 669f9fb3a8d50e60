import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { defined } from '@switchyard/contract';
import {
  builtInHosts,
  compileHost,
  createDeframer,
  encodeFrame,
  type HostTable,
  type Message,
  readHostTable,
} from '@switchyard/iso8583';
import {
  approvalResponse,
  approve,
  encodeMessageFrame,
  type ReceivedMessage,
  startScriptedHost,
} from '../../../test/support/acquirers/scripted-host.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createAddressGuard, createLog, systemClock } from '../../platform/index.ts';
import type { AcquirerRequest, LateResponse } from '../spi/acquirer-spi.ts';
import { connectIso8583Host } from './connect-iso8583-host.ts';

const addressGuard = createAddressGuard({ allowsLoopback: true });

const request: AcquirerRequest = {
  kind: 'Sale',
  repeat: false,
  organizationId: 'organization',
  transactionId: 'transaction',
  linkId: 'link',
  reference: {
    mti: '0200',
    terminalId: 'TERM0001',
    stan: '000001',
    rrn: '500112000001',
    transmittedAt: '0101120000',
    localTime: '120000',
    localDate: '0101',
  },
  merchantNumber: 'M00000000000001',
  mcc: '5411',
  amount: 1234,
  currency: 'EUR',
  entryMode: 'Keyed',
  card: { pan: '4111111111111111', expiry: '3012' },
};

function connectTo(port: number, table: HostTable, onLateAnswer: (late: LateResponse) => void) {
  const { organizationId, linkId } = request;
  const settings = { host: '127.0.0.1', port, institutionId: '1001' };
  return connectIso8583Host({
    addressGuard,
    link: { organizationId, linkId, name: 'north', adapter: 'iso8583-host', settings },
    compiledHost: compileHost(table, { now: Date.now }),
    timeoutMs: 20_000,
    clock: systemClock,
    log: createLog({ logLevel: 'silent', instanceName: 'test' }),
    onLateResponse: onLateAnswer,
  });
}

async function attached() {
  const host = await startScriptedHost();
  const lateResponses: LateResponse[] = [];
  const connection = connectTo(host.port, builtInHosts['iso1987-binary'], (late) =>
    lateResponses.push(late),
  );
  const close = async () => {
    await connection.close();
    await host.stop();
  };
  await eventually('signed on', () => connection.isAvailable());
  return { host, connection, lateResponses: lateResponses, close };
}

const { organizationId, transactionId } = request;
const late = { organizationId, transactionId, kind: 'Sale', responseCode: '00' };

test('a correct response after an invalid one is reported as a late response', async () => {
  const { host, connection, lateResponses, close } = await attached();
  try {
    let sale: ReceivedMessage | undefined;
    host.script((received) => {
      sale = received;
      received.socket.write(
        encodeMessageFrame(approvalResponse(received.message, { 42: 'M00000000000002' })),
      );
    });
    const outcome = await connection.send(request);
    assert.deepEqual(outcome, { outcome: 'Unknown', reason: 'InvalidResponse' });
    host.script(approve);
    assert.ok(sale);
    approve(sale);
    await eventually('the late response', () => lateResponses.length > 0);
    assert.deepEqual(lateResponses, [late]);
  } finally {
    await close();
  }
});

test('an approval with invalid bytes in field 48 is an approval', async () => {
  const { host, connection, close } = await attached();
  try {
    host.script(({ message, socket }) => {
      const response = approvalResponse(message, { 38: 'A1B2C3', 48: 'XXXXXXXX' });
      const bytes = encodeMessageFrame(response);
      bytes.set([0xdf, 0x01, 0x04], bytes.indexOf('XXXXXXXX'));
      socket.write(bytes);
    });
    assert.deepEqual(await connection.send(request), {
      outcome: 'Approved',
      responseCode: '00',
      amount: 1234,
      authorizationCode: 'A1B2C3',
    });
  } finally {
    await close();
  }
});

test('a response after an ambiguous one is late; a response after a definite one is ignored', async () => {
  const { host, connection, lateResponses, close } = await attached();
  const sales: ReceivedMessage[] = [];
  try {
    for (const [index, code] of ['05', '09', '68', '26', '94'].entries()) {
      host.script((received) => {
        sales.push(received);
        received.socket.write(encodeMessageFrame(approvalResponse(received.message, { 39: code })));
      });
      const reference = { ...request.reference, stan: `00000${index}` };
      const outcome = await connection.send({ ...request, reference });
      assert.deepEqual(outcome, { outcome: 'Declined', responseCode: code });
    }
    // The connection keeps the order: all earlier responses are processed before the last one.
    for (const sale of sales) approve(sale);
    await eventually('the late response', () => lateResponses.length >= 4);
    assert.deepEqual(lateResponses, Array(4).fill(late));
  } finally {
    await close();
  }
});

/** A 1993 host that answers requests and echoes all their fields except DE30. */
async function host1993(t: TestContext) {
  const { messages, framing } = builtInHosts['iso1993-ascii'];
  const plain = { ...builtInHosts['iso1987-ascii'], messages, version: '1' } as const;
  const wire = compileHost(plain, { now: Date.now });
  const receivedMessages: Message[] = [];
  const sockets = new Set<Socket>();
  let amount: string | undefined;
  const answerOf = (message: Message): Message => {
    if (message.mti.startsWith('08')) return approvalResponse(message, { 39: '800' });
    return approvalResponse(message, { 39: '400', ...defined({ 4: amount }) });
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    const deframer = createDeframer(framing, { maxBytes: 8192 });
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      for (const { payload } of deframer.push(chunk)) {
        const message = wire.decode(payload);
        receivedMessages.push(message);
        if (Number(message.mti[2]) % 2 === 0)
          socket.write(encodeFrame(framing, wire.encode(answerOf(message))));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    port: address.port,
    heard: receivedMessages,
    /** Sends a message to each connection; its MTI is written as the platform reads it. */
    send(message: Message) {
      for (const socket of sockets) socket.write(encodeFrame(framing, wire.encode(message)));
    },
    /** Sets the amount of later responses. */
    name(other: string) {
      amount = other;
    },
  };
}

test('a 1993 host that echoes only the amount confirms a partial reversal', async (t) => {
  const host = await host1993(t);
  const connection = connectTo(host.port, builtInHosts['iso1993-ascii'], () => {});
  t.after(connection.close);
  await eventually('signed on', () => connection.isAvailable());
  const part = (stan: string): AcquirerRequest => ({
    ...request,
    kind: 'Reversal',
    reference: { ...request.reference, mti: '0420', stan, rrn: `500112${stan}` },
    original: request.reference,
    amount: 234,
    remainingAmount: 1000,
  });
  const approval = { outcome: 'Approved', responseCode: '00', amount: 234 };
  assert.deepEqual(await connection.send(part('000002')), approval);
  const { fields } = host.heard.at(-1) ?? assert.fail('no message arrived');
  assert.deepEqual([fields[4], fields[30]], ['000000001000', '000000001234'.padEnd(24, '0')]);
  host.name('000000000999');
  const wrong = { outcome: 'Unknown', reason: 'InvalidResponse' };
  assert.deepEqual(await connection.send(part('000003')), wrong);
});

test('a 1993 host that signs off by request or advice gets the response of its function and origin', async (t) => {
  const host = await host1993(t);
  const connection = connectTo(host.port, builtInHosts['iso1993-ascii'], () => {});
  t.after(connection.close);
  // The wire of the host reads and writes 1993 messages with the version digit 0.
  for (const [request, response] of [
    ['0804', '0814'],
    ['0820', '0830'],
    ['0825', '0834'],
  ] as const) {
    await eventually('signed on', () => connection.isAvailable());
    const receivedBefore = host.heard.length;
    host.send({ mti: request, fields: { 7: '0101120000', 11: '000778', 24: '802' } });
    const isResponse = ({ fields }: Message) => fields[11] === '000778' && fields[24] === '802';
    const responses = () => host.heard.slice(receivedBefore).filter(isResponse);
    await eventually('the response', () => responses().length > 0);
    const [{ mti = '', fields = {} } = {}] = responses();
    assert.deepEqual([mti, fields[39], fields[70]], [response, '800', undefined], request);
  }
});

/** A host that approves each request, and records the frames that it receives. */
async function framingHost(t: TestContext, table: HostTable) {
  const compiled = compileHost(table, { now: Date.now });
  const { framing, headers } = compiled;
  const frames: { header: string; message: Message | undefined }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const deframer = createDeframer(framing, { maxBytes: 8192 });
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      for (const { payload, header } of deframer.push(chunk)) {
        const message = payload.length === 0 ? undefined : compiled.decode(payload);
        frames.push({ header: header.toString('latin1'), message });
        if (message === undefined || Number(message.mti[2]) % 2 === 1) continue;
        const bytes = compiled.encode(approvalResponse(message));
        const answerHeader = headers.answer(bytes.length, header);
        socket.write(encodeFrame(framing, bytes, { header: answerHeader }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const send = (bytes: Buffer) => {
    for (const socket of sockets) socket.write(bytes);
  };
  return { port: address.port, frames, compiled, send };
}

test('the answer to a host has its header with exchanged addresses', async (t) => {
  const framing = {
    length: 'hex4',
    tpduBytes: 5,
    tpdu: '6041414242',
    header: 'R{length:4}{destination:BANK}{source:0017}',
  };
  const table = readHostTable({ name: 'toy', base: 'iso1987-ascii', framing });
  const host = await framingHost(t, table);
  const connection = connectTo(host.port, table, () => {});
  t.after(connection.close);
  await eventually('signed on', () => connection.isAvailable());
  const { compiled } = host;
  const signOn = compiled.encode(host.frames[0]?.message ?? assert.fail('no sign-on'));
  const counted = (bytes: Buffer) => String(bytes.length + 13).padStart(4, '0');
  assert.equal(host.frames[0]?.header, `\x60AABBR${counted(signOn)}BANK0017`);
  const echo = compiled.encode({
    mti: '0800',
    fields: { 7: '0101120000', 11: '900001', 70: '301' },
  });
  const header = Buffer.from('\x60CCDDR00000017BNK2');
  host.send(encodeFrame(compiled.framing, echo, { header }));
  const isAnswer = ({ message }: { message: Message | undefined }) => message?.mti === '0810';
  await eventually('the answer', () => host.frames.some(isAnswer));
  const answer = host.frames.find(isAnswer);
  const bytes = compiled.encode(answer?.message ?? assert.fail('no answer'));
  assert.equal(answer?.header, `\x60DDCCR${counted(bytes)}BNK20017`);
  const outcome = await connection.send(request);
  assert.equal(outcome.outcome, 'Approved');
});

test('an empty frame is answered or ignored, as the table says', async (t) => {
  for (const emptyFrames of ['Answered', 'Ignored'] as const) {
    const framing = { length: 'binary2', tpduBytes: 5, tpdu: '6000010002', emptyFrames };
    const table = readHostTable({ name: 'toy', base: 'iso1987-ascii', framing });
    const host = await framingHost(t, table);
    const connection = connectTo(host.port, table, () => {});
    t.after(connection.close);
    await eventually('signed on', () => connection.isAvailable());
    host.send(Buffer.alloc(4));
    // The connection keeps the order: the empty frames are processed before the response.
    assert.equal((await connection.send(request)).outcome, 'Approved');
    const emptyCount = () => host.frames.filter(({ message }) => message === undefined).length;
    if (emptyFrames === 'Answered') await eventually('both answers', () => emptyCount() === 2);
    else assert.equal(emptyCount(), 0);
  }
});
