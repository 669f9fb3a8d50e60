// A terminal in the local network over HTTP: the outcome of a payment if the connection fails.
import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type ClientRequest, createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@switchyard/sdk-core';
import type { PosError } from '../index.ts';
import { createPosWithTerminal, isPosError, order } from '../testing/pos-with-terminal.fixture.ts';
import { waitUntil } from '../testing/wait-until.fixture.ts';
import { localLink } from './terminal-links.ts';

/** Starts a terminal listener with the given request handler. */
async function listening(t: TestContext, listen: RequestListener): Promise<string> {
  const server = createServer(listen);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/nexo`;
}

/** Accepts connections and never answers. */
async function mute(t: TestContext) {
  const sockets: Socket[] = [];
  const server = createSocketServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { sockets, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/nexo` };
}

// Spec: NEXO-47
test('a network that fails after delivery leaves the payment unknown', async (t) => {
  for (const code of ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN']) {
    const { createTerminal, clock } = await createPosWithTerminal(t);
    const requests: ClientRequest[] = [];
    const noted = (message: unknown) =>
      void requests.push((message as { request: ClientRequest }).request);
    let read = 0;
    const url = await listening(t, (request, response) => {
      let text = '';
      request.on('data', (part) => {
        text += String(part);
      });
      request.on('end', () => {
        if (!text.includes('PaymentRequest')) return void response.end();
        read += 1;
        const lost = Object.assign(new Error(`read ${code}`), { code });
        const { host } = request.headers;
        return requests.findLast((each) => each.getHeader('host') === host)?.socket?.destroy(lost);
      });
    });
    const terminal = createTerminal({ transport: { kind: 'local', url } });
    await terminal.open();
    diagnostics.subscribe('http.client.request.start', noted);
    t.after(() => diagnostics.unsubscribe('http.client.request.start', noted));
    let ended: PosError | undefined;
    const sold = terminal.sale(order).catch((error: PosError) => {
      ended = error;
    });
    await waitUntil(() => read === 1, 'the payment');
    await waitUntil(() => {
      if (ended === undefined && clock.waits().includes(5_000)) clock.advance(5_000);
      return ended !== undefined;
    }, 'the end of asking');
    await sold;
    assert.deepEqual([ended?.code, ended?.outcome], ['outcome_unknown', 'Unknown'], code);
    diagnostics.unsubscribe('http.client.request.start', noted);
    await terminal.close();
  }
});

// Spec: NEXO-47
test('a terminal without a connection after ten seconds has processed nothing', async (t) => {
  const { url, sockets } = await mute(t);
  const { createTerminal, clock, store } = await createPosWithTerminal(t);
  const terminal = createTerminal({ transport: { kind: 'local', url } });
  await terminal.open();
  const sold = assert.rejects(
    terminal.sale(order),
    isPosError('Transport', 'timeout', 'NotProcessed'),
  );
  await waitUntil(() => sockets.length === 1, 'a connection');
  assert.deepEqual(clock.waits(), [10_000, 120_000, 120_000]);
  clock.advance(10_000);
  await sold;
  assert.equal((await store.load())[0]?.outcome, 'NotProcessed');
  assert.equal(sockets.length, 1, 'no status request was sent');
  assert.deepEqual(clock.waits(), []);
});

test('an error response of the terminal has its code and detail', async (t) => {
  const body = JSON.stringify({ code: 'not_paired', detail: 'The till is not paired.' });
  const url = await listening(t, (request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(403).end(body));
  });
  const link = localLink(
    { url, tls: {}, answerMs: 5_000, clock: systemClock },
    { onMessage: () => {}, onLost: () => {} },
  );
  await assert.rejects(link.send('{}'), {
    code: 'not_paired',
    outcome: 'NotProcessed',
    message: 'the terminal answered with 403 not_paired: The till is not paired.',
  });
  await link.close();
});

test('a response timeout shorter than the connection timeout applies to the connection', async (t) => {
  const { url, sockets } = await mute(t);
  const { createTerminal, clock } = await createPosWithTerminal(t);
  const terminal = createTerminal({
    transport: { kind: 'local', url },
    times: { answerMs: 2_000 },
  });
  await terminal.open();
  const sold = assert.rejects(
    terminal.sale(order),
    isPosError('Transport', 'timeout', 'NotProcessed'),
  );
  await waitUntil(() => sockets.length === 1, 'a connection');
  clock.advance(2_000);
  await sold;
});

test('the point of sale holds the connection open for the whole response time', async (t) => {
  const { createTerminal, clock } = await createPosWithTerminal(t);
  let heard = 0;
  const url = await listening(t, (request, response) => {
    request.resume();
    request.on('end', () => {
      heard += 1;
      if (heard > 1) response.end();
    });
  });
  const terminal = createTerminal({ transport: { kind: 'local', url } });
  await terminal.open();
  let outcome = '';
  const sold = terminal.sale(order).catch((error: PosError) => {
    ({ outcome } = error);
  });
  await waitUntil(() => heard === 1, 'the payment');
  clock.advance(10_000);
  clock.advance(109_999);
  assert.deepEqual(clock.waits(), [1, 1], 'nothing has ended it');
  clock.advance(1);
  await waitUntil(() => {
    if (outcome === '' && clock.waits().includes(5_000)) clock.advance(5_000);
    return outcome !== '';
  }, 'the end of asking');
  await sold;
  assert.equal(outcome, 'Unknown');
});

// Spec: NEXO-47
test('an empty response means delivery: the outcome is requested at once', async (t) => {
  const { createTerminal, fakeTerminal, clock } = await createPosWithTerminal(t);
  fakeTerminal.holdsAnswers = true;
  const url = await listening(t, (request, response) => {
    let text = '';
    request.on('data', (part) => {
      text += String(part);
    });
    request.on('end', () => {
      let told = '';
      fakeTerminal.receive(text, (answer) => {
        told = answer;
      });
      response.end(told);
      // The terminal took the payment without an answer, and has completed it before the status
      // request.
      if (text.includes('PaymentRequest')) fakeTerminal.finish();
    });
  });
  const terminal = createTerminal({ transport: { kind: 'local', url } });
  await terminal.open();
  assert.equal((await terminal.sale(order)).result, 'Success');
  assert.deepEqual(fakeTerminal.receivedCategories, ['Payment', 'TransactionStatus']);
  assert.equal(clock.now(), 1_800_000_000_000, 'nothing was waited for');
  assert.equal(fakeTerminal.services.length, 1);
});

test('a device message with an empty response ends at once, and a notification is sent', async (t) => {
  const { createTerminal } = await createPosWithTerminal(t);
  let heard = 0;
  const url = await listening(t, (request, response) => {
    request.resume();
    request.on('end', () => {
      heard += 1;
      response.writeHead(204).end();
    });
  });
  const terminal = createTerminal({ transport: { kind: 'local', url } });
  await terminal.open();
  const sound = { SoundAction: 'StartSound', ResponseMode: 'NotRequired' } as const;
  const pending = terminal.request('Sound', { ...sound, SoundContent: { SoundFormat: 'Text' } });
  await assert.rejects(pending, isPosError('Transport', 'answer_empty', 'Unknown'));
  const MessageReference = { MessageCategory: 'Input', SaleID: 'till-3', DeviceID: '1' };
  const output = { OutputFormat: 'Text', OutputText: [{ Text: 'more' }] };
  await terminal.updateInput({ MessageReference, OutputContent: output });
  assert.equal(heard, 2);
});
