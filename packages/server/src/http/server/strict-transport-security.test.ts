import assert from 'node:assert/strict';
import { text as readAll } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { connect } from 'node:tls';
import { makeCertificate } from '../authentication/certificate.fixture.ts';
import { createSample, sampleBaseUrl } from './sample-server.fixture.ts';

const get = (path: string, ...lines: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: localhost', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`;
const upgrade = (path: string, version: string) =>
  get(path).replace(
    'Connection: close',
    `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: ${version}\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==`,
  );

/** A request in bytes, and the status of its response. */
const requests: readonly [string, number][] = [
  [get('/openapi.json'), 200],
  [get('/openapi.json').replace('GET', 'HEAD'), 200],
  [get('/docs/api'), 200],
  [get('/nothing'), 404],
  [get('/sample/v1/things'), 401],
  [get('/sample/v1/fault'), 500],
  [get('/openapi.json').replace('GET', 'DELETE'), 405],
  [get('/sample/v1/things', 'Expect: nonsense'), 417],
  [get('/openapi.json').replace('Host: localhost\r\n', ''), 400],
  ['nonsense\r\n\r\n', 400],
  [get('/', `X-Long: ${'x'.repeat(20_000)}`), 431],
  [upgrade('/socket', '12'), 426],
  [upgrade('/socket', '13'), 101],
];

async function sendRequest(port: number, ca: string, request: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca });
  socket.write(request);
  return await readAll(socket);
}

/** The responses of both listeners, each with so many lines of HSTS. */
async function expectLines(environment: string, count: number): Promise<void> {
  const tls = await makeCertificate('server');
  const address = { host: '127.0.0.1', port: 0, baseUrl: sampleBaseUrl, authUrl: sampleBaseUrl };
  const sample = await createSample({
    settings: { ...address, environment },
    tls,
    deviceListener: { port: 0, tls, prefix: '/door/', exclusiveRoutes: [] },
  });
  sample.upgrades.add({
    path: '/socket',
    bearer: 'optional',
    maxMessageBytes: 100,
    isOnDeviceListener: true,
    accept: async () => ({ onOpen: (socket) => socket.terminate() }),
  });
  const { port, devicePort: secondPort = 0 } = await sample.listen();
  try {
    for (const [request, status] of requests) {
      const [first, second] = [
        await sendRequest(port, tls.cert, request),
        await sendRequest(secondPort, tls.cert, request),
      ];
      assert.match(first, RegExp(`^HTTP/1.1 ${status} `), request.slice(0, 60));
      for (const response of [first, second]) {
        const sent = response.match(/^strict-transport-security: max-age=31536000\r$/gim) ?? [];
        assert.equal(sent.length, count, `${request.slice(0, 60)}\n${response.slice(0, 400)}`);
      }
    }
  } finally {
    await sample.close();
  }
}

describe('HSTS', () => {
  // Spec: SET-11
  test('is in each response over TLS in production, also in those that Node writes', () =>
    expectLines('production', 1));

  test('is in no response of the demo, because browsers apply it to all of localhost', () =>
    expectLines('demo', 0));
});
