import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import { finalTransition } from '../operations/store-operation-outcome.ts';
import { type OperationType, type Position, zeroAmounts } from '../transaction/state-machine.ts';
import type { StoredOperation, TransactionRecord } from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';
import {
  classifyResponse,
  decideOutcome,
  findRule,
  manualResolutionRules,
  type OutcomeInput,
  type OutcomeResult,
  offlineSaleOutcomeRules,
  operationOutcomeRules,
  type ResponseClass,
  responseClasses,
  reversalOutcomeRules,
} from './operation-outcome.ts';

const position: Position = {
  ...zeroAmounts,
  phase: 'Approved',
  authorized: 100,
  captured: 100,
  refundReserved: 60,
};
const transaction = (changes: Partial<Position> = {}, members: Partial<TransactionRecord> = {}) =>
  ({
    row: { position: { ...position, ...changes }, deadline: 0 },
    events: [],
    operations: [],
    ...members,
  }) as unknown as TransactionRecord;
const approvedSale = transaction();

function operation(kind: OperationType, status: 'Sent' | 'Pending'): StoredOperation {
  const createdAt = new Date(0).toISOString();
  return {
    kind,
    status,
    amount: 60,
    operationNumber: 1,
    details: {},
    createdAt,
  } as unknown as StoredOperation;
}

const declined = (responseCode: string): AcquirerOutcome => ({ outcome: 'Declined', responseCode });
const when = {
  at: 1000,
  isRepeat: false,
  acquirerTimeoutMs: 5000,
  transactionWhenSent: approvedSale,
};

/** The transition of a final outcome. */
function outcomeTransition(
  current: TransactionRecord,
  pending: StoredOperation,
  outcome: AcquirerOutcome,
  input: OutcomeInput,
): Transition | 'Pending' {
  const { status } = decideOutcome(current, pending, outcome, input);
  if (status === 'Pending') return 'Pending';
  const response =
    'responseCode' in outcome ? { code: outcome.responseCode } : { reason: 'AcquirerUnavailable' };
  const approvedAmount = outcome.outcome === 'Approved' ? outcome.amount : undefined;
  return finalTransition(current, pending, { at: input.at, status, response, approvedAmount });
}

test('a duplicate response means success for a repeat and a retry for a first message', () => {
  for (const code of ['94', '26']) {
    const repeat = outcomeTransition(approvedSale, operation('Refund', 'Pending'), declined(code), {
      ...when,
      isRepeat: true,
    });
    assert.ok(repeat !== 'Pending');
    assert.equal(repeat.operation?.status, 'Succeeded');
    assert.deepEqual(repeat.changes, { refunded: 60, refundReserved: -60 });
    const first = outcomeTransition(
      approvedSale,
      operation('Refund', 'Sent'),
      declined(code),
      when,
    );
    assert.equal(first, 'Pending');
  }
});

test('a host error on a repeat does not decline the operation', () => {
  for (const kind of ['Refund', 'Capture', 'Cancel'] as const) {
    for (const code of ['06', '09', '19', '68', '90', '91', '92', '96', 'N0', '16']) {
      const circumstances = { ...when, isRepeat: true };
      const repeat = outcomeTransition(
        approvedSale,
        operation(kind, 'Pending'),
        declined(code),
        circumstances,
      );
      assert.equal(repeat, 'Pending', `${kind} ${code}`);
    }
    const judged = outcomeTransition(approvedSale, operation(kind, 'Pending'), declined('05'), {
      ...when,
      isRepeat: true,
    });
    assert.ok(judged !== 'Pending');
    assert.equal(judged.operation?.status, 'Declined');
  }
});

