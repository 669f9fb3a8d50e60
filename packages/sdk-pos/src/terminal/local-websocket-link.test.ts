// A terminal in the local network over a WebSocket: messages both ways, breaks, no terminal.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type AnyMessage, buildEventNotification, requestOf, writeMessage } from '@switchyard/nexo';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  createTerminal,
  memoryServiceStore,
  PosError,
  type ServiceStore,
  type Terminal,
  type TerminalSettings,
} from '../index.ts';
import { createFakeTerminal, type FakeTerminal } from '../testing/fake-terminal.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';

const poiId = 'AXIUM_DX8000-10000001';
const saleId = 'till-3';
const order = { amount: 1250, currency: 'EUR', transactionId: '4711' };

type LocalLinkSetup = {
  readonly poi: FakeTerminal;
  readonly store: ServiceStore;
  readonly lines: WebSocket[];
  readonly faults: PosError[];
  readonly terminal: Terminal;
};

async function createSetup(
  t: TestContext,
  more: Partial<TerminalSettings> = {},
): Promise<LocalLinkSetup> {
  const poi = createFakeTerminal(poiId);
  const store = memoryServiceStore();
  const lines: WebSocket[] = [];
  const faults: PosError[] = [];
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, path: '/nexo' });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    lines.push(socket);
    socket.on('message', (data) => poi.receive(String(data), (text) => socket.send(text)));
  });
  const { port } = server.address() as AddressInfo;
  const terminal = createTerminal({
    saleId,
    poiId,
    store,
    onError: (error: PosError) => faults.push(error),
    transport: { kind: 'local', url: `ws://127.0.0.1:${port}/nexo` },
    // One minute between status requests, so that a slow answer does not cause a second request.
    times: { answerMs: 60_000, statusEveryMs: 60_000 },
    ...more,
  });
  t.after(async () => {
    await terminal.close();
    for (const line of lines) line.terminate();
    server.close();
  });
  return { poi, store, lines, faults, terminal };
}

// Spec: NEXO-42
test('pays over one connection, and the terminal uses the display of the point of sale', async (t) => {
  const displayed: unknown[] = [];
  const events: string[] = [];
  const { poi, lines, terminal } = await createSetup(t, {
    devices: {
      Display({ DisplayOutput }) {
        displayed.push(DisplayOutput[0]?.OutputContent);
        const Response = { Result: 'Success' } as const;
        return {
          OutputResult: DisplayOutput.map(({ Device, InfoQualify }) => ({
            Device,
            InfoQualify,
            Response,
          })),
        };
      },
    },
    onEvent: ({ body }) => events.push(body.EventToNotify),
  });
  await terminal.open();
  assert.equal((await terminal.sale(order)).result, 'Success');
  assert.equal((await terminal.request('Diagnosis', {})).result, 'Success');
  assert.equal(lines.length, 1);
  const address = { saleId, poiId, deviceId: 'D1' };
  const output = { OutputFormat: 'Text', OutputText: [{ Text: 'Card inserted' }] } as const;
  const display = requestOf('Display', address, {
    DisplayOutput: [{ Device: 'CashierDisplay', InfoQualify: 'Display', OutputContent: output }],
  });
  const [line] = lines;
  assert.ok(line);
  const answered = once(line, 'message');
  poi.send(writeMessage(display as AnyMessage));
  const event = buildEventNotification('CardInserted', address, { at: '2026-03-01T10:00:00.000Z' });
  poi.send(writeMessage(event as AnyMessage));
  assert.match(String((await answered)[0]), /"DisplayResponse".*"Success"/);
  await waitUntil(() => events.length === 1, 'the event');
  assert.deepEqual([displayed, events], [[output], ['CardInserted']]);
});

test('after a break the outcome is requested over a new connection', async (t) => {
  const { poi, lines, faults, terminal } = await createSetup(t);
  poi.holdsAnswers = true;
  await terminal.open();
  const pending = terminal.sale(order);
  await waitUntil(() => poi.services.length === 1, 'the sale');
  poi.finish();
  lines[0]?.terminate();
  assert.equal((await pending).result, 'Success');
  assert.deepEqual(poi.receivedCategories, ['Payment', 'TransactionStatus']);
  assert.equal(lines.length, 2);
  assert.equal(faults[0]?.code, 'connection_lost');
});

test('an unreachable terminal has processed nothing, and an address without TLS is rejected', async (t) => {
  const url = 'ws://127.0.0.1:1/nexo';
  const { terminal, store } = await createSetup(t, { transport: { kind: 'local', url } });
  await terminal.open();
  await assert.rejects(
    terminal.sale(order),
    (error: unknown) =>
      error instanceof PosError && error.code === 'unreachable' && error.outcome === 'NotProcessed',
  );
  assert.deepEqual(await store.load(), []);
  const disconnected = { kind: 'local', url: 'ws://10.0.0.17/nexo' } as const;
  const unsafe = createTerminal({
    saleId,
    poiId,
    transport: disconnected,
    store: memoryServiceStore(),
  });
  await assert.rejects(unsafe.open(), { code: 'address_invalid' });
});
