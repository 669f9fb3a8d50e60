// Whole run: much is made, or waited for, before it shows.
// Clients that connect and send nothing or single bytes: over real sockets, with short timeouts.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect as connectPlain, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { waitForSocketClose } from '../../../test/support/wait-for-socket-close.ts';
import { createMetrics } from '../../platform/index.ts';
import { type MadeCertificate, makeCertificate } from '../authentication/certificate.fixture.ts';
import { createListener } from '../server/listener.ts';
import { createSample, type Sample } from '../server/sample-server.fixture.ts';
import { type ConnectionTimeouts, createNewConnectionLimits } from './new-connection-limits.ts';

const host = '127.0.0.1';
const byteIntervalMs = 10;
const shortTimeouts: Partial<ConnectionTimeouts> = {
  // Long enough for the clients that send a request, also on a busy machine.
  handshakeMs: 4000,
  headersMs: 4000,
  requestMs: 4500,
  checkIntervalMs: 20,
};

/** A connection that sends nothing. */
async function openSilentConnection(port: number): Promise<Socket> {
  const socket = connectPlain({ port, host });
  // A socket that is not read does not report its end.
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  return socket;
}

async function openTlsConnection(port: number, { cert }: MadeCertificate): Promise<TLSSocket> {
  const socket = connect({ port, host, ca: cert, servername: 'localhost' });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

/** Sends slowly until the server closes the connection. @returns the received text */
async function sendByteByByte(socket: Socket, first: string, then: string): Promise<string> {
  const received: Buffer[] = [];
  socket.on('data', (part: Buffer) => received.push(part));
  socket.write(first);
  const dripping = setInterval(() => socket.write(then), byteIntervalMs);
  await waitForSocketClose(socket);
  clearInterval(dripping);
  return Buffer.concat(received).toString();
}

const head = 'GET /sample/v1/things HTTP/1.1\r\nHost: x\r\n';
const upgrade = `${head}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n`;

describe('slow clients', () => {
  const metrics = createMetrics();
  let certificate: MadeCertificate;
  let sample: Sample;
  let port: number;
  before(async () => {
    certificate = await makeCertificate('server');
    sample = await createSample({ tls: certificate, metrics, connectionTimeouts: shortTimeouts });
    ({ port } = await sample.listen());
  });
  after(() => sample.close());

  async function metricValue(text: string): Promise<number> {
    const all = await metrics.registry.metrics();
    const metricLine = all.split('\n').find((row) => row.startsWith(text));
    return Number(metricLine?.split(' ').at(-1));
  }
  const closedBy = (reason: string) =>
    metricValue(`switchyard_http_new_connections_closed_total{reason="${reason}"}`);

  /** Once the server has seen the ends as well. */
  async function noNewConnections(): Promise<void> {
    while ((await metricValue('switchyard_http_new_connections ')) > 0)
      await new Promise(setImmediate);
  }

  // Spec: NEXO-11
  it('are disconnected when they do not complete the TLS handshake', async () => {
    const before = await closedBy('handshake_timeout');
    const silent = await openSilentConnection(port);
    const slow = await openSilentConnection(port);
    // The head of a ClientHello, then its body byte by byte.
    const hello = sendByteByByte(slow, '\x16\x03\x01\x02\x00\x01', '\x00');
    await Promise.all([waitForSocketClose(silent), hello]);
    assert.equal(await closedBy('handshake_timeout'), before + 2);
    await noNewConnections();
  });

  // Spec: NEXO-11
  it('are disconnected when they do not complete the headers of a request or a WebSocket handshake', async () => {
    const before = await closedBy('request_timeout');
    const [silent, page, socket] = await Promise.all(
      [1, 2, 3].map(() => openTlsConnection(port, certificate)),
    );
    assert.ok(silent && page && socket);
    const ends = [
      waitForSocketClose(silent.resume()),
      sendByteByByte(page, head, 'a'),
      sendByteByByte(socket, upgrade, 'a'),
    ];
    for (const response of (await Promise.all(ends)).slice(1)) {
      assert.match(String(response), /^HTTP\/1\.1 408 /);
      assert.match(String(response), /request_timeout/);
    }
    assert.equal(await closedBy('request_timeout'), before + 3);
    await noNewConnections();
  });

  it('are not clients that have sent a request: their idle connections stay open', async () => {
    const socket = await openTlsConnection(port, certificate);
    const asks = async () => {
      socket.write(`${head}Authorization: Bearer all\r\n\r\n`);
      return String((await once(socket, 'data'))[0]);
    };
    assert.match(await asks(), /^HTTP\/1\.1 200 /);
    await noNewConnections();
    // Until the server has closed a connection without a request.
    await waitForSocketClose(await openSilentConnection(port));
    assert.match(await asks(), /^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

it('a half-sent request closes after 15 seconds where no other time is set', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const newConnections = createNewConnectionLimits({});
  assert.equal(newConnections.timeouts.requestMs, 15_000);
  const server = createListener((request) => void request.resume(), {
    tls: undefined,
    newConnections,
    isUpgrade: () => false,
    webSockets: 0,
    sendsHsts: false,
  });
  const timeouts: string[] = [];
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    timeouts.push(String(error.code));
    socket.destroy();
  });
  server.listen(0, host);
  await once(server, 'listening');
  t.after(() => server.close());
  const socket = await openSilentConnection((server.address() as AddressInfo).port);
  const end = waitForSocketClose(socket);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf');
  await once(server, 'request');
  t.mock.timers.tick(14_999);
  assert.deepEqual(timeouts, []);
  t.mock.timers.tick(1);
  assert.deepEqual(timeouts, ['ERR_HTTP_REQUEST_TIMEOUT']);
  await end;
});

describe('more silent connections than the limit', () => {
  let certificate: MadeCertificate;
  before(async () => {
    certificate = await makeCertificate('server');
  });

  async function opened(timeouts: Partial<ConnectionTimeouts>) {
    const metrics = createMetrics();
    const arrivals = createNewConnectionLimits({ metrics, timeouts: timeouts });
    const few = {
      ...arrivals,
      watch: (...[server, isTls]: Parameters<typeof arrivals.watch>) =>
        arrivals.watch(server, isTls, 4),
    };
    const server = createListener((_, response) => response.end('served'), {
      tls: certificate,
      newConnections: few,
      isUpgrade: () => false,
      webSockets: 0,
      sendsHsts: false,
    });
    server.listen(0, host);
    await once(server, 'listening');
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const { port } = address;
    const close = async () => {
      server.close();
      server.closeAllConnections();
    };
    return { port, close };
  }

  const sendRequest = async (port: number): Promise<string> => {
    const socket = await openTlsConnection(port, certificate);
    return sendByteByByte(socket, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', '');
  };

  // Spec: NEXO-11
  it('the oldest connection is closed after some time without a request', async (t) => {
    const { port, close } = await opened({ evictAfterMs: 0 });
    const silent: Socket[] = [];
    for (let n = 0; n < 4; n += 1) silent.push(await openSilentConnection(port));
    t.after(() => {
      for (const socket of silent) socket.destroy();
      return close();
    });
    const first = waitForSocketClose(silent[0] as Socket);
    assert.match(await sendRequest(port), /served/);
    await first;
    assert.deepEqual(
      silent.map(({ destroyed }) => destroyed),
      [true, false, false, false],
    );
    for (let n = 0; n < 20; n += 1) assert.match(await sendRequest(port), /served/);
  });

  it('the newest connection is closed before that time, so that many new connections do not displace an older one', async (t) => {
    const { port, close } = await opened({ evictAfterMs: 60_000 });
    const silent: Socket[] = [];
    for (let n = 0; n < 4; n += 1) silent.push(await openSilentConnection(port));
    t.after(() => {
      for (const socket of silent) socket.destroy();
      return close();
    });
    await waitForSocketClose(await openSilentConnection(port));
    assert.ok(silent.every(({ destroyed }) => !destroyed));
    silent[0]?.destroy();
    for (;;) {
      const response = await sendRequest(port).catch(() => '');
      if (response.includes('served')) break;
    }
  });
});
