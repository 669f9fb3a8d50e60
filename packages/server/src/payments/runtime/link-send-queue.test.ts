import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSendQueue } from './send-queued-message.ts';

it('entries are ready in FIFO order for each link', async () => {
  const turns = createSendQueue();
  const said: string[] = [];
  const [first, second, third] = [turns.enter('one'), turns.enter('one'), turns.enter('one')];
  const other = turns.enter('other');
  const after = (name: string, turn: typeof first) =>
    turn.ready.then(() => {
      said.push(name);
    });
  const all = [after('third', third), after('second', second), after('first', first)];
  await after('other', other);
  // One that steps back lets the next go, and twice is once.
  second.release();
  second.release();
  first.release();
  await Promise.all(all);
  assert.deepEqual(said, ['first', 'other', 'second', 'third']);
  third.release();
  await turns.enter('one').ready;
});
