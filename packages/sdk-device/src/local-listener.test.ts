// The local listener over real TLS: who may ask, what, and how much.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { type TestCertificates, testCertificates } from './certificates.fixture.ts';
import { type LocalListener, openLocalListener } from './local-listener.ts';

type Ask = { method?: string; path?: string; body?: string; headers?: Record<string, string> };

describe('the local listener', () => {
  let certificates: TestCertificates;
  let listener: LocalListener;
  const faults: unknown[] = [];
  before(async () => {
    certificates = await testCertificates();
    listener = await openLocalListener({
      ...{ host: '127.0.0.1', port: 0, ...certificates.server },
      async handle(message) {
        if (message === 'fail') throw new Error('broken');
        return message === 'abort' ? undefined : `{"heard":${message.length}}`;
      },
      onFault: (error) => faults.push(error),
    });
  });
  after(() => listener.close());

  function ask(
    { method = 'POST', path = '/nexo', body = '{}', headers = {} }: Ask,
    to: LocalListener = listener,
  ) {
    const options = { method, headers, ca: certificates.ca, agent: false } as const;
    return new Promise<{ status: number; body: string }>((resolve, reject) => {
      const sent = request(new URL(path, to.url), options, (answer) => {
        text(answer).then(
          (told) => resolve({ status: answer.statusCode ?? 0, body: told }),
          reject,
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  test('answers at /nexo with and without a slash; an abort with nothing', async () => {
    assert.deepEqual(await ask({}), { status: 200, body: '{"heard":2}' });
    assert.equal((await ask({ path: '/nexo/' })).status, 200);
    assert.deepEqual(await ask({ body: 'abort' }), { status: 200, body: '' });
  });

  test('refuses other addresses, methods, pages of browsers, and what is too long', async () => {
    assert.equal((await ask({ path: '/' })).status, 404);
    assert.equal((await ask({ method: 'GET' })).status, 405);
    assert.equal((await ask({ headers: { origin: 'https://x.example' } })).status, 403);
    const long = await ask({ body: 'x'.repeat(1_048_577) }).catch(() => ({ status: 413 }));
    assert.equal(long.status, 413);
    assert.equal((await ask({ body: 'x'.repeat(1_048_576) })).status, 200);
  });

  test('a fault of the handler is a 500, and is told', async () => {
    assert.equal((await ask({ body: 'fail' })).status, 500);
    assert.equal(faults.length, 1);
  });

  test('is open without TLS on this machine alone', async () => {
    const handle = async () => '';
    await assert.rejects(openLocalListener({ host: '0.0.0.0', port: 0, handle }), TypeError);
    const plain = await openLocalListener({ host: '127.0.0.1', port: 0, handle });
    assert.match(plain.url, /^http:\/\/127/);
    await plain.close();
  });

  test('a client that sends too slowly is cut off, and keeps nobody else out', async (t) => {
    const quick = await openLocalListener({
      ...{ host: '127.0.0.1', port: 0, ...certificates.server },
      ...{ handle: async () => '{}', patience: { headMs: 100, allMs: 200 } },
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
    const answer = await ask({}, quick);
    assert.equal(answer.status, 200);
    assert.match(await half, /^HTTP\/1\.1 408 /);
    assert.match(await body, /^HTTP\/1\.1 408 /);
  });
});
