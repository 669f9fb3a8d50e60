// Tests the cache of realms and applications: cache lifetime, concurrent look-ups, and a database that is down.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { movableClock } from '../../../test/support/identity/test-realm.ts';
import { createCachedLookup } from './cached-lookup.ts';

function createLookup() {
  const clock = movableClock();
  const source = {
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
      source.reads += 1;
      const { value } = source;
      await source.gate;
      if (source.fault !== undefined) throw source.fault;
      return value === undefined ? undefined : { value };
    },
  });
  return { source, lookup };
}

const unavailable = new ProblemError('database_unavailable', 'away');

test('concurrent look-ups read the database once per cache lifetime', async () => {
  const { source, lookup } = createLookup();
  await Promise.all(Array.from({ length: 10 }, () => lookup.find('a')));
  assert.equal(source.reads, 1);
  source.value = 2;
  assert.deepEqual(await lookup.find('a'), { value: 1 });
  assert.deepEqual(await lookup.refresh('a'), { value: 2 });
  source.value = 3;
  source.clock.advance(1001);
  assert.deepEqual(await lookup.find('a'), { value: 3 });
  lookup.forget('a');
  source.value = undefined;
  assert.equal(await lookup.find('a'), undefined);
  source.value = 4;
  assert.deepEqual(await lookup.find('a'), { value: 4 }, 'absence is not remembered');
});

test('while the database is down, cached values are served and unknown keys throw', async () => {
  const { source, lookup } = createLookup();
  await lookup.find('a');
  source.fault = unavailable;
  source.clock.advance(1001);
  assert.deepEqual(await lookup.find('a'), { value: 1 });
  await assert.rejects(lookup.find('b'), /database_unavailable/);
  source.fault = new Error('a fault of ours');
  source.clock.advance(1001);
  await assert.rejects(lookup.find('a'), /a fault of ours/);
});

test('a value that changes during its fetch is returned, but not cached', async () => {
  const { source, lookup } = createLookup();
  let open = () => {};
  source.gate = new Promise((resolve) => {
    open = resolve;
  });
  const firstLookup = lookup.find('a');
  lookup.forget('a');
  source.value = 2;
  const laterLookup = lookup.find('a');
  open();
  assert.deepEqual(await firstLookup, { value: 1 });
  assert.deepEqual(await laterLookup, { value: 2 });
  assert.deepEqual(await lookup.find('a'), { value: 2 });
});

test('a row that is inserted during a look-up causes no error', async () => {
  const { source, lookup } = createLookup();
  source.value = undefined;
  let open = () => {};
  source.gate = new Promise((resolve) => {
    open = resolve;
  });
  const firstLookup = lookup.find('a');
  lookup.forget('a');
  source.value = 2;
  const laterLookup = lookup.find('a');
  open();
  assert.equal(await firstLookup, undefined);
  assert.deepEqual(await laterLookup, { value: 2 });
  assert.deepEqual(await lookup.find('a'), { value: 2 });
});
