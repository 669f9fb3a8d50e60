import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createMetrics } from '../observability/metrics.ts';
import { createChangeNotifier, maxListeners, type VersionSource } from './change-notifier.ts';

const topic = { kind: 'thing', key: 'a' };
const pollMs = 5;

function setUp(t: TestContext, sources: Record<string, VersionSource> = {}) {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => lines.push(line) });
  const metrics = createMetrics();
  const live = createChangeNotifier({ log, metrics, pollMs });
  for (const [kind, look] of Object.entries(sources)) live.addSource(kind, look);
  live.start();
  t.after(live.stop);
  return { live, lines, metrics };
}

describe('change notifier', () => {
  it('notifies the subscribers of the topic at once, and no others', (t) => {
    const { live } = setUp(t);
    const woken: string[] = [];
    live.subscribe(topic, 3, () => woken.push('a'));
    live.subscribe(topic, 3, () => woken.push('also a'));
    live.subscribe({ ...topic, key: 'b' }, 3, () => woken.push('b'));
    live.subscribe({ ...topic, kind: 'other' }, 3, () => woken.push('other'));
    live.publish(topic, 4);
    assert.deepEqual(woken, ['a', 'also a']);
    live.publish({ kind: 'other', key: 'unused' }, 1);
  });

  it('notifies no subscriber of a version that it has seen, nor twice of the same version', (t) => {
    const { live } = setUp(t);
    let woken = 0;
    const listener = live.subscribe(topic, 3, () => {
      woken += 1;
    });
    live.publish(topic, 3);
    assert.equal(woken, 0);
    live.publish(topic, 5);
    live.publish(topic, 5);
    live.publish(topic, 4);
    assert.equal(woken, 1);
    listener?.acknowledge(8);
    live.publish(topic, 8);
    assert.equal(woken, 1);
    live.publish(topic, 9);
    assert.equal(woken, 2);
  });

  it('removes a subscriber that ends, also if it ends twice', async (t) => {
    const { live, metrics } = setUp(t);
    const woken: number[] = [];
    const first = live.subscribe(topic, 0, () => woken.push(1));
    live.subscribe(topic, 0, () => woken.push(2));
    first?.end();
    first?.end();
    live.publish(topic, 1);
    assert.deepEqual(woken, [2]);
    assert.match(await metrics.registry.metrics(), /switchyard_change_subscribers 1\n/);
  });

  it('a subscriber may end another one during a notification', (t) => {
    const { live } = setUp(t);
    const woken: number[] = [];
    const second = () => live.subscribe(topic, 0, () => woken.push(2));
    let ended: ReturnType<typeof second>;
    live.subscribe(topic, 0, () => {
      woken.push(1);
      ended?.end();
    });
    ended = second();
    live.publish(topic, 1);
    live.publish(topic, 2);
    assert.deepEqual(woken, [1, 2, 1]);
  });

  // Spec: QRPROV-23
  it('notices commits of other processes with one query for many keys', async (t) => {
    const versions = new Map([['key-7', 0]]);
    const queriedVersions: number[] = [];
    const thing: VersionSource = async (keys) => {
      queriedVersions.push(keys.length);
      return versions;
    };
    const { live } = setUp(t, { thing });
    const woken: number[] = [];
    for (let n = 0; n < 2500; n += 1) {
      live.subscribe({ kind: 'thing', key: `key-${n}` }, 0, () => woken.push(n));
    }
    await eventually('a look', () => queriedVersions.length >= 3);
    assert.deepEqual(queriedVersions.slice(-3).toSorted(), [1000, 1000, 500]);
    assert.deepEqual(woken, []);
    versions.set('key-7', 1).set('other key', 9);
    await eventually('woken', () => woken.length > 0);
    const pollCount = queriedVersions.length;
    await eventually('more looks', () => queriedVersions.length > pollCount + 6);
    assert.deepEqual(woken, [7]);
  });

  it('passes the versions that every subscriber has seen, so that a source can leave them out', async (t) => {
    const passedVersions: number[][] = [];
    const thing: VersionSource = async (_keys, seenVersions) => {
      passedVersions.push([...seenVersions]);
      return new Map();
    };
    const { live } = setUp(t, { thing });
    live.subscribe(topic, 7, () => {});
    const slow = live.subscribe(topic, 3, () => {});
    await eventually('a look', () => passedVersions.length > 0);
    assert.deepEqual(passedVersions.at(-1), [3]);
    slow?.acknowledge(9);
    const pollCount = passedVersions.length;
    await eventually('another look', () => passedVersions.length > pollCount);
    assert.deepEqual(passedVersions.at(-1), [7]);
  });

  it('does not poll a source without subscribers', async (t) => {
    const queriedVersions: string[] = [];
    const others: string[] = [];
    const noting = (into: string[]) => async (keys: readonly string[]) => {
      into.push(...keys);
      return new Map();
    };
    const { live } = setUp(t, { thing: noting(queriedVersions), other: noting(others) });
    const listener = live.subscribe({ kind: 'other', key: 'x' }, 0, () => {});
    await eventually('looks at the other', () => others.length > 3);
    assert.deepEqual(queriedVersions, []);
    listener?.end();
  });

  it('polls again after an error, logs it, and does not block other sources', async (t) => {
    let isAway = true;
    const thing: VersionSource = async () => {
      if (isAway) throw new Error('the table is away');
      return new Map([['a', 1]]);
    };
    const { live, lines } = setUp(t, { thing, other: async () => new Map([['b', 1]]) });
    const woken: string[] = [];
    live.subscribe(topic, 0, () => woken.push('a'));
    live.subscribe({ kind: 'other', key: 'b' }, 0, () => woken.push('b'));
    await eventually('the other source', () => woken.includes('b'));
    await eventually('the complaint', () => /polling for changes failed/.test(lines.join('')));
    assert.deepEqual(woken, ['b']);
    isAway = false;
    await eventually('woken after the failure', () => woken.includes('a'));
  });

  it('accepts no more subscribers than its limit', (t) => {
    const { live } = setUp(t);
    const first = live.subscribe(topic, 0, () => {});
    for (let n = 1; n < maxListeners; n += 1) live.subscribe(topic, 0, () => {});
    assert.equal(
      live.subscribe(topic, 0, () => {}),
      undefined,
    );
    first?.end();
    assert.notEqual(
      live.subscribe(topic, 0, () => {}),
      undefined,
    );
  });
});
