import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSendQueue } from './send-queued-message.ts';

it('entries are ready in FIFO order for each link', async () => {
  const queue = createSendQueue();
  const order: string[] = [];
  const [first, second, third] = [queue.enter('one'), queue.enter('one'), queue.enter('one')];
  const other = queue.enter('other');
  const after = (name: string, entry: typeof first) =>
    entry.ready.then(() => {
      order.push(name);
    });
  const all = [after('third', third), after('second', second), after('first', first)];
  await after('other', other);
  // One that steps back lets the next go, and twice is once.
  second.release();
  second.release();
  first.release();
  await Promise.all(all);
  assert.deepEqual(order, ['first', 'other', 'second', 'third']);
  third.release();
  await queue.enter('one').ready;
});
