import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openEventStream } from '../../../test/support/event-stream-client.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createStreamSample, type StreamSample } from '../server/event-stream.fixture.ts';

const token = 'all';

async function poll(sample: StreamSample, query: string, signal?: AbortSignal) {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${sample.url}?${query}`, { headers, ...(signal && { signal }) });
  return { status: answer.status, body: (await answer.json()) as { ids: number[]; next: number } };
}

const waiting = (sample: StreamSample) => sample.metric('switchyard_change_subscribers');

describe('a long poll', () => {
  it('returns existing events at once', async (t) => {
    const sample = await createStreamSample(t);
    for (let n = 1; n <= 12; n += 1) sample.commit({ n });
    const { status, body } = await poll(sample, 'after=4&wait=60');
    assert.equal(status, 200);
    assert.deepEqual(body, { ids: [5, 6, 7, 8, 9, 10, 11, 12], next: 12 });
    assert.deepEqual((await poll(sample, 'after=12')).body, { ids: [], next: 12 });
    assert.equal(await waiting(sample), 0);
  });

  it('returns when a new event is added', async (t) => {
    const sample = await createStreamSample(t);
    const polled = poll(sample, 'wait=60');
    await eventually('it waits', async () => (await waiting(sample)) === 1);
    sample.happen({ n: 1 });
    assert.deepEqual((await polled).body, { ids: [1], next: 1 });
    assert.equal(await waiting(sample), 0);
  });

  it('continues to wait after an event that its filter excludes', async (t) => {
    const sample = await createStreamSample(t);
    const polled = poll(sample, 'wait=60&odd=true&after=1');
    sample.commit({ n: 1 });
    await eventually('it waits', async () => (await waiting(sample)) === 1);
    const before = sample.list.reads;
    sample.happen({ n: 2 });
    await eventually('it read', () => sample.list.reads > before);
    sample.happen({ n: 3 });
    assert.deepEqual((await polled).body, { ids: [3], next: 3 });
  });

  it('reads further pages at once until it finds an event for its filter', async (t) => {
    const sample = await createStreamSample(t);
    for (let n = 1; n <= 60; n += 1) sample.commit({ n });
    const polled = await poll(sample, 'least=60&wait=60');
    assert.deepEqual(polled.body, { ids: [60], next: 60 });
    const emptyPage = await poll(sample, 'least=99&wait=2');
    assert.deepEqual(emptyPage.body, { ids: [], next: 60 });
  });

  it('returns no events after its time, with the next cursor', async (t) => {
    const sample = await createStreamSample(t);
    sample.commit({ n: 1 });
    sample.commit({ n: 2 });
    const beganMs = performance.now();
    assert.deepEqual((await poll(sample, 'after=1&odd=true&wait=0.2')).body, { ids: [], next: 2 });
    assert.ok(performance.now() - beganMs >= 195);
    assert.equal(await waiting(sample), 0);
  });

  // Spec: QRPROV-22
  it('misses no event that is added during a read', async (t) => {
    const sample = await createStreamSample(t);
    const gate = Promise.withResolvers<void>();
    sample.list.held = gate.promise;
    const polled = poll(sample, 'after=1&wait=60');
    await eventually('it reads', () => sample.list.reads === 1);
    sample.commit({ n: 1 });
    sample.list.held = undefined;
    gate.resolve();
    sample.happen({ n: 2 });
    assert.deepEqual((await polled).body, { ids: [2], next: 2 });
  });

  it('ends when its client disconnects', async (t) => {
    const sample = await createStreamSample(t);
    const control = new AbortController();
    const polled = poll(sample, 'wait=60', control.signal);
    await eventually('it waits', async () => (await waiting(sample)) === 1);
    control.abort();
    await assert.rejects(polled);
    await eventually('no client waits', async () => (await waiting(sample)) === 0);
  });

  it('returns at once when too many clients wait', async (t) => {
    const limits = { perClient: 1, perDevice: 1, perOrganization: 10, total: 10 };
    const sample = await createStreamSample(t, { streams: { limits } });
    const stream = await openEventStream(sample.url, { token });
    assert.deepEqual((await poll(sample, 'wait=60')).body, { ids: [], next: 0 });
    stream.destroy();
    await eventually('the place is free', async () => (await waiting(sample)) === 0);
    const polled = poll(sample, 'wait=60');
    await eventually('it waits', async () => (await waiting(sample)) === 1);
    sample.happen({ n: 1 });
    assert.equal((await polled).body.next, 1);
  });

  it('returns at once after the last event of an ended list', async (t) => {
    const sample = await createStreamSample(t);
    sample.list.isFinished = true;
    assert.deepEqual((await poll(sample, 'wait=60')).body, { ids: [], next: 0 });
  });
});
