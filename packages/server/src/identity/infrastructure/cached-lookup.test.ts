// The cache of realms and applications: fresh in time, kind to an absent database, never a wrong "no".
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@switchyard/contract';
import { movableClock } from '../../../test/identity.ts';
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

const away = new Refusal('database_unavailable', 'away');

test('a look-up reads once per lifetime, together for all who ask', async () => {
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

test('while the database is away the known stays known and the unknown is no "no"', async () => {
  const { scene, lookup } = createScene();
  await lookup.find('a');
  scene.fault = away;
  scene.clock.advance(1001);
  assert.deepEqual(await lookup.find('a'), { value: 1 });
  await assert.rejects(lookup.find('b'), /database_unavailable/);
  scene.fault = new Error('a fault of ours');
  scene.clock.advance(1001);
  await assert.rejects(lookup.find('a'), /a fault of ours/);
});

test('what changes while it is read answers the one who asked and is not kept', async () => {
  const { scene, lookup } = createScene();
  let open = () => {};
  scene.gate = new Promise((resolve) => {
    open = resolve;
  });
  const asked = lookup.find('a');
  lookup.forget('a');
  scene.value = 2;
  const askedLater = lookup.find('a');
  open();
  assert.deepEqual(await asked, { value: 1 });
  assert.deepEqual(await askedLater, { value: 2 });
  assert.deepEqual(await lookup.find('a'), { value: 2 });
});

test('what is made while its absence is read is no fault to the one who asked', async () => {
  const { scene, lookup } = createScene();
  scene.value = undefined;
  let open = () => {};
  scene.gate = new Promise((resolve) => {
    open = resolve;
  });
  const asked = lookup.find('a');
  lookup.forget('a');
  scene.value = 2;
  const askedLater = lookup.find('a');
  open();
  assert.equal(await asked, undefined);
  assert.deepEqual(await askedLater, { value: 2 });
  assert.deepEqual(await lookup.find('a'), { value: 2 });
});
