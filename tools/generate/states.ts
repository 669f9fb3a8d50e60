// The table of docs/concepts/states.md, from the table that enforces it.
import { type Rule, stateTable } from '../../packages/server/src/payments/state.ts';
import { code, table } from './markdown.ts';

const words: Partial<Record<Rule, string>> = {
  Open: 'up to what is open',
  Refundable: 'up to what is captured and not refunded',
  Whole: 'all of it',
  Queue: 'once the sale has ended',
  Nothing: 'nothing to do, succeeds',
  Replay: 'already under way, told again',
};

export function statesTable(): string {
  const head = ['State', 'Capture', 'Cancel (Functional)', 'Cancel (Technical)', 'Refund'];
  const rows = Object.entries(stateTable).map(([state, { Capture, Cancel, Reverse, Refund }]) => [
    code(state),
    ...[Capture, Cancel, Reverse, Refund].map((rule) => words[rule] ?? code(rule)),
  ]);
  return table(head, rows);
}