// Spec: CARD-55
test('a host error on the first message is a decline, except for indeterminate codes', () => {
  for (const code of ['06', '19', '90', '91', '92', '96']) {
    const first = outcomeTransition(
      approvedSale,
      operation('Refund', 'Sent'),
      declined(code),
      when,
    );
    assert.ok(first !== 'Pending', code);
    assert.equal(first.operation?.status, 'Declined');
    assert.deepEqual(first.changes, { refundReserved: -60 });
  }
  for (const code of ['09', '68', '16', 'ZZ', '400']) {
    const open = outcomeTransition(approvedSale, operation('Refund', 'Sent'), declined(code), when);
    assert.equal(open, 'Pending', code);
  }
  const plain: AcquirerOutcome = {
    outcome: 'Declined',
    responseCode: 'ZZ',
    isExplicitDecline: true,
  };
  const refused = outcomeTransition(approvedSale, operation('Refund', 'Sent'), plain, when);
  assert.ok(refused !== 'Pending');
  assert.equal(refused.operation?.status, 'Declined');
});

test('response code 25 ends a reversal only after the original cannot arrive any more', () => {
  const reversal = operation('Reversal', 'Pending');
  const unanswered = transaction({ phase: 'Reversing', authorized: 0, captured: 0 });
  assert.equal(outcomeTransition(unanswered, reversal, declined('25'), when), 'Pending');
  const later = outcomeTransition(unanswered, reversal, declined('25'), { ...when, at: 5000 });
  assert.ok(later !== 'Pending');
  assert.equal(later.changes.phase, 'Reversed');
  const malfunction = outcomeTransition(unanswered, reversal, declined('96'), {
    ...when,
    at: 9000,
  });
  assert.equal(malfunction, 'Pending');
});

// Spec: CARD-57
test('response code 25 does not end the reversal of an approved sale', () => {
  const reversal = operation('Reversal', 'Pending');
  const nothing = { phase: 'Reversing', authorized: 0, captured: 0 } as const;
  const late = (code: string, reason: string) =>
    [{ type: 'transaction.late_response', data: { response: { code }, reason } }] as never;
  const approvedAtHost = [
    { ...reversal, operationNumber: 0, details: { approvedAtHost: true } },
  ] as never;
  const afterTimeout = (current: TransactionRecord) =>
    outcomeTransition(current, reversal, declined('25'), { ...when, at: 9000 });
  assert.equal(afterTimeout(transaction({ phase: 'Reversing', captured: 0 })), 'Pending');
  assert.equal(afterTimeout(transaction(nothing, { events: late('00', 'Sale') })), 'Pending');
  assert.equal(afterTimeout(transaction(nothing, { operations: approvedAtHost })), 'Pending');
  assert.notEqual(afterTimeout(transaction(nothing, { events: late('05', 'Sale') })), 'Pending');
  assert.notEqual(
    afterTimeout(transaction(nothing, { events: late('00', 'Reversal') })),
    'Pending',
  );
});

test('response code 25 ends the reversal after the host accepted an earlier reversal', () => {
  const reversal = { ...operation('Reversal', 'Pending'), operationNumber: 2 };
  const events = [
    { type: 'transaction.late_response', data: { response: { code: '00' }, reason: 'Sale' } },
  ] as never;
  const after = (status: string, response: object) =>
    transaction({ phase: 'Reversing', authorized: 0, captured: 0 }, {
      events,
      operations: [{ ...reversal, operationNumber: 1, status, details: { response } }, reversal],
    } as never);
  const afterNotFound = (current: TransactionRecord, at = 9000) =>
    outcomeTransition(current, reversal, declined('25'), { ...when, at });
  for (const response of [{ code: '00' }, { code: '94' }]) {
    const step = afterNotFound(after('Succeeded', response));
    assert.ok(step !== 'Pending');
    assert.equal(step.operation?.status, 'Succeeded');
  }
  assert.equal(afterNotFound(after('Succeeded', { code: '00' }), 4999), 'Pending', 'too early');
  assert.equal(afterNotFound(after('Succeeded', { code: '25' })), 'Pending');
  assert.equal(afterNotFound(after('Succeeded', { reason: 'Resolved' })), 'Pending', 'by hand');
  assert.equal(afterNotFound(after('Pending', {})), 'Pending');
});

