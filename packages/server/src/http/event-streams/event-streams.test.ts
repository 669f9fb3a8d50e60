import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { openEventStream } from '../../../test/support/event-stream-client.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { makeCertificate } from '../authentication/certificate.fixture.ts';
import {
  createEmptySharedList,
  createStreamSample,
  type StreamSample,
} from '../server/event-stream.fixture.ts';
import { callerWith } from '../server/sample-server.fixture.ts';

const token = 'all';
const idsOf = (events: readonly { id?: number }[]) => events.map(({ id }) => id);
const endedBy = (reason: string) => `switchyard_streams_ended_total{reason="${reason}"}`;

async function openCount(sample: StreamSample): Promise<number> {
  return sample.metric('switchyard_streams_open');
}

describe('an event stream', () => {
  it('sends past events, then new events, with their ids', async (t) => {
    const sample = await createStreamSample(t);
    sample.commit({ n: 1 });
    sample.commit({ n: 2 }, 'thing.went');
    const stream = await openEventStream(sample.url, { token });
    assert.equal(stream.status, 200);
    assert.equal(stream.headers['content-type'], 'text/event-stream');
    assert.equal(stream.headers['cache-control'], 'no-store');
    assert.equal(stream.headers['x-accel-buffering'], 'no');
    assert.ok(stream.headers['x-request-id']);
    await stream.waitForEvents(2);
    sample.happen({ n: 3 });
    assert.deepEqual(await stream.waitForEvents(3), [
      { id: 1, type: 'thing.happened', data: { n: 1 } },
      { id: 2, type: 'thing.went', data: { n: 2 } },
      { id: 3, type: 'thing.happened', data: { n: 3 } },
    ]);
    const retryMs = stream.retryMs() ?? 0;
    assert.ok(retryMs >= 2000 && retryMs <= 4000, `${retryMs}`);
  });

  // Spec: QRPROV-22
  it('continues after the last event that the client received', async (t) => {
    const sample = await createStreamSample(t);
    for (let n = 1; n <= 25; n += 1) sample.commit({ n });
    const stream = await openEventStream(`${sample.url}?after=2`, { token, lastEventId: 22 });
    assert.deepEqual(idsOf(await stream.waitForEvents(3)), [23, 24, 25]);
    const other = await openEventStream(`${sample.url}?after=23`, { token });
    const silent = await openEventStream(`${sample.url}?after=25`, { token });
    await eventually('its place', () => silent.lastEventId() === 25);
    assert.deepEqual(idsOf(await other.waitForEvents(2)), [24, 25]);
    const all = await openEventStream(sample.url, { token });
    assert.deepEqual(
      idsOf(await all.waitForEvents(25)),
      Array.from({ length: 25 }, (_, index) => index + 1),
    );
  });

  it('an error before the first event is a problem response', async (t) => {
    const sample = await createStreamSample(t);
    const problem = async (stream: Awaited<ReturnType<typeof openEventStream>>) => {
      assert.equal(stream.headers['content-type'], 'application/problem+json');
      return [stream.status, JSON.parse(await stream.body()).code];
    };
    const garbage = await openEventStream(sample.url, { token, lastEventId: 'x' });
    assert.deepEqual(await problem(garbage), [400, 'header_invalid']);
    const otherSample = await openEventStream(sample.url, { token: 'none' });
    assert.deepEqual(await problem(otherSample), [401, 'token_invalid']);
    sample.list.fault = new ProblemError('route_not_found', 'No such list.');
    assert.deepEqual(await problem(await openEventStream(sample.url, { token })), [
      404,
      'route_not_found',
    ]);
    sample.list.fault = new Error('a fault');
    assert.deepEqual(await problem(await openEventStream(sample.url, { token })), [
      500,
      'internal_error',
    ]);
    assert.equal(await sample.metric('switchyard_change_subscribers'), 0);
    assert.equal(await openCount(sample), 0);
  });

  it('sends many events in order to all clients without loss', async (t) => {
    const sample = await createStreamSample(t);
    const listeners = await Promise.all(
      Array.from({ length: 20 }, () => openEventStream(sample.url, { token })),
    );
    const total = 500;
    for (let n = 1; n <= total; n += 1) {
      sample.happen({ n });
      if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const expected = Array.from({ length: total }, (_, index) => index + 1);
    for (const stream of listeners)
      assert.deepEqual(idsOf(await stream.waitForEvents(total)), expected);
  });

  it('reads once for many events that are added during a read', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await openEventStream(sample.url, { token });
    await stream.waitForEvents(0);
    const before = sample.list.reads;
    for (let n = 1; n <= 10; n += 1) sample.happen({ n });
    await stream.waitForEvents(10);
    assert.ok(sample.list.reads - before <= 4, `${sample.list.reads - before} reads`);
  });

  it('reads no further than the version of the wake-up', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await openEventStream(sample.url, { token });
    await eventually(
      'it waits',
      async () => (await sample.metric('switchyard_streams_open')) === 1,
    );
    const before = sample.list.reads;
    for (let n = 1; n <= 5; n += 1) {
      sample.happen({ n });
      await stream.waitForEvents(n);
    }
    const reads = sample.list.looks;
    await eventually('more looks', () => sample.list.looks > reads + 3);
    assert.equal(sample.list.reads - before, 5);
  });

  it('misses no event that is committed during a read', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await openEventStream(sample.url, { token });
    await eventually(
      'it waits',
      async () => (await sample.metric('switchyard_streams_open')) === 1,
    );
    const gate = Promise.withResolvers<void>();
    const reads = sample.list.reads;
    sample.list.held = gate.promise;
    sample.happen({ n: 1 });
    await eventually('it reads', () => sample.list.reads > reads);
    sample.happen({ n: 2 });
    sample.list.held = undefined;
    gate.resolve();
    assert.deepEqual(idsOf(await stream.waitForEvents(2)), [1, 2]);
  });

  it('sends heartbeats while there are no events', async (t) => {
    const sample = await createStreamSample(t, { streams: { timings: { heartbeatMs: 20 } } });
    const stream = await openEventStream(sample.url, { token });
    await eventually('three heartbeats', () => stream.heartbeats() >= 3);
    assert.deepEqual(stream.events, []);
  });

  it('sends events that another process committed', async (t) => {
    const list = createEmptySharedList();
    const [one, two] = [
      await createStreamSample(t, { list }),
      await createStreamSample(t, { list }),
    ];
    const stream = await openEventStream(one.url, { token });
    const polled = fetch(`${one.url}?wait=30`, { headers: { authorization: `Bearer ${token}` } });
    await eventually(
      'both wait',
      async () => (await one.metric('switchyard_change_subscribers')) === 2,
    );
    two.happen({ n: 1 });
    assert.deepEqual(idsOf(await stream.waitForEvents(1)), [1]);
    assert.deepEqual(await (await polled).json(), { ids: [1], next: 1 });
    const versionReads = list.looks;
    const reads = list.reads;
    await eventually('more looks', () => list.looks > versionReads + 10);
    assert.equal(list.reads, reads, 'a look at what is known reads nothing');
  });

  it('works over TLS', async (t) => {
    const certificate = await makeCertificate('server');
    const sample = await createStreamSample(t, { tls: certificate });
    const stream = await openEventStream(sample.url, { token, ca: certificate.cert });
    sample.happen({ n: 1 });
    await stream.waitForEvents(1);
  });

  it('HEAD returns its headers and opens no stream', async (t) => {
    const sample = await createStreamSample(t);
    const answer = await fetch(sample.url, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    assert.equal(await openCount(sample), 0);
    assert.equal(await sample.metric('switchyard_change_subscribers'), 0);
  });
});

