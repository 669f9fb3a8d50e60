// Whole run: much is made, or waited for, before it shows.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openEventStream } from '../../../test/support/event-stream-client.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createStreamSample, type StreamSample } from '../server/event-stream.fixture.ts';
import { callerWith } from '../server/sample-server.fixture.ts';

const token = 'all';
/** More than sockets hold between two ends. */
const bulky = 'x'.repeat(256 * 1024);
const openCount = (sample: StreamSample) => sample.metric('switchyard_streams_open');
const endedBy = (reason: string) => `switchyard_streams_ended_total{reason="${reason}"}`;

describe('a slow client', () => {
  // Spec: QRPROV-22
  it('has one page waiting, and the server reads no further page', async (t) => {
    const sample = await createStreamSample(t, { streams: { timings: { slowReaderMs: 500 } } });
    for (let n = 1; n <= 400; n += 1) sample.commit({ n, bulky });
    const stream = await openEventStream(sample.url, { token });
    stream.pause();
    await eventually('cut', async () => (await sample.metric(endedBy('slow_reader'))) === 1);
    // Of forty pages; sockets hold some.
    assert.ok(sample.list.reads < 20, `${sample.list.reads} reads`);
    stream.destroy();
  });

  it('gets all events in order as long as it reads from time to time', async (t) => {
    const sample = await createStreamSample(t, { streams: { timings: { slowReaderMs: 20_000 } } });
    for (let n = 1; n <= 100; n += 1) sample.commit({ n, bulky });
    const stream = await openEventStream(sample.url, { token });
    for (const count of [20, 40, 60, 80]) {
      stream.pause();
      const before = sample.list.reads;
      for (let attempt = 0; attempt < 20; attempt += 1)
        await new Promise((resolve) => setImmediate(resolve));
      assert.ok(sample.list.reads <= before + 10);
      stream.resume();
      await stream.waitForEvents(count);
    }
    assert.deepEqual(
      (await stream.waitForEvents(100)).map(({ id }) => id),
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
    assert.equal(stream.endReason(), undefined);
  });

  it('is disconnected when it reads nothing for long, and gets the rest after it reconnects', async (t) => {
    // The fast client must stay connected, also on a machine that pauses for a while.
    const sample = await createStreamSample(t, { streams: { timings: { slowReaderMs: 6000 } } });
    const quick = await openEventStream(sample.url, { token });
    const stream = await openEventStream(sample.url, { token });
    stream.pause();
    for (let n = 1; n <= 60; n += 1) sample.happen({ n, bulky });
    await quick.waitForEvents(60);
    await eventually('cut', async () => (await sample.metric(endedBy('slow_reader'))) === 1);
    assert.equal(await openCount(sample), 1);
    stream.resume();
    assert.equal(await stream.waitForEnd(), 'cut');
    const last = stream.events.at(-1)?.id ?? 0;
    assert.ok(last < 60, `${last}`);
    const again = await openEventStream(sample.url, { token, lastEventId: last });
    await again.waitForEvents(60 - last);
    const ids = [...stream.events, ...again.events].map(({ id }) => id);
    assert.deepEqual(
      ids,
      Array.from({ length: 60 }, (_, index) => index + 1),
    );
  });

  it('gets no heartbeats while it does not read', async (t) => {
    const times = { heartbeatMs: 2, slowReaderMs: 400 };
    const sample = await createStreamSample(t, { streams: { timings: times } });
    for (let n = 1; n <= 100; n += 1) sample.commit({ n, bulky });
    const stream = await openEventStream(sample.url, { token });
    stream.pause();
    await eventually('cut', async () => (await sample.metric(endedBy('slow_reader'))) === 1);
    stream.destroy();
  });
});

describe('the limits of waiting clients', () => {
  const limits = { perClient: 2, perDevice: 2, perOrganization: 10, total: 4 };

  it('a client above its limit gets no further stream until it closes one', async (t) => {
    const sample = await createStreamSample(t, { streams: { limits } });
    const first = await openEventStream(sample.url, { token });
    await openEventStream(sample.url, { token });
    const third = await openEventStream(sample.url, { token });
    assert.equal(third.status, 429);
    assert.equal(third.headers['retry-after'], '5');
    assert.equal(JSON.parse(await third.body()).code, 'rate_limited');
    first.destroy();
    await eventually('one is left', async () => (await openCount(sample)) === 1);
    assert.equal((await openEventStream(sample.url, { token })).status, 200);
    assert.equal(await sample.metric('switchyard_change_subscribers'), 2);
  });

  it('a terminal that reconnects ends its oldest stream', async (t) => {
    const sample = await createStreamSample(t, { streams: { limits } });
    sample.judge(() => ({ ...callerWith(), deviceId: 'device-1' }));
    const streams = [];
    for (let n = 0; n < 3; n += 1) streams.push(await openEventStream(sample.url, { token }));
    assert.equal(await streams[0]?.waitForEnd(), 'replaced');
    assert.equal(await openCount(sample), 2);
    sample.happen({ n: 1 });
    await streams[1]?.waitForEvents(1);
    await streams[2]?.waitForEvents(1);
  });

  it('all clients share a total limit', async (t) => {
    const sample = await createStreamSample(t, { streams: { limits } });
    sample.judge((clientId) => ({ ...callerWith(), clientId }));
    for (const client of ['a', 'b', 'c', 'd']) await openEventStream(sample.url, { token: client });
    const fifth = await openEventStream(sample.url, { token: 'e' });
    assert.equal(fifth.status, 503);
    assert.equal(JSON.parse(await fifth.body()).code, 'overloaded');
  });
});

describe('a shutdown', () => {
  // Spec: QRPROV-22
  it('ends all streams and long polls at once with a reason', async (t) => {
    const sample = await createStreamSample(t);
    const stream = await Promise.all([1, 2, 3].map(() => openEventStream(sample.url, { token })));
    const headers = { authorization: `Bearer ${token}` };
    const polled = fetch(`${sample.url}?wait=60`, { headers });
    const waiting = () => sample.metric('switchyard_change_subscribers');
    await eventually('all wait', async () => (await waiting()) === 4);
    const beganMs = performance.now();
    await sample.close();
    for (const each of stream) assert.equal(await each.waitForEnd(), 'shutting_down');
    assert.deepEqual(await (await polled).json(), { ids: [], next: 0 });
    assert.ok(performance.now() - beganMs < 20_000, 'the shutdown waits for no client');
    assert.ok(!sample.lines.some(({ msg }) => String(msg).includes('cut off')));
  });

  it('does not wait for a client that reads nothing', async (t) => {
    const sample = await createStreamSample(t);
    for (let n = 1; n <= 100; n += 1) sample.commit({ n, bulky });
    const stream = await openEventStream(sample.url, { token });
    stream.pause();
    await eventually('some reads', () => sample.list.reads > 1);
    const beganMs = performance.now();
    await sample.close();
    assert.ok(performance.now() - beganMs < 20_000);
    stream.destroy();
  });
});
