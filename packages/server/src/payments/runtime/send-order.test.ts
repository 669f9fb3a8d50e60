import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTurns } from './send-order.ts';

it('turns come in the order in which they were taken, of each link by itself', async () => {
  const turns = createTurns();
  const said: string[] = [];
  const [first, second, third] = [turns.take('one'), turns.take('one'), turns.take('one')];
  const other = turns.take('other');
  const after = (name: string, turn: typeof first) =>
    turn.mine.then(() => {
      said.push(name);
    });
  const all = [after('third', third), after('second', second), after('first', first)];
  await after('other', other);
  // One that steps back lets the next go, and twice is once.
  second.pass();
  second.pass();
  first.pass();
  await Promise.all(all);
  assert.deepEqual(said, ['first', 'other', 'second', 'third']);
  third.pass();
  await turns.take('one').mine;
});
