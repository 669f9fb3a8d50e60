import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyedQueue, createKeyedTasks } from './keyed-tasks.ts';

test('a task is found by its key while it runs', async () => {
  const works = createKeyedTasks<number>();
  const gate = Promise.withResolvers<number>();
  const first = works.run('a', () => gate.promise);
  assert.equal(works.find('a'), first);
  assert.equal(works.find('b'), undefined);
  gate.resolve(7);
  assert.equal(await first, 7);
  assert.equal(works.find('a'), undefined);
  const failed = works.run('a', () => Promise.reject(new Error('no')));
  await assert.rejects(failed, /no/);
  assert.equal(works.find('a'), undefined, 'an error is not passed to another caller');
});

test('two running tasks of a key do not end each other, and waitForIdle waits for both', async () => {
  const works = createKeyedTasks<number>();
  const [one, two] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const first = works.run('a', () => one.promise);
  const second = works.run('a', () => two.promise);
  assert.equal(works.find('a'), first);
  let isIdle = false;
  const idle = works.waitForIdle().then(() => {
    isIdle = true;
  });
  two.resolve(2);
  assert.equal(await second, 2);
  assert.equal(works.find('a'), first, 'still under way');
  assert.equal(isIdle, false);
  const third = works.run('a', async () => 3);
  one.resolve(1);
  assert.equal(await first, 1);
  await idle;
  assert.equal(await third, 3);
  assert.equal(works.find('a'), undefined);
});

test('exclusive tasks of a key run one after another in their order, also after a failure', async () => {
  const works = createKeyedTasks<number>();
  const gate = Promise.withResolvers<void>();
  const done: string[] = [];
  const nextTurn = (key: string, name: string, before?: Promise<void>) =>
    works.runExclusive(key, async () => {
      await before;
      done.push(name);
      if (name === 'bad') throw new Error('bad');
    });
  const all = [nextTurn('a', 'bad', gate.promise), nextTurn('a', 'two'), nextTurn('b', 'other')];
  await all[2];
  assert.deepEqual(done, ['other'], 'another key does not wait');
  let isIdle = false;
  const idle = works.waitForIdle().then(() => {
    isIdle = true;
  });
  assert.equal(isIdle, false);
  gate.resolve();
  assert.deepEqual(
    (await Promise.allSettled(all)).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  );
  await idle;
  assert.deepEqual(done, ['other', 'bad', 'two']);
});

test('a queue with a limit runs several tasks of a key at a time, in the order of the calls', async () => {
  const queue = createKeyedQueue(2);
  const releases = [await queue.acquire('near'), await queue.acquire('near')];
  const entered: string[] = [];
  const enter = async (name: string) => {
    const release = await queue.acquire('near');
    entered.push(name);
    return release;
  };
  const [third, fourth] = [enter('third'), enter('fourth')];
  (await queue.acquire('far'))();
  assert.deepEqual(entered, [], 'another key does not wait');
  releases[0]?.();
  const releaseThird = await third;
  assert.deepEqual(entered, ['third']);
  releaseThird();
  (await fourth)();
  releases[1]?.();
  assert.deepEqual(queue.keys(), []);
});

test('an entry released before its turn does not change the order of the others', async () => {
  const queue = createKeyedQueue();
  const order: string[] = [];
  const [first, second, third] = [queue.acquire('one'), queue.acquire('one'), queue.acquire('one')];
  const thirdEntered = third.then(() => order.push('third'));
  const secondEnded = second.then((release) => {
    order.push('second');
    release();
    release();
  });
  const releaseFirst = await first;
  order.push('first');
  releaseFirst();
  await Promise.all([secondEnded, thirdEntered]);
  assert.deepEqual(order, ['first', 'second', 'third']);
  (await third)();
  (await queue.acquire('one'))();
});