test('a duplicate response ends a second reversal, but not the first message of the first one', () => {
  const reversal = { ...operation('Reversal', 'Pending'), operationNumber: 2 };
  const before = (code: string, status = 'Succeeded') =>
    transaction({}, {
      operations: [
        { ...reversal, operationNumber: 1, status, details: { response: { code } } },
        reversal,
      ],
    } as never);
  for (const code of ['94', '26']) {
    const states = [
      outcomeTransition(approvedSale, reversal, declined(code), when),
      outcomeTransition(
        approvedSale,
        { ...reversal, details: { hasReferenceCollision: true } } as never,
        declined(code),
        {
          ...when,
          isRepeat: true,
        },
      ),
      outcomeTransition(before('25'), reversal, declined(code), when),
      outcomeTransition(before('00', 'Pending'), reversal, declined(code), when),
    ];
    assert.deepEqual(states, Array(4).fill('Pending'));
    for (const step of [
      outcomeTransition(approvedSale, reversal, declined(code), { ...when, isRepeat: true }),
      outcomeTransition(before('00'), reversal, declined(code), when),
    ]) {
      assert.ok(step !== 'Pending');
      assert.equal(step.operation?.status, 'Succeeded');
    }
  }
});

test('a partially approved amount is booked and the rest is released', () => {
  const outcome: AcquirerOutcome = { outcome: 'Approved', responseCode: '10', amount: 25 };
  const step = outcomeTransition(approvedSale, operation('Refund', 'Sent'), outcome, when);
  assert.ok(step !== 'Pending');
  assert.deepEqual(step.changes, { refunded: 25, refundReserved: -60 });
  assert.equal(step.operation?.amount, 25);
});

test('an unsent first message fails and an unsent repeat is retried', () => {
  const outcome: AcquirerOutcome = { outcome: 'NotSent', reason: 'not signed on' };
  const first = outcomeTransition(approvedSale, operation('Refund', 'Sent'), outcome, when);
  assert.ok(first !== 'Pending');
  assert.equal(first.operation?.status, 'Failed');
  // The adapter's own words are for the log.
  assert.deepEqual(first.operation?.details.response, { reason: 'AcquirerUnavailable' });
  assert.deepEqual(first.changes, { refundReserved: -60 });
  assert.equal(
    outcomeTransition(approvedSale, operation('Refund', 'Pending'), outcome, when),
    'Pending',
  );
  assert.equal(
    outcomeTransition(approvedSale, operation('Reversal', 'Sent'), outcome, when),
    'Pending',
  );
});

type Choices = Readonly<Record<string, readonly unknown[]>>;

/** Every combination of the choices. */
const combinationsOf = (choices: Choices): Record<string, unknown>[] =>
  Object.entries(choices).reduce<Record<string, unknown>[]>(
    (all, [name, values]) =>
      all.flatMap((each) => values.map((value) => ({ ...each, [name]: value }))),
    [{}],
  );

const booleans = [false, true];
const message = { response: responseClasses, isRepeat: booleans, hasCollision: booleans };
const tables: readonly (readonly [string, readonly object[], Choices])[] = [
  [
    'operation',
    operationOutcomeRules,
    { ...message, isScheduled: booleans, isClearingLine: [false] },
  ],
  [
    'reversal',
    reversalOutcomeRules,
    {
      ...message,
      saleApproval: ['Never', 'BeforeSend', 'AfterSend'],
      earlierReversal: ['None', 'WithoutHostResponse', 'AcceptedByHost'],
      canSaleArrive: booleans,
    },
  ],
  ['offline', offlineSaleOutcomeRules, message],
];
type Conditions = {
  response: ResponseClass;
  isRepeat: boolean;
  hasCollision: boolean;
  earlierReversal?: string;
  saleApproval?: string;
  canSaleArrive?: boolean;
};

