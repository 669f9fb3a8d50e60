// Which response of the acquirer decides an operation, a reversal or an offline sale. Pure; generates the documentation.
import {
  type AcquirerOutcome,
  isDuplicateDecline,
  isIndeterminate,
} from '../../acquiring/index.ts';
import type { RetryTime } from '../runtime/send-queued-message.ts';
import {
  type StoredOperation,
  type TransactionRecord,
  wasApprovedAtHost,
} from '../transaction/transaction.ts';

const originalNotFoundCode = '25';
/** The host or the connection to the issuer is out of order: the message was not decided. */
export const hostErrorCodes: readonly string[] = ['06', '19', '90', '91', '92', '96', 'N0'];

export const responseClasses = [
  'Approved',
  'Declined',
  'OriginalNotFound',
  'HostError',
  'Indeterminate',
  'Duplicate',
  'NoResponse',
  'NotSent',
] as const;
export type ResponseClass = (typeof responseClasses)[number];

export function classifyResponse(outcome: AcquirerOutcome): ResponseClass {
  if (outcome.outcome === 'Unknown') return 'NoResponse';
  if (outcome.outcome !== 'Declined') return outcome.outcome;
  if (isDuplicateDecline(outcome)) return 'Duplicate';
  if (isIndeterminate(outcome)) return 'Indeterminate';
  if (hostErrorCodes.includes(outcome.responseCode)) return 'HostError';
  return outcome.responseCode === originalNotFoundCode ? 'OriginalNotFound' : 'Declined';
}

type MessageConditions = {
  response: ResponseClass;
  /** An earlier copy of the message may have been sent. */
  isRepeat: boolean;
  /** The host knew the references of the first copy: they belong to another message. */
  hasCollision: boolean;
};
type OperationConditions = MessageConditions & {
  /** A job sends the operation again. */
  isScheduled: boolean;
  /** The capture was a line of a clearing file. */
  isClearingLine: boolean;
};
type ReversalConditions = MessageConditions & {
  /** When the platform learned that the host approved the sale. */
  saleApproval: 'Never' | 'BeforeSend' | 'AfterSend';
  earlierReversal: 'None' | 'WithoutHostResponse' | 'AcceptedByHost';
  /** The sale may still be on its way to the host. */
  canSaleArrive: boolean;
};
type ManualConditions = MessageConditions & { resolvedAs: 'Succeeded' | 'Declined' };

export type OutcomeResult =
  | { status: 'Succeeded' | 'Declined' | 'Failed' }
  | {
      status: 'Pending';
      retry: RetryTime;
      /** Record the collision and raise an alert. */
      isCollision?: true;
      /** New references; `UpToLimit` stops after some renewals. */
      newReference?: 'UpToLimit' | 'Always';
      /** Record that the host accepted this reversal, perhaps before the sale arrived. */
      isAccepted?: true;
    };

/** A row of a table. A condition that is absent matches any value; the first matching row applies. */
export type OutcomeRule<Conditions, Result = OutcomeResult> = {
  when: { readonly [Name in keyof Conditions]?: Conditions[Name] | readonly Conditions[Name][] };
  result: Result;
  because: string;
};

const rule = <Conditions, Result>(
  when: OutcomeRule<Conditions, Result>['when'],
  result: Result,
  because: string,
): OutcomeRule<Conditions, Result> => ({ when, result, because });

const succeeded = { status: 'Succeeded' } as const;
const declined = { status: 'Declined' } as const;
const retry = { status: 'Pending', retry: 'Backoff' } as const;
const retryInOrder = { status: 'Pending', retry: 'BackoffInOrder' } as const;
const retryWhenLinkIsUp = { status: 'Pending', retry: 'WhenLinkIsUp' } as const;

const declines = ['Declined', 'OriginalNotFound'] as const;

