import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { maxAcceptedBytes, sendEndlessBody } from '../../../test/support/send-endless-body.ts';
import { waitForSocketClose } from '../../../test/support/wait-for-socket-close.ts';
import {
  bytesPerPeriod,
  limitIncompleteRequests,
  unreadBodyLimitBytes,
} from './incomplete-requests.ts';

const head = (...lines: string[]) => `POST / HTTP/1.1\r\nHost: x\r\n${lines.join('\r\n')}\r\n\r\n`;

async function respondLater(request: IncomingMessage, response: ServerResponse, delayMs: number) {
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  let length = 0;
  for await (const chunk of request) length += chunk.length;
  response.end(`read ${length}`);
}

async function open(t: TestContext, handler: RequestListener, periodMs = 30_000) {
  const server = createServer({ requestTimeout: 0 }, handler);
  server.prependListener('request', limitIncompleteRequests(server, periodMs));
  const timeouts: string[] = [];
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    timeouts.push(String(error.code));
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    timeouts,
    async dial(): Promise<Socket> {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      await once(socket, 'connect');
      return socket;
    },
  };
}

const respondWithoutReading: RequestListener = (_request, response) => {
  response.writeHead(413).end('too large');
};

describe('incomplete requests', () => {
  for (const [name, header] of [
    ['chunked', 'Transfer-Encoding: chunked'],
    ['long', `Content-Length: ${2 ** 40}`],
  ] as const) {
    test(`a ${name} body is not read after the response, which the client receives`, async (t) => {
      const { dial } = await open(t, respondWithoutReading);
      const socket = await dial();
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(head(header));
      // One chunk of 1 TiB.
      if (name === 'chunked') socket.write('10000000000\r\n');
      const { acceptedBytes } = await sendEndlessBody(socket);
      assert.match(text, /^HTTP\/1\.1 413 /);
      assert.match(text, /too large/);
      assert.ok(acceptedBytes < maxAcceptedBytes, `${acceptedBytes} bytes`);
    });
  }

  // Spec: PROV-31
  test('a short body is read after the response, and the connection stays usable', async (t) => {
    const { dial } = await open(t, respondWithoutReading);
    const socket = await dial();
    for (let count = 0; count < 3; count += 1) {
      socket.write(head(`Content-Length: ${unreadBodyLimitBytes}`));
      assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 413 /);
      socket.write(Buffer.alloc(unreadBodyLimitBytes));
    }
    socket.destroy();
  });

  // Spec: PROV-31
  test('a half-sent body is a timeout before the response and closes after it', {
    timeout: 20_000,
  }, async (t) => {
    const { dial, timeouts } = await open(
      t,
      (request, response) => {
        if (request.url === '/') request.resume();
        else response.writeHead(200).write('begun');
      },
      200,
    );
    const [before, after] = [await dial(), await dial()];
    before.resume().write(`${head('Content-Length: 10')}half`);
    after.resume().write(`${head('Content-Length: 10').replace('/', '/begun')}half`);
    for (const socket of [before, after]) socket.once('end', () => socket.end());
    await Promise.all([waitForSocketClose(before), waitForSocketClose(after)]);
    assert.deepEqual(timeouts, ['ERR_HTTP_REQUEST_TIMEOUT']);
  });

  test('a long body stays open while enough arrives and while the server does not read', async (t) => {
    const periodMs = 300;
    const sizeBytes = 4 * bytesPerPeriod;
    const { dial, timeouts } = await open(
      t,
      (request, response) => void respondLater(request, response, 3 * periodMs),
      periodMs,
    );
    const socket = await dial();
    socket.write(head(`Content-Length: ${sizeBytes}`));
    socket.write(Buffer.alloc(sizeBytes));
    assert.match(String((await once(socket, 'data'))[0]), new RegExp(`read ${sizeBytes}$`));
    assert.deepEqual(timeouts, []);
    socket.destroy();
  });
});
