// A stream that has left HTTP: nothing of its request stays, and the connection behaves as any client expects.
import assert from 'node:assert/strict';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { connect as tlsConnect } from 'node:tls';
import { defined } from '@switchyard/contract';
import { openEventStream } from '../../../test/support/event-stream-client.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { makeCertificate } from '../authentication/certificate.fixture.ts';
import {
  createStreamSample,
  type StreamSample,
  streamPath,
} from '../server/event-stream.fixture.ts';

const token = 'all';

function head(version = '1.1', more = ''): string {
  return (
    `GET ${streamPath} HTTP/${version}\r\nHost: localhost\r\nAccept: text/event-stream\r\n` +
    `Authorization: Bearer ${token}\r\n${more}\r\n`
  );
}

type Spoken = { socket: Socket; text(): string; isOver(): boolean };

/** Sends the bytes unchanged, and collects the response. */
async function openSocket(sample: StreamSample, text: string, ca?: string): Promise<Spoken> {
  const port = Number(new URL(sample.url).port);
  const socket =
    ca === undefined
      ? connect(port, '127.0.0.1')
      : tlsConnect({ port, host: '127.0.0.1', servername: 'localhost', ca });
  let stream = '';
  let isOver = false;
  socket.setEncoding('utf8');
  socket.on('data', (part: string) => {
    stream += part;
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isOver = true;
  });
  socket.write(text);
  return { socket, text: () => stream, isOver: () => isOver };
}

/** What a client reads: each chunk as long as it says. */
function unchunked(body: string): { text: string; isWhole: boolean } {
  let text = '';
  let rest = Buffer.from(body);
  for (;;) {
    const end = rest.indexOf('\r\n');
    if (end < 0) return { text, isWhole: false };
    const length = Number.parseInt(rest.subarray(0, end).toString(), 16);
    if (length === 0) return { text, isWhole: true };
    text += rest.subarray(end + 2, end + 2 + length).toString();
    assert.equal(rest.subarray(end + 2 + length, end + 4 + length).toString(), '\r\n');
    rest = rest.subarray(end + 4 + length);
  }
}

const bodyOf = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4);
const running = (sample: StreamSample) => sample.metric('switchyard_http_requests_in_flight');

describe('an event stream that takes over its connection', () => {
  for (const kind of ['plain', 'TLS'] as const) {
    // Spec: QRPROV-17
    it(`is not a running request, and ends with a last chunk (${kind})`, async (t) => {
      const certificate = kind === 'TLS' ? await makeCertificate('server') : undefined;
      const sample = await createStreamSample(t, defined({ tls: certificate }));
      const stream = await openSocket(sample, head(), certificate?.cert);
      sample.happen({ text: 'zwölf €' });
      await eventually('the event', () => stream.text().includes('zwölf €'));
      assert.equal(await running(sample), 0);
      assert.equal(await sample.metric('switchyard_streams_open'), 1);
      sample.list.isFinished = true;
      sample.happen({ n: 2 });
      await eventually('the end', stream.isOver);
      const { text, isWhole } = unchunked(bodyOf(stream.text()));
      assert.ok(isWhole, 'nothing is cut off');
      assert.match(
        text,
        /^id: 0\nretry: \d+\n\nid: 1\n[\s\S]*"zwölf €"[\s\S]*id: 2\n[\s\S]*"completed"/,
      );
    });
  }

  it('announces and closes its connection, so that no client sends a further request on it', async (t) => {
    const sample = await createStreamSample(t);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    const sendRequest = (accept: string) =>
      new Promise<{ headers: IncomingMessage['headers']; body: string }>((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}`, accept };
        const streamRequest = request(sample.url, { agent, headers }, (response) => {
          let body = '';
          response.setEncoding('utf8');
          response.on('data', (part: string) => {
            body += part;
          });
          response.on('end', () => resolve({ headers: response.headers, body }));
        });
        streamRequest.on('error', reject);
        streamRequest.end();
      });
    sample.commit({ n: 1 });
    sample.list.isFinished = true;
    for (let round = 0; round < 20; round += 1) {
      const stream = await sendRequest('text/event-stream');
      assert.equal(stream.headers.connection, 'close');
      assert.match(stream.body, /"completed"/);
      // At once, while the server is still about to close it.
      const next = await sendRequest('application/json');
      assert.deepEqual(JSON.parse(next.body).ids, [1]);
      assert.equal(next.headers.connection, 'keep-alive');
    }
  });

  it('ignores a second request on the connection and continues', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await openSocket(sample, head());
    sample.happen({ n: 1 });
    await eventually('the first event', () => stream.text().includes('"n":1'));
    stream.socket.write(`${head()}GET / HTTP/1.1\r\n\r\nrubbish`);
    sample.happen({ n: 2 });
    await eventually('the second event', () => stream.text().includes('"n":2'));
    assert.equal(stream.text().match(/HTTP\/1\.1/g)?.length, 1);
    assert.equal(await sample.metric('switchyard_streams_open'), 1);
  });

  it('is closed when a second request came with the first one', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await openSocket(sample, head() + head());
    await eventually('the connection ends', stream.isOver);
    await eventually(
      'none is open',
      async () => (await sample.metric('switchyard_streams_open')) === 0,
    );
    const other = await openEventStream(sample.url, { token });
    sample.happen({ n: 1 });
    await other.waitForEvents(1);
  });

  it('serves clients that send Connection: close, and clients of HTTP/1.0', async (t) => {
    const sample = await createStreamSample(t);
    const closing = await openSocket(sample, head('1.1', 'Connection: close\r\n'));
    const old = await openSocket(sample, head('1.0'));
    sample.happen({ n: 1 });
    for (const stream of [closing, old]) {
      await eventually('the event', () => stream.text().includes('"n":1'));
    }
    sample.list.isFinished = true;
    sample.happen({ n: 2 });
    for (const stream of [closing, old]) await eventually('the end', stream.isOver);
    assert.doesNotMatch(old.text(), /chunked/i);
    assert.ok(unchunked(bodyOf(closing.text())).isWhole);
  });

  it('ends when its client closes one or both directions, and has no timeout of slow headers', async (t) => {
    const sample = await createStreamSample(t);
    const half = await openSocket(sample, head());
    const whole = await openSocket(sample, head());
    await eventually(
      'both wait',
      async () => (await sample.metric('switchyard_streams_open')) === 2,
    );
    half.socket.end();
    whole.socket.resetAndDestroy();
    await eventually(
      'none is open',
      async () => (await sample.metric('switchyard_streams_open')) === 0,
    );
    assert.equal(await sample.metric('switchyard_change_subscribers'), 0);
  });

  it('sends the reason and closes when the process stops', async (t) => {
    const sample = await createStreamSample(t);
    const all = await Promise.all(Array.from({ length: 5 }, () => openSocket(sample, head())));
    await eventually(
      'all wait',
      async () => (await sample.metric('switchyard_streams_open')) === 5,
    );
    await sample.close();
    for (const stream of all) {
      await eventually('the end', stream.isOver);
      const { text, isWhole } = unchunked(bodyOf(stream.text()));
      assert.ok(isWhole && text.includes('shutting_down'), text);
    }
  });
});