const duplicateOfEarlierCopy: OutcomeRule<MessageConditions> = rule(
  { response: 'Duplicate', isRepeat: true, hasCollision: false },
  succeeded,
  'the host has the earlier copy',
);
const collision: OutcomeRule<MessageConditions> = rule(
  { response: 'Duplicate', hasCollision: false },
  { ...retry, isCollision: true },
  'no copy was sent before: another message used these references',
);
const afterCollision: OutcomeRule<MessageConditions> = rule(
  { response: 'Duplicate' },
  retry,
  'the references belong to another message',
);
const noResponse: OutcomeRule<MessageConditions> = rule(
  { response: 'NoResponse' },
  retryInOrder,
  'the host may have processed the message',
);

/** Captures, refunds and cancels. */
export const operationOutcomeRules: readonly OutcomeRule<OperationConditions>[] = [
  rule({ response: 'Approved' }, succeeded, 'the host has done it'),
  rule(
    {
      response: ['Declined', 'OriginalNotFound', 'HostError', 'Indeterminate', 'Duplicate'],
      isClearingLine: true,
    },
    declined,
    'the acknowledgement of a clearing file is final',
  ),
  rule({ response: declines }, declined, 'the host has refused it'),
  rule(
    { response: 'HostError', isRepeat: false },
    declined,
    'the host did not process the only copy',
  ),
  rule({ response: 'HostError' }, retry, 'the host may have processed an earlier copy'),
  rule({ response: 'Indeterminate' }, retry, 'the issuer may have processed it'),
  duplicateOfEarlierCopy,
  collision,
  afterCollision,
  noResponse,
  rule(
    { response: 'NotSent', isScheduled: false },
    { status: 'Failed' },
    'no copy was sent: the reserved amount is released',
  ),
  rule({ response: 'NotSent' }, retryWhenLinkIsUp, 'an earlier copy may have been sent'),
];

const acceptedTooEarly = { ...retry, newReference: 'Always', isAccepted: true } as const;
const tooEarly = 'the host may have processed the reversal before the sale';

/** Reversals: a reversal ends only after the host has accepted it, or holds no sale. */
export const reversalOutcomeRules: readonly OutcomeRule<ReversalConditions>[] = [
  rule({ response: 'Approved', saleApproval: 'AfterSend' }, acceptedTooEarly, tooEarly),
  rule({ ...duplicateOfEarlierCopy.when, saleApproval: 'AfterSend' }, acceptedTooEarly, tooEarly),
  rule({ response: 'Approved' }, succeeded, 'the host has done it'),
  duplicateOfEarlierCopy,
  rule(
    {
      response: 'Duplicate',
      earlierReversal: ['WithoutHostResponse', 'AcceptedByHost'],
      saleApproval: ['Never', 'BeforeSend'],
    },
    succeeded,
    'the host has the earlier reversal of this sale',
  ),
  { ...collision, result: { ...retry, isCollision: true, newReference: 'UpToLimit' } },
  { ...afterCollision, result: { ...retry, newReference: 'UpToLimit' } },
  rule(
    { response: 'OriginalNotFound', canSaleArrive: true },
    retry,
    'the sale may reach the host later',
  ),
  rule(
    { response: 'OriginalNotFound', saleApproval: 'Never' },
    succeeded,
    'the sale did not reach the host',
  ),
  rule(
    { response: 'OriginalNotFound', saleApproval: 'BeforeSend', earlierReversal: 'AcceptedByHost' },
    succeeded,
    'the earlier reversal has removed the sale',
  ),
  rule(
    { response: 'OriginalNotFound' },
    retry,
    'the host has approved the sale: it looks under other references',
  ),
  rule(
    { response: ['Declined', 'HostError', 'Indeterminate'] },
    retry,
    'the host has not accepted the reversal',
  ),
  noResponse,
  rule({ response: 'NotSent' }, retryWhenLinkIsUp, 'the host does not have the reversal'),
];

/** Advices of offline sales. The goods are with the customer, so nothing is reversed. */
export const offlineSaleOutcomeRules: readonly OutcomeRule<MessageConditions>[] = [
  rule({ response: 'Approved' }, succeeded, 'the host has booked the sale'),
  rule({ response: declines }, declined, 'the host has refused the sale'),
  rule({ response: ['HostError', 'Indeterminate'] }, retry, 'the host has not decided'),
  duplicateOfEarlierCopy,
  collision,
  afterCollision,
  noResponse,
  rule({ response: 'NotSent' }, retryWhenLinkIsUp, 'the host does not have the advice'),
];

