// The diagram of the states is what operations do: nothing comes back from an end, and nothing is missing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rulesByState } from '../../../packages/server/src/payments/transaction/state-machine.ts';
import { statesTable, transitionsDiagram } from './states.ts';

const edges = [...transitionsDiagram().matchAll(/^ {2}(\S+) --> (\w+): (.+)$/gm)].map(
  ([, from = '', to = '', names = '']) => ({ from, to, names: names.split(', ') }),
);

test('every state is reachable, and has its row', () => {
  const reached = new Set(edges.map(({ to }) => to));
  for (const state of Object.keys(rulesByState)) {
    assert.ok(reached.has(state), state);
    assert.match(statesTable(), new RegExp(`^\\| \`${state}\` \\|`, 'm'));
  }
});

test('no operation leaves a final state', () => {
  const statesWithTransitions = new Set(edges.map(({ from }) => from));
  for (const end of ['Declined', 'Failed', 'Cancelled', 'Reversed', 'Refunded', 'Expired']) {
    assert.ok(!statesWithTransitions.has(end), end);
  }
});

test('only a refund returns a captured amount', () => {
  for (const { from, to, names } of edges) {
    if (from === 'Captured') assert.deepEqual(names, ['refund'], `${from} ${to}`);
  }
  assert.ok(edges.some(({ from, to }) => from === 'Authorized' && to === 'Reversed'));
});
