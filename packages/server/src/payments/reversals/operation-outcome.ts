// Which response of the acquirer decides an operation, a reversal or an offline sale. Pure; generates the documentation.
import {
  type AcquirerOutcome,
  isDuplicateDecline,
  isIndeterminate,
} from '../../acquiring/index.ts';
import type { RetryTime } from '../runtime/retry-driver.ts';
import { wasApprovedAtHost } from '../transaction/approval-evidence.ts';
import type { StoredOperation, TransactionRecord } from '../transaction/transaction.ts';

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

export type MessageConditions = {
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

const succeeded = { status: 'Succeeded' } as const;
const declined = { status: 'Declined' } as const;
const retry = { status: 'Pending', retry: 'Backoff' } as const;
const retryInOrder = { status: 'Pending', retry: 'BackoffInOrder' } as const;
const retryWhenLinkIsUp = { status: 'Pending', retry: 'WhenLinkIsUp' } as const;

const declines = ['Declined', 'OriginalNotFound'] as const;

const duplicateOfEarlierCopy = {
  when: { response: 'Duplicate', isRepeat: true, hasCollision: false },
  result: succeeded,
  because: 'the host has the earlier copy',
} as const;
const collision = {
  when: { response: 'Duplicate', hasCollision: false },
  result: { ...retry, isCollision: true },
  because: 'no copy was sent before: another message used these references',
} as const;
const afterCollision = {
  when: { response: 'Duplicate' },
  result: retry,
  because: 'the references belong to another message',
} as const;
const noResponse = {
  when: { response: 'NoResponse' },
  result: retryInOrder,
  because: 'the host may have processed the message',
} as const;

/** Captures, refunds and cancels. */
export const operationRules: readonly OutcomeRule<OperationConditions>[] = [
  { when: { response: 'Approved' }, result: succeeded, because: 'the host has done it' },
  {
    when: {
      response: ['Declined', 'OriginalNotFound', 'HostError', 'Indeterminate', 'Duplicate'],
      isClearingLine: true,
    },
    result: declined,
    because: 'the acknowledgement of a clearing file is final',
  },
  { when: { response: declines }, result: declined, because: 'the host has refused it' },
  {
    when: { response: 'HostError', isRepeat: false },
    result: declined,
    because: 'the host did not process the only copy',
  },
  {
    when: { response: 'HostError' },
    result: retry,
    because: 'the host may have processed an earlier copy',
  },
  {
    when: { response: 'Indeterminate' },
    result: retry,
    because: 'the issuer may have processed it',
  },
  duplicateOfEarlierCopy,
  collision,
  afterCollision,
  noResponse,
  {
    when: { response: 'NotSent', isScheduled: false },
    result: { status: 'Failed' },
    because: 'no copy was sent: the reserved amount is released',
  },
  {
    when: { response: 'NotSent' },
    result: retryWhenLinkIsUp,
    because: 'an earlier copy may have been sent',
  },
];

const acceptedTooEarly = {
  status: 'Pending',
  retry: 'Backoff',
  newReference: 'Always',
  isAccepted: true,
} as const;
const tooEarly = 'the host may have processed the reversal before the sale';
const withNewReference = { newReference: 'UpToLimit' } as const;

/** Reversals: a reversal ends only after the host has accepted it, or holds no sale. */
export const reversalRules: readonly OutcomeRule<ReversalConditions>[] = [
  {
    when: { response: 'Approved', saleApproval: 'AfterSend' },
    result: acceptedTooEarly,
    because: tooEarly,
  },
  {
    when: { ...duplicateOfEarlierCopy.when, saleApproval: 'AfterSend' },
    result: acceptedTooEarly,
    because: tooEarly,
  },
  { when: { response: 'Approved' }, result: succeeded, because: 'the host has done it' },
  duplicateOfEarlierCopy,
  {
    when: {
      response: 'Duplicate',
      earlierReversal: ['WithoutHostResponse', 'AcceptedByHost'],
      saleApproval: ['Never', 'BeforeSend'],
    },
    result: succeeded,
    because: 'the host has the earlier reversal of this sale',
  },
  { ...collision, result: { ...collision.result, ...withNewReference } },
  { ...afterCollision, result: { ...retry, ...withNewReference } },
  {
    when: { response: 'OriginalNotFound', canSaleArrive: true },
    result: retry,
    because: 'the sale may reach the host later',
  },
  {
    when: { response: 'OriginalNotFound', saleApproval: 'Never' },
    result: succeeded,
    because: 'the sale did not reach the host',
  },
  {
    when: {
      response: 'OriginalNotFound',
      saleApproval: 'BeforeSend',
      earlierReversal: 'AcceptedByHost',
    },
    result: succeeded,
    because: 'the earlier reversal has removed the sale',
  },
  {
    when: { response: 'OriginalNotFound' },
    result: retry,
    because: 'the host has approved the sale: it looks under other references',
  },
  {
    when: { response: ['Declined', 'HostError', 'Indeterminate'] },
    result: retry,
    because: 'the host has not accepted the reversal',
  },
  noResponse,
  {
    when: { response: 'NotSent' },
    result: retryWhenLinkIsUp,
    because: 'the host does not have the reversal',
  },
];

/** Advices of offline sales. The goods are with the customer, so nothing is reversed. */
export const offlineSaleRules: readonly OutcomeRule<MessageConditions>[] = [
  { when: { response: 'Approved' }, result: succeeded, because: 'the host has booked the sale' },
  { when: { response: declines }, result: declined, because: 'the host has refused the sale' },
  {
    when: { response: ['HostError', 'Indeterminate'] },
    result: retry,
    because: 'the host has not decided',
  },
  duplicateOfEarlierCopy,
  collision,
  afterCollision,
  noResponse,
  {
    when: { response: 'NotSent' },
    result: retryWhenLinkIsUp,
    because: 'the host does not have the advice',
  },
];

export type ContradictionAlert = 'Contradiction' | 'PossiblyProcessed' | 'None';

/** Responses that arrive after a user resolved the operation manually. */
export const manualResolutionRules: readonly OutcomeRule<ManualConditions, ContradictionAlert>[] = [
  {
    when: { resolvedAs: 'Declined', response: 'Approved' },
    result: 'Contradiction',
    because: 'the host has done it',
  },
  {
    when: { ...duplicateOfEarlierCopy.when, resolvedAs: 'Declined' },
    result: 'Contradiction',
    because: duplicateOfEarlierCopy.because,
  },
  {
    when: { resolvedAs: 'Declined', response: ['NoResponse', 'Indeterminate'] },
    result: 'PossiblyProcessed',
    because: 'the host may have processed the last copy',
  },
  {
    when: { resolvedAs: 'Succeeded', response: declines },
    result: 'Contradiction',
    because: 'the host has refused it',
  },
  { when: {}, result: 'None', because: 'the response agrees or proves nothing' },
];

/** The first row whose conditions all match. */
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
  hasCollision: details.collided === true,
});