type ContradictionAlert = 'Contradiction' | 'PossiblyProcessed' | 'None';

/** Responses that arrive after a user resolved the operation manually. */
export const manualResolutionRules: readonly OutcomeRule<ManualConditions, ContradictionAlert>[] = [
  rule({ resolvedAs: 'Declined', response: 'Approved' }, 'Contradiction', 'the host has done it'),
  rule(
    { ...duplicateOfEarlierCopy.when, resolvedAs: 'Declined' },
    'Contradiction',
    duplicateOfEarlierCopy.because,
  ),
  rule(
    { resolvedAs: 'Declined', response: ['NoResponse', 'Indeterminate'] },
    'PossiblyProcessed',
    'the host may have processed the last copy',
  ),
  rule({ resolvedAs: 'Succeeded', response: declines }, 'Contradiction', 'the host has refused it'),
  rule({}, 'None', 'the response agrees or proves nothing'),
];

export function findRule<Conditions extends object, Result>(
  rules: readonly OutcomeRule<Conditions, Result>[],
  conditions: Conditions,
): OutcomeRule<Conditions, Result> {
  const rule = rules.find(({ when }) =>
    (Object.keys(when) as (keyof Conditions)[]).every((name) => {
      const expected: unknown = when[name];
      return Array.isArray(expected)
        ? expected.includes(conditions[name])
        : expected === conditions[name];
    }),
  );
  if (rule === undefined) throw new Error(`no rule for the outcome ${JSON.stringify(conditions)}`);
  return rule;
}

export const messageConditions = (
  { details }: StoredOperation,
  outcome: AcquirerOutcome,
  isRepeat: boolean,
): MessageConditions => ({
  response: classifyResponse(outcome),
  isRepeat,
  hasCollision: details.hasReferenceCollision === true,
});

/** An original that the host did not find proves nothing about a later copy of the sale. */
function findEarlierReversal(
  { operations }: TransactionRecord,
  { operationNumber, details }: StoredOperation,
): ReversalConditions['earlierReversal'] {
  if (details.reversalAcceptedBefore === true) return 'AcceptedByHost';
  const responseCodes = operations
    .filter((each) => each.operationNumber < operationNumber)
    .filter(({ kind, status }) => kind === 'Reversal' && status === 'Succeeded')
    .map((each) => each.details.response?.code)
    .filter((code) => code !== originalNotFoundCode);
  if (responseCodes.length === 0) return 'None';
  return responseCodes.every((code) => code === undefined)
    ? 'WithoutHostResponse'
    : 'AcceptedByHost';
}

export type OutcomeInput = {
  /** Epoch ms. */
  at: number;
  isRepeat: boolean;
  acquirerTimeoutMs: number;
  /** As it was when the message was sent. */
  transactionWhenSent: TransactionRecord;
};

export function decideOutcome(
  transaction: TransactionRecord,
  operation: StoredOperation,
  outcome: AcquirerOutcome,
  { at, isRepeat, acquirerTimeoutMs, transactionWhenSent }: OutcomeInput,
): OutcomeResult {
  const message = messageConditions(operation, outcome, isRepeat);
  if (operation.kind !== 'Reversal') {
    const { status } = operation;
    const isScheduled = status !== 'Sent';
    const isClearingLine = status === 'Filed';
    return findRule(operationOutcomeRules, { ...message, isScheduled, isClearingLine }).result;
  }
  const approvalTime = wasApprovedAtHost(transactionWhenSent) ? 'BeforeSend' : 'AfterSend';
  // An offline sale may be sent until its reversal is queued, long after its own deadline.
  const lastSendAt = Math.max(transaction.row.deadline, Date.parse(operation.createdAt));
  return findRule(reversalOutcomeRules, {
    ...message,
    saleApproval: wasApprovedAtHost(transaction) ? approvalTime : 'Never',
    earlierReversal: findEarlierReversal(transaction, operation),
    canSaleArrive: at < lastSendAt + acquirerTimeoutMs,
  }).result;
}