describe('the end of a stream', () => {
  it('the server ends the stream after the last event, and answers 204 to stop the reconnects of an EventSource', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await openEventStream(sample.url, { token });
    sample.list.isFinished = true;
    sample.happen({ n: 1 });
    assert.equal(await stream.waitForEnd(), 'completed');
    assert.deepEqual(idsOf(stream.events), [1]);
    const again = await openEventStream(sample.url, { token, lastEventId: 1 });
    assert.equal(again.status, 204);
    const late = await openEventStream(sample.url, { token });
    assert.equal(await late.waitForEnd(), 'completed');
    assert.deepEqual(idsOf(late.events), [1]);
  });

  it('the server ends the stream when the token expires', async (t) => {
    const sample = await createStreamSample(t);
    const expiresAt = performance.timeOrigin + performance.now() + 300;
    sample.judge(() => ({ ...callerWith(), expiresAt }));
    sample.commit({ n: 1 });
    const stream = await openEventStream(sample.url, { token });
    await stream.waitForEvents(1);
    assert.equal(await stream.waitForEnd(), 'token_expired');
    assert.ok(performance.timeOrigin + performance.now() >= expiresAt);
    assert.equal(await sample.metric(endedBy('token_expired')), 1);
  });

  // Spec: QRPROV-22
  it('the server ends the stream when the token is revoked or loses its permission', async (t) => {
    const sample = await createStreamSample(t, { streams: { timings: { recheckMs: 20 } } });
    const stream = await openEventStream(sample.url, { token });
    const other = await openEventStream(sample.url, { token: 'other' }).then(
      ({ status }) => status,
    );
    assert.equal(other, 401);
    sample.judge(() => callerWith(['pay.sale']));
    assert.equal(await stream.waitForEnd(), 'permission_denied');
    sample.judge(() => callerWith());
    const again = await openEventStream(sample.url, { token });
    sample.judge(() => {
      throw new ProblemError('token_invalid', 'Revoked.');
    });
    assert.equal(await again.waitForEnd(), 'token_invalid');
  });

  it('the server does not end the stream when it cannot check the token', async (t) => {
    const sample = await createStreamSample(t, { streams: { timings: { recheckMs: 10 } } });
    const stream = await openEventStream(sample.url, { token });
    let checks = 0;
    sample.judge(() => {
      checks += 1;
      throw checks % 2 === 0
        ? new Error('a fault')
        : new ProblemError('overloaded', 'No database.');
    });
    await eventually('asked', () => checks >= 4);
    assert.equal(stream.endReason(), undefined);
    sample.happen({ n: 1 });
    await stream.waitForEvents(1);
  });

  it('the server does not end the stream after one failed read, which it retries', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await openEventStream(sample.url, { token });
    await stream.waitForEvents(0);
    sample.list.fault = new Error('no database');
    const before = sample.list.reads;
    sample.happen({ n: 1 });
    await eventually('two tries', () => sample.list.reads >= before + 2);
    sample.list.fault = undefined;
    assert.deepEqual(idsOf(await stream.waitForEvents(1)), [1]);
    assert.equal(stream.endReason(), undefined);
  });

  it('the server ends the stream when reads fail repeatedly, or when the resource was deleted', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await openEventStream(sample.url, { token });
    sample.list.fault = new Error('no database');
    sample.happen({ n: 1 });
    assert.equal(await stream.waitForEnd(), 'interrupted');
    assert.ok(sample.lines.some(({ msg }) => String(msg).includes('could not be read')));
    sample.list.fault = undefined;
    const again = await openEventStream(sample.url, { token, lastEventId: 1 });
    sample.list.fault = new ProblemError('route_not_found', 'No such list.');
    sample.happen({ n: 2 });
    assert.equal(await again.waitForEnd(), 'route_not_found');
  });

  it('frees everything when the client disconnects', async (t) => {
    const sample = await createStreamSample(t);
    const listeners = await Promise.all(
      Array.from({ length: 5 }, () => openEventStream(sample.url, { token })),
    );
    assert.equal(await openCount(sample), 5);
    for (const { destroy } of listeners) destroy();
    await eventually('none is open', async () => (await openCount(sample)) === 0);
    assert.equal(await sample.metric('switchyard_change_subscribers'), 0);
    assert.equal(await sample.metric(endedBy('left')), 5);
    sample.happen({ n: 1 });
    assert.equal(await sample.metric('switchyard_http_requests_in_flight'), 0);
  });

  it('frees everything when the client disconnected before the first event was read', async (t) => {
    const sample = await createStreamSample(t);
    const gate = Promise.withResolvers<void>();
    sample.list.held = gate.promise;
    const checks = request(sample.url, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    });
    checks.on('error', () => {});
    checks.end();
    await eventually('the read', () => sample.list.reads === 1);
    checks.destroy();
    const running = () => sample.metric('switchyard_http_requests_in_flight');
    await eventually('the client is gone', async () => (await running()) === 0);
    gate.resolve();
    await eventually('it is counted', async () => (await sample.metric(endedBy('left'))) === 1);
    assert.equal(await openCount(sample), 0);
    assert.equal(await sample.metric('switchyard_change_subscribers'), 0);
  });
});
