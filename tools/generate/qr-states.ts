// The blocks of docs/concepts/qr-payments.md: what a provider's word does, and what each status allows, from the tables that enforce it.
import { type Resolution, resolutionTable } from '../../packages/server/src/qr/hold.ts';
import {
  type HeldMove,
  type HoldReason,
  heldRules,
  heldTable,
  type Move,
  moveTable,
  type Phase,
  type Rule,
  verbTable,
} from '../../packages/server/src/qr/state.ts';
import { code, table } from './markdown.ts';

const words: Partial<Record<Rule, string>> = {
  Send: 'asks the provider',
  Refundable: 'up to what is paid and not refunded',
  Nothing: 'nothing to do, succeeds',
};

const moves: Readonly<Record<Move, string>> = {
  Go: 'goes there',
  Stay: 'is known',
  TakeBack: '**refunded by itself**',
  Ignore: 'changes nothing',
  Contradict: 'changes nothing, alarmed',
};

const phases = Object.keys(moveTable) as Phase[];
/** What a provider says of these is the same everywhere, so they share a column. */
const endings: readonly Phase[] = ['Declined', 'Cancelled', 'Expired', 'Failed'];
const reportedPhases = phases.filter((phase) => !endings.includes(phase));

/** What each word does in each status. */
export function qrTransitionsTable(): string {
  const head = [
    'Stands at',
    ...reportedPhases.map((phase) => `told ${code(phase)}`),
    'told another end',
  ];
  const rows = phases.map((phase) => {
    const row = moveTable[phase];
    const ends = new Set(endings.map((end) => moves[row[end]]));
    return [code(phase), ...reportedPhases.map((each) => moves[row[each]]), [...ends].join(', ')];
  });
  return table(head, rows);
}

/** What a cancel and a refund meet. */
export function qrStatesTable(): string {
  const rows = [...Object.entries(verbTable), ['held', heldRules] as const];
  const nameOfRule = (rule: Rule) => words[rule] ?? code(rule);
  return table(
    ['Status', 'Cancel', 'Refund'],
    rows.map(([status, { Cancel, Refund }]) => [
      status === 'held' ? 'any, with `hold`' : code(status),
      nameOfRule(Cancel),
      nameOfRule(Refund),
    ]),
  );
}

const heldMoves: Readonly<Record<HeldMove, string>> = {
  Keep: 'changes nothing',
  Sum: 'another sum is the one to decide about',
  Retract: 'ends it with nothing paid, alarmed',
  Contradict: 'changes nothing, alarmed',
};

/** What the provider's newer words do to a payment that is held, and what somebody may decide. */
export function qrHoldsTable(): string {
  const decisions = (all: readonly Resolution[]) => all.map(code).join(', ');
  const rows = (Object.keys(heldTable) as HoldReason[]).map((reason) => {
    const row = heldTable[reason];
    const ends = new Set(endings.map((end) => heldMoves[row[end]]));
    const { Live, Ended } = resolutionTable[reason];
    return [
      code(reason),
      heldMoves[row.Completed],
      [...ends].join(', '),
      decisions(Live),
      decisions(Ended),
    ];
  });
  const header = ['told `Completed`', 'told another end'];
  return table(['Held for', ...header, 'While the terminal waits', 'Behind the end'], rows);
}