/** Calls `check` with every combination of conditions and its result. */
function forEachOutcome(
  check: (table: string, conditions: Conditions, result: OutcomeResult, label: string) => void,
): void {
  for (const [table, rules, choices] of tables) {
    for (const conditions of combinationsOf(choices)) {
      const rule = findRule(rules as never, conditions as never) as { result: OutcomeResult };
      const label = `${table} ${JSON.stringify(conditions)}`;
      check(table, conditions as Conditions, rule.result, label);
    }
  }
}

test('every combination of conditions has a rule, and every rule applies to a combination', () => {
  for (const [table, rules, choices] of tables) {
    const isClearingLine = table === 'operation' ? { isClearingLine: booleans } : {};
    const used = new Set(
      combinationsOf({ ...choices, ...isClearingLine }).map((conditions) =>
        findRule(rules as never, conditions as never),
      ),
    );
    assert.deepEqual(
      [...rules].filter((rule) => !used.has(rule as never)),
      [],
      table,
    );
  }
  const manual = combinationsOf({ ...message, resolvedAs: ['Succeeded', 'Declined'] });
  const used = new Set(manual.map((each) => findRule(manualResolutionRules, each as never)));
  assert.equal(used.size, manualResolutionRules.length);
});

test('only a final response finishes an operation, and a reversal is never declined', () => {
  forEachOutcome((table, { response, isRepeat }, { status }, label) => {
    if (table === 'reversal') assert.match(status, /^(Succeeded|Pending)$/, label);
    // The host may have processed the message: its amount stays reserved.
    if (response === 'NoResponse' || response === 'Indeterminate')
      assert.equal(status, 'Pending', label);
    if (response === 'HostError' && isRepeat) assert.equal(status, 'Pending', label);
    if (status === 'Failed') assert.equal(response, 'NotSent', label);
  });
});

test('a duplicate proves success only after an earlier copy or an earlier reversal', () => {
  forEachOutcome((_table, conditions, result, label) => {
    if (conditions.response !== 'Duplicate') return;
    const { isRepeat, hasCollision, earlierReversal = 'None', saleApproval } = conditions;
    const isOurs = isRepeat && !hasCollision;
    const isProof = (isOurs || earlierReversal !== 'None') && saleApproval !== 'AfterSend';
    assert.equal(result.status, isProof ? 'Succeeded' : 'Pending', label);
    if (result.status !== 'Pending') return;
    assert.equal(result.isCollision === true, !isRepeat && !hasCollision, label);
  });
});

test('a reversal that the host may have processed before the sale is sent once more', () => {
  forEachOutcome(
    (table, { response, saleApproval, canSaleArrive, earlierReversal }, result, label) => {
      if (table !== 'reversal') return;
      if (saleApproval === 'AfterSend') assert.equal(result.status, 'Pending', label);
      else if (response === 'Approved') assert.equal(result.status, 'Succeeded', label);
      if (response !== 'OriginalNotFound' || saleApproval === 'AfterSend') return;
      const isGone = saleApproval === 'Never' || earlierReversal === 'AcceptedByHost';
      assert.equal(result.status, !canSaleArrive && isGone ? 'Succeeded' : 'Pending', label);
    },
  );
});

test('a missing response blocks the link queue and an unsent message is not counted', () => {
  forEachOutcome((_table, { response }, result, label) => {
    if (result.status !== 'Pending') return;
    const uncounted = response === 'NotSent' ? 'WhenLinkIsUp' : 'Backoff';
    const expected = response === 'NoResponse' ? 'BackoffInOrder' : uncounted;
    assert.equal(result.retry, expected, label);
  });
});

test('response codes belong to the classes of the tables', () => {
  const classes = {
    Declined: ['05', '51'],
    OriginalNotFound: ['25'],
    HostError: ['06', '19', '90', '91', '92', '96', 'N0'],
    Indeterminate: ['09', '68', '16', 'ZZ', '400'],
    Duplicate: ['94', '26'],
  };
  for (const [expected, codes] of Object.entries(classes)) {
    for (const code of codes) assert.equal(classifyResponse(declined(code)), expected, code);
  }
});