/** An original that the host did not find proves nothing about a later copy of the sale. */
function findEarlierReversal(
  { operations }: TransactionRecord,
  { number, details }: StoredOperation,
): ReversalConditions['earlierReversal'] {
  if (details.takenBefore === true) return 'AcceptedByHost';
  const responseCodes = operations
    .filter(
      (each) => each.kind === 'Reversal' && each.number < number && each.status === 'Succeeded',
    )
    .map((each) => each.details.response?.code)
    .filter((code) => code !== originalNotFoundCode);
  if (responseCodes.length === 0) return 'None';
  return responseCodes.some((code) => code !== undefined)
    ? 'AcceptedByHost'
    : 'WithoutHostResponse';
}

export type OutcomeInput = {
  /** Epoch ms. */
  at: number;
  isRepeat: boolean;
  acquirerTimeoutMs: number;
  /** As it was when the message was sent. */
  transactionWhenSent: TransactionRecord;
};

/** Decides what the outcome means for the operation. */
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
    return findRule(operationRules, { ...message, isScheduled, isClearingLine }).result;
  }
  const approvalTime = wasApprovedAtHost(transactionWhenSent) ? 'BeforeSend' : 'AfterSend';
  // An offline sale may be sent until its reversal is queued, long after its own deadline.
  const lastSendAt = Math.max(transaction.row.deadline, Date.parse(operation.createdAt));
  return findRule(reversalRules, {
    ...message,
    saleApproval: wasApprovedAtHost(transaction) ? approvalTime : 'Never',
    earlierReversal: findEarlierReversal(transaction, operation),
    canSaleArrive: at < lastSendAt + acquirerTimeoutMs,
  }).result;
}
