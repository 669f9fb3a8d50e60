// The blocks of docs/explanation/qr-payments.md: what a provider's word does, and what each status allows, from the tables that enforce it.
import {
  type Resolution,
  resolutionTable,
} from '../../../packages/server/src/qr/transaction/review-decisions.ts';
import {
  type OperationRule,
  operationTable,
  type PaymentPhase,
  type ReportTransition,
  type ReviewReason,
  type ReviewTransition,
  reportTransitions,
  reviewTransitions,
  underReviewRules,
} from '../../../packages/server/src/qr/transaction/state-machine.ts';
import { code, table } from '../markdown.ts';

const words: Partial<Record<OperationRule, string>> = {
  Send: 'asks the provider',
  Refundable: 'up to what is paid and not refunded',
  Nothing: 'nothing to do, succeeds',
};

const moves: Readonly<Record<ReportTransition, string>> = {
  Advance: 'goes there',
  Stay: 'is known',
  RefundLatePayment: '**refunded by itself**',
  Ignore: 'changes nothing',
  Contradict: 'changes nothing, alarmed',
};

const phases = Object.keys(reportTransitions) as PaymentPhase[];
/** What a provider says of these is the same everywhere, so they share a column. */
const endings: readonly PaymentPhase[] = ['Declined', 'Cancelled', 'Expired', 'Failed'];
const reportedPhases = phases.filter((phase) => !endings.includes(phase));

/** What each word does in each status. */
export function qrTransitionsTable(): string {
  const head = [
    'Status',
    ...reportedPhases.map((phase) => `event ${code(phase)}`),
    'event of another end',
  ];
  const rows = phases.map((phase) => {
    const row = reportTransitions[phase];
    const ends = new Set(endings.map((end) => moves[row[end]]));
    return [code(phase), ...reportedPhases.map((each) => moves[row[each]]), [...ends].join(', ')];
  });
  return table(head, rows);
}

/** The effect of a cancel and of a refund in each status. */
export function qrStatesTable(): string {
  const rows = [...Object.entries(operationTable), ['held', underReviewRules] as const];
  const nameOfRule = (rule: OperationRule) => words[rule] ?? code(rule);
  return table(
    ['Status', 'Cancel', 'Refund'],
    rows.map(([status, { Cancel, Refund }]) => [
      status === 'held' ? 'any, with `hold`' : code(status),
      nameOfRule(Cancel),
      nameOfRule(Refund),
    ]),
  );
}

const heldMoves: Readonly<Record<ReviewTransition, string>> = {
  Keep: 'changes nothing',
  UpdateAmount: 'another sum is the one to decide about',
  Retract: 'ends it with nothing paid, alarmed',
  Contradict: 'changes nothing, alarmed',
};

/** The effect of later provider events on a held payment, and the possible decisions of a user. */
export function qrHoldsTable(): string {
  const decisions = (all: readonly Resolution[]) => all.map(code).join(', ');
  const rows = (Object.keys(reviewTransitions) as ReviewReason[]).map((reason) => {
    const row = reviewTransitions[reason];
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
  const events = ['event `Completed`', 'event of another end'];
  return table(['Held for', ...events, 'While the terminal waits', 'After the end'], rows);
}
