// Tests the cache of realms and applications: cache lifetime, concurrent look-ups, and a database that is down.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { movableClock } from '../../../test/support/identity/test-realm.ts';
import { createCachedLookup } from './cached-lookup.ts';

function createScene() {
  const clock = movableClock();
  const scene = {
    clock,
    value: 1 as number | undefined,
    fault: undefined as Error | undefined,
    reads: 0,
    gate: Promise.resolve(),
  };
  const lookup = createCachedLookup<string, { value: number }>({
    max: 2,
    ttlMs: 1000,
    clock,
    keyOf: (key) => key,
    async load() {
      scene.reads += 1;
      const { value } = scene;
      await scene.gate;
      if (scene.fault !== undefined) throw scene.fault;
      return value === undefined ? undefined : { value };
    },
  });
  return { scene, lookup };
}

const unavailable = new ProblemError('database_unavailable', 'away');

test('concurrent look-ups read the database once per cache lifetime', async () => {
  const { scene, lookup } = createScene();
  await Promise.all(Array.from({ length: 10 }, () => lookup.find('a')));
  assert.equal(scene.reads, 1);
  scene.value = 2;
  assert.deepEqual(await lookup.find('a'), { value: 1 });
  assert.deepEqual(await lookup.refresh('a'), { value: 2 });
  scene.value = 3;
  scene.clock.advance(1001);
  assert.deepEqual(await lookup.find('a'), { value: 3 });
  lookup.forget('a');
  scene.value = undefined;
  assert.equal(await lookup.find('a'), undefined);
  scene.value = 4;
  assert.deepEqual(await lookup.find('a'), { value: 4 }, 'absence is not remembered');
});

test('while the database is down, cached values are served and unknown keys throw', async () => {
  const { scene, lookup } = createScene();
  await lookup.find('a');
  scene.fault = unavailable;
  scene.clock.advance(1001);
  assert.deepEqual(await lookup.find('a'), { value: 1 });
  await assert.rejects(lookup.find('b'), /database_unavailable/);
  scene.fault = new Error('a fault of ours');
  scene.clock.advance(1001);
  await assert.rejects(lookup.find('a'), /a fault of ours/);
});

test('a value that changes during its fetch is returned, but not cached', async () => {
  const { scene, lookup } = createScene();
  let open = () => {};
  scene.gate = new Promise((resolve) => {
    open = resolve;
  });
  const firstLookup = lookup.find('a');
  lookup.forget('a');
  scene.value = 2;
  const laterLookup = lookup.find('a');
  open();
  assert.deepEqual(await firstLookup, { value: 1 });
  assert.deepEqual(await laterLookup, { value: 2 });
  assert.deepEqual(await lookup.find('a'), { value: 2 });
});

test('a row that is inserted during a look-up causes no error', async () => {
  const { scene, lookup } = createScene();
  scene.value = undefined;
  let open = () => {};
  scene.gate = new Promise((resolve) => {
    open = resolve;
  });
  const firstLookup = lookup.find('a');
  lookup.forget('a');
  scene.value = 2;
  const laterLookup = lookup.find('a');
  open();
  assert.equal(await firstLookup, undefined);
  assert.deepEqual(await laterLookup, { value: 2 });
  assert.deepEqual(await lookup.find('a'), { value: 2 });
});
