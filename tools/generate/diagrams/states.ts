// The blocks of docs/explanation/states.md: what each state allows, and which states follow which, from the table that enforces it.
import {
  accountVerificationRules,
  applyPositionChanges,
  awaitingConfirmationRules,
  checkAllowed,
  confirmRulesByState,
  deriveState,
  type OperationType,
  type Position,
  type PositionChanges,
  remainingAuthorized,
  rulesByState,
  type StateRule,
  submittedRules,
  zeroAmounts,
} from '../../../packages/server/src/payments/transaction/state-machine.ts';
import { code, table } from '../markdown.ts';

const words: Partial<Record<StateRule, string>> = {
  PartialAllowed: 'up to the remaining amount',
  Refundable: 'up to the captured amount that is not refunded',
  FullOnly: 'full amount only',
  AfterOutcome: 'accepted, sent after the outcome of the sale',
  VoidLocally: 'full amount, without a message to the acquirer',
  NoOp: 'succeeds without effect',
  ReturnExisting: 'returns the reversal in progress',
};
const confirmWords: Readonly<Record<string, string>> = {
  Confirm: 'confirms the sale',
  NoOp: 'succeeds without effect',
};

type Rules = Readonly<Record<OperationType, StateRule>>;

const cells = ({ Capture, Cancel, Reversal, Refund }: Rules): string[] =>
  [Capture, Cancel, Reversal, Refund].map((rule) => words[rule] ?? code(rule));

/** Rows that stand in place of those of their state, and when. */
const instead: readonly [string, Rules, string][] = [
  [`${code('Authorized')}, of no amount: the card was verified`, accountVerificationRules, 'NoOp'],
  [`${code('Stored')}, and its message may have left`, submittedRules, confirmRulesByState.Stored],
  [`approved, and not confirmed yet`, awaitingConfirmationRules, 'Confirm'],
];

export function statesTable(): string {
  const head = [
    'State',
    'Capture',
    'Cancel (Functional)',
    'Cancel (Technical)',
    'Refund',
    'Confirm',
  ];
  const confirmed = (rule: string) => confirmWords[rule] ?? code(rule);
  const rows = Object.entries(rulesByState).map(([state, rules]) => [
    code(state),
    ...cells(rules),
    confirmed(confirmRulesByState[state as keyof typeof confirmRulesByState]),
  ]);
  const more = instead.map(([name, rules, confirm]) => [name, ...cells(rules), confirmed(confirm)]);
  return table(head, [...rows, ...more]);
}

/** How a sale comes to its first state; the operations behind that are found by doing them. */
const sales: readonly [string, string, string][] = [
  ['[*]', 'Received', 'sale'],
  ['[*]', 'Stored', 'offline sale'],
  ['Received', 'Authorized', 'approved, Deferred'],
  ['Received', 'Captured', 'approved, Immediate'],
  ['Received', 'Declined', 'declined'],
  ['Received', 'Failed', 'not sent'],
  ['Received', 'Reversing', 'no answer, or given up'],
  ['Stored', 'Captured', 'taken'],
  ['Stored', 'Declined', 'declined late'],
  ['Stored', 'Cancelled', 'cancelled before it is sent'],
  ['Reversing', 'Reversed', 'acknowledged'],
  ['Authorized', 'Expired', 'the hold is over'],
];

const requestedAmount = 3;
const terms = { partialCancel: true, multipleCapture: true, overCaptureAllowance: 0 };
const operations: readonly [OperationType, string, (amount: number) => PositionChanges][] = [
  ['Capture', 'capture', (captured) => ({ captured })],
  ['Cancel', 'cancel', (cancelled) => ({ cancelled })],
  ['Refund', 'refund', (refunded) => ({ refunded })],
];

function follow(position: Position): [name: string, next: Position][] {
  const transitions = operations.flatMap(([verb, name, changes]) => {
    const { maxAmount } = checkAllowed(position, verb, terms);
    return Array.from({ length: maxAmount }, (_, index): [string, Position] => [
      name,
      applyPositionChanges(position, changes(index + 1)),
    ]);
  });
  const reversal = checkAllowed(position, 'Reversal', terms);
  if (!reversal.allowed || reversal.maxAmount === 0) return transitions;
  const reversed = applyPositionChanges(position, {
    phase: 'Reversed',
    cancelled: remainingAuthorized(position),
  });
  return [...transitions, ['technical cancel', reversed]];
}

/** Every state that operations lead to, by doing all of them on a small sale. */
export function transitionsDiagram(): string {
  const edges = new Map<string, Set<string>>();
  const draw = (from: string, to: string, name: string): void => {
    const key = `${from} --> ${to}`;
    edges.set(key, (edges.get(key) ?? new Set()).add(name));
  };
  for (const [from, to, name] of sales) draw(from, to, name);
  const start: Position = { phase: 'Approved', ...zeroAmounts, authorized: requestedAmount };
  const waiting = [start, { ...start, captured: requestedAmount }];
  const reached = new Set<string>();
  for (let position = waiting.pop(); position !== undefined; position = waiting.pop()) {
    const key = JSON.stringify(position);
    if (reached.has(key)) continue;
    reached.add(key);
    for (const [name, next] of follow(position)) {
      if (deriveState(next) !== deriveState(position))
        draw(deriveState(position), deriveState(next), name);
      waiting.push(next);
    }
  }
  const lines = [...edges].map(([edge, names]) => `  ${edge}: ${[...names].join(', ')}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}
