import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { Problem } from '@switchyard/contract';
import { Type } from 'typebox';
import { waitForSocketClose } from '../../../test/support/wait-for-socket-close.ts';
import { type MadeCertificate, makeCertificate } from '../authentication/certificate.fixture.ts';
import { connectionLimit, createNewConnectionLimits } from '../limits/new-connection-limits.ts';
import { route } from '../routes/declare-route.ts';
import { createListener, headerLimitBytes } from './listener.ts';
import { createSample, type Sample } from './sample-server.fixture.ts';

const sale = JSON.stringify({ name: 'cup', amount: 1 });
const headers = { authorization: 'Bearer all', 'content-type': 'application/json' };

type Answer = { status: number; headers: Record<string, unknown>; body: string };

describe('the connections of a listener', () => {
  it('are limited, and WebSockets have a limit of their own', () => {
    const plain = { tls: undefined, sendsHsts: false, isUpgrade: () => false };
    const options = { ...plain, newConnections: createNewConnectionLimits({}) };
    for (const webSockets of [0, 9000]) {
      const { maxConnections } = createListener(() => {}, { ...options, webSockets });
      assert.equal(maxConnections, connectionLimit + webSockets);
    }
  });
});

describe('http over TLS', () => {
  let certificate: MadeCertificate;
  let sample: Sample;
  let port: number;

  before(async () => {
    certificate = await makeCertificate('server');
    sample = await createSample({ tls: certificate });
    ({ port } = await sample.listen());
  });
  after(() => sample.close());

  function send(agent: Agent, options: { path?: string; body?: string; chunked?: boolean } = {}) {
    const { path = '/sample/v1/things', body = sale, chunked = false } = options;
    return new Promise<Answer>((resolve, reject) => {
      const sent = request(
        { port, path, method: 'POST', headers, agent, ca: certificate.cert },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk) => chunks.push(chunk));
          answer.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text });
          });
          answer.on('error', reject);
        },
      );
      sent.on('error', reject);
      if (chunked) sent.write(body);
      sent.end(chunked ? '' : body);
    });
  }

  async function withAgent<Result>(use: (agent: Agent) => Promise<Result>): Promise<Result> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      return await use(agent);
    } finally {
      agent.destroy();
    }
  }

  async function dial(options: object = {}): Promise<TLSSocket> {
    const socket = connect({ port, ca: certificate.cert, servername: 'localhost', ...options });
    await once(socket, 'secureConnect');
    return socket;
  }

  /** Sends bytes and reads until the server closes. */
  async function exchange(bytes: string): Promise<string> {
    const socket = await dial();
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.write(bytes);
    await waitForSocketClose(socket);
    return Buffer.concat(chunks).toString();
  }

  it('serves several requests on one connection', async () => {
    await withAgent(async (agent) => {
      assert.equal((await send(agent)).status, 200);
      const [socket] = Object.values(agent.freeSockets).flat();
      assert.equal((await send(agent)).status, 200);
      assert.ok(socket !== undefined && Object.values(agent.freeSockets).flat().includes(socket));
    });
  });

  // Spec: FLOW-4
  it('speaks TLS 1.2 and 1.3 and nothing older', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await dial({ minVersion: version, maxVersion: version });
      assert.equal(socket.getProtocol(), version);
      socket.destroy();
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    await assert.rejects(dial(old));
  });

  for (const [name, bytes, status, code] of [
    ['bytes that are not HTTP', 'hello\r\n\r\n', 400, 'request_malformed'],
    [
      'a header without a colon',
      'GET / HTTP/1.1\r\nHost: x\r\nbad\r\n\r\n',
      400,
      'request_malformed',
    ],
    [
      'headers beyond the limit',
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(headerLimitBytes)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
      'request_malformed',
    ],
    [
      'length and chunks together',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'request_malformed',
    ],
  ] as const) {
    it(`answers ${name} and closes`, async () => {
      const [head = '', body = ''] = (await exchange(bytes)).split('\r\n\r\n');
      assert.ok(head.startsWith(`HTTP/1.1 ${status} `), head);
      assert.match(head, /Content-Type: application\/problem\+json/);
      assert.match(head, /Connection: close/);
      const problem: Problem = JSON.parse(body);
      assert.equal(problem.code, code);
      assert.equal(problem.status, status);
    });
  }

  it('accepts neither of two Authorization headers', async () => {
    const answer = await exchange(
      'GET /sample/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\nAuthorization: Bearer all\r\nConnection: close\r\n\r\n',
    );
    assert.match(answer, /^HTTP\/1\.1 401 /);
    assert.match(answer, /token_invalid/);
  });

  it('rejects a chunked body above the limit while it is received', async () => {
    await withAgent(async (agent) => {
      const answer = await send(agent, { body: `"${'x'.repeat(1_048_577)}"`, chunked: true });
      assert.equal(answer.status, 413);
      assert.equal(JSON.parse(answer.body).code, 'payload_too_large');
    });
  });

  it('survives a client that disconnects in the middle of a body', async () => {
    const lines = sample.lines.length;
    const socket = await dial();
    socket.write(
      `POST /sample/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a`,
    );
    await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    await withAgent(async (agent) => assert.equal((await send(agent)).status, 200));
    assert.ok(!JSON.stringify(sample.lines.slice(lines)).includes('unexpected error'));
  });
});

describe('stopping', () => {
  /** A route that answers when the test says so. */
  async function createSlow(certificate: MadeCertificate) {
    const sample = await createSample({ tls: certificate });
    let release = () => {};
    let begun = () => {};
    const begins = new Promise<void>((resolve) => {
      begun = resolve;
    });
    route(sample.app, {
      method: 'POST',
      url: '/slow',
      operationId: 'slow',
      summary: 'Wait',
      tags: [],
      permission: 'public',
      response: { 200: Type.Object({}) },
      errors: [],
      async handler() {
        begun();
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        return { finished: true };
      },
    });
    const { port } = await sample.listen();
    return { sample, port, begins, release: () => release() };
  }

  async function until(socket: TLSSocket, text: string, already = ''): Promise<string> {
    let received = already;
    while (!received.includes(text)) received += String((await once(socket, 'data'))[0]);
    return received;
  }

  const slow = 'POST /slow HTTP/1.1\r\nHost: x\r\n\r\n';

  it('finishes running requests and answers new ones with shutting_down', async () => {
    const certificate = await makeCertificate('server');
    const { sample, port, begins, release } = await createSlow(certificate);
    const first = connect({ port, ca: certificate.cert, servername: 'localhost' });
    const second = connect({ port, ca: certificate.cert, servername: 'localhost' });
    await Promise.all([once(first, 'secureConnect'), once(second, 'secureConnect')]);
    first.write(slow);
    await begins;
    const closed = sample.close();
    second.write(slow);
    const refused = await until(second, '}');
    assert.match(refused, /^HTTP\/1.1 503 /);
    assert.match(refused, /shutting_down/);
    assert.match(refused, /connection: close/i);
    assert.match(refused, /retry-after: 1/i);
    release();
    assert.match(await until(first, '}'), /"finished":true/);
    await closed;
    first.destroy();
    second.destroy();
  });

  it('interrupts requests that do not finish within the limit', async () => {
    const certificate = await makeCertificate('server');
    const { sample, port, begins } = await createSlow(certificate);
    const socket = connect({ port, ca: certificate.cert, servername: 'localhost' });
    socket.on('error', () => {});
    socket.write(slow);
    await begins;
    const cut = waitForSocketClose(socket);
    await sample.close(50);
    await cut;
    assert.ok(sample.lines.some(({ left }) => left === 1));
  });
});
