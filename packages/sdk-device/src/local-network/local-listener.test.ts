// The local listener over real TLS: permitted clients, requests and sizes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import { type TestCertificates, testCertificates } from '../testing/certificates.fixture.ts';
import { type LocalListener, openLocalListener } from './local-listener.ts';
import type { LocalPosConnection } from './local-websockets.ts';

type LocalRequest = {
  method?: string;
  path?: string;
  body?: string;
  headers?: Record<string, string>;
};

describe('the local listener', () => {
  let certificates: TestCertificates;
  let listener: LocalListener;
  const faults: unknown[] = [];
  before(async () => {
    certificates = await testCertificates();
    listener = await openLocalListener({
      host: '127.0.0.1',
      port: 0,
      ...certificates.server,
      async handle(message) {
        if (message === 'fail') throw new Error('broken');
        return message === 'abort' ? undefined : `{"heard":${message.length}}`;
      },
      onError: (error) => faults.push(error),
    });
  });
  after(() => listener.close());

  function sendRequest(
    { method = 'POST', path = '/nexo', body = '{}', headers = {} }: LocalRequest,
    to: LocalListener = listener,
  ) {
    const options = { method, headers, ca: certificates.ca, agent: false } as const;
    return new Promise<{ status: number; body: string }>((resolve, reject) => {
      const sent = request(new URL(path, to.url), options, (answer) => {
        text(answer).then(
          (answerText) => resolve({ status: answer.statusCode ?? 0, body: answerText }),
          reject,
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  // Spec: CC-24
  test('answers at /nexo with and without a slash and answers an abort with an empty body', async () => {
    assert.deepEqual(await sendRequest({}), { status: 200, body: '{"heard":2}' });
    assert.equal((await sendRequest({ path: '/nexo/' })).status, 200);
    assert.deepEqual(await sendRequest({ body: 'abort' }), { status: 200, body: '' });
  });

  test('rejects other paths, other methods, web pages and long messages', async () => {
    assert.equal((await sendRequest({ path: '/' })).status, 404);
    assert.equal((await sendRequest({ method: 'GET' })).status, 405);
    assert.equal((await sendRequest({ headers: { origin: 'https://x.example' } })).status, 403);
    assert.equal((await sendRequest({ body: 'x'.repeat(1_048_577) })).status, 413);
    assert.equal((await sendRequest({ body: 'x'.repeat(1_048_576) })).status, 200);
  });

  test('closes the connection after a rejected request without reading the rest of the body', async () => {
    const acceptedBytesMax = 33_554_432;
    const part = Buffer.alloc(65_536, 'x');
    for (const [status, ...lines] of [
      ['404', 'POST / HTTP/1.1'],
      ['405', 'PUT /nexo HTTP/1.1'],
      ['403', 'POST /nexo HTTP/1.1', 'Origin: https://x.example'],
      ['413', 'POST /nexo HTTP/1.1'],
    ]) {
      const { hostname, port } = new URL(listener.url);
      const socket = connect({ host: hostname, port: Number(port), ca: certificates.ca });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      let heard = '';
      socket.on('data', (chunk) => {
        heard += chunk;
      });
      let isOpen = true;
      const end = new Promise<void>((resolve) => {
        socket.once('close', () => {
          isOpen = false;
          resolve();
        });
      });
      socket.write(`${lines.join('\r\n')}\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
      // One chunk of 1 TiB.
      socket.write('10000000000\r\n');
      while (isOpen && socket.bytesWritten < 8 * acceptedBytesMax) {
        if (!socket.write(part)) await Promise.race([once(socket, 'drain').catch(() => {}), end]);
      }
      socket.destroy();
      await end;
      assert.match(heard, new RegExp(`^HTTP/1\\.1 ${status} `), status);
      assert.match(heard, /^connection: close\r$/im, status);
      const accepted = socket.bytesWritten - socket.writableLength;
      assert.ok(accepted < acceptedBytesMax, `${status}: ${accepted} bytes`);
    }
  });

  test('keeps the connection after a rejected request whose body is complete', async () => {
    const { hostname, port } = new URL(listener.url);
    const socket = connect({ host: hostname, port: Number(port), ca: certificates.ca });
    await once(socket, 'secureConnect');
    for (const line of ['GET /nexo HTTP/1.1', 'GET / HTTP/1.1', 'GET /nexo HTTP/1.1']) {
      socket.write(`${line}\r\nHost: x\r\n\r\n`);
      assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 40[45] /);
    }
    socket.destroy();
  });

  test('an error of the handler is answered 500 and reported', async () => {
    assert.equal((await sendRequest({ body: 'fail' })).status, 500);
    assert.equal(faults.length, 1);
  });

  test('accepts plain HTTP only on loopback addresses', async () => {
    const handle = async () => '';
    await assert.rejects(openLocalListener({ host: '0.0.0.0', port: 0, handle }), TypeError);
    const plain = await openLocalListener({ host: '127.0.0.1', port: 0, handle });
    assert.match(plain.url, /^http:\/\/127/);
    await plain.close();
  });

  describe('by a WebSocket', () => {
    let sockets: LocalListener;
    const peers: LocalPosConnection[] = [];
    before(async () => {
      sockets = await openLocalListener({
        host: '127.0.0.1',
        port: 0,
        ...certificates.server,
        async handle(message, _signal, peer) {
          if (peer === undefined) return 'by HTTPS';
          if (message === 'fail') throw new Error('broken');
          peers.push(peer);
          await peer.send(`event beside ${message}`);
          return message === 'abort' ? undefined : `heard ${message}`;
        },
        onError: (error) => faults.push(error),
      });
    });
    after(() => sockets.close());

    async function dial(path = '/nexo', headers: Record<string, string> = {}) {
      const address = new URL(path, sockets.socketUrl);
      const socket = new WebSocket(address, { ca: certificates.ca, headers });
      const heard: string[] = [];
      socket.on('message', (data) => heard.push(String(data)));
      await once(socket, 'open');
      const next = async () => {
        while (heard.length === 0) await once(socket, 'message');
        return heard.shift();
      };
      const closed = async () => Number((await once(socket, 'close'))[0]);
      return { socket, next, closed };
    }

    // Spec: NEXO-42
    test('messages go both ways and the terminal can send at any time', async () => {
      const { socket, next, closed } = await dial();
      for (const word of ['one', 'abort', 'two']) socket.send(word);
      const responses = [];
      for (let n = 0; n < 5; n += 1) responses.push(await next());
      assert.deepEqual(responses.toSorted(), [
        'event beside abort',
        'event beside one',
        'event beside two',
        'heard one',
        'heard two',
      ]);
      const [peer] = peers;
      assert.ok(peer);
      await peer.send('later');
      assert.equal(await next(), 'later');
      await assert.rejects(peer.send('x'.repeat(1_048_577)), { code: 'message_too_large' });
      assert.deepEqual(await sendRequest({}, sockets), { status: 200, body: 'by HTTPS' });
      const disconnected = once(peer.disconnected, 'abort');
      socket.close();
      await Promise.all([disconnected, closed()]);
      await assert.rejects(peer.send('too late'), { kind: 'NotSent', code: 'not_connected' });
    });

    test('a binary message, a long message or a handler error closes the connection', async () => {
      for (const [message, code] of [
        [Buffer.of(1), 1003],
        ['x'.repeat(1_048_577), 1009],
        ['fail', 1011],
      ] as const) {
        const { socket, closed } = await dial();
        const before = faults.length;
        socket.send(message);
        assert.equal(await closed(), code);
        assert.equal(faults.length - before, code === 1011 ? 1 : 0);
      }
    });

    test('rejects other paths and web pages', async () => {
      await assert.rejects(dial('/'), /404/);
      await assert.rejects(dial('/nexo', { origin: 'https://x.example' }), /403/);
      (await dial('/nexo/')).socket.close();
    });

    test('closing the listener closes its WebSockets', async () => {
      const handle = async () => undefined;
      const certificate = certificates.server;
      const otherListener = await openLocalListener({
        host: '127.0.0.1',
        port: 0,
        ...certificate,
        handle,
      });
      const socket = new WebSocket(otherListener.socketUrl, { ca: certificates.ca });
      await once(socket, 'open');
      const closed = once(socket, 'close');
      await otherListener.close();
      assert.equal((await closed)[0], 1001);
    });
  });

  test('a slow client is disconnected and does not block other clients', async (t) => {
    const quick = await openLocalListener({
      host: '127.0.0.1',
      port: 0,
      ...certificates.server,
      handle: async () => '{}',
      timeouts: { headersMs: 4000, requestMs: 5000 },
    });
    t.after(() => quick.close());
    const { hostname, port } = new URL(quick.url);
    const slow = async (start: string): Promise<string> => {
      const socket = connect({ host: hostname, port: Number(port), ca: certificates.ca });
      socket.on('error', () => {});
      socket.write(start);
      return text(socket);
    };
    const head = 'POST /nexo HTTP/1.1\r\nhost: terminal\r\n';
    const half = slow(head);
    const body = slow(`${head}content-length: 100\r\n\r\n{`);
    const answer = await sendRequest({}, quick);
    assert.equal(answer.status, 200);
    assert.match(await half, /^HTTP\/1\.1 408 /);
    assert.match(await body, /^HTTP\/1\.1 408 /);
  });
});
