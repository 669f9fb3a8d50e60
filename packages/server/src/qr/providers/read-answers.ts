// Converts a provider's response to an outcome, with strict checks of amounts and identifiers.
import { defined, parseJsonObject } from '@switchyard/contract';
import { type CallResult, hourMs } from '../../platform/index.ts';
import type {
  CancelAnswered,
  Failed,
  HealthAnswered,
  NotFound,
  NotSent,
  PaymentAnswer,
  RefundAnswered,
  Refused,
  Unknown,
} from './provider-types.ts';
import * as read from './read-members.ts';

/** The identifiers in the call; a response with other ones is a contradiction. */
export type ExpectedIdentifiers = {
  readonly providerTransactionId?: string;
  readonly refundId?: string;
  /** Set for a call that creates a payment. */
  readonly newPayment?: { readonly expiresAt: Date };
};

const paymentMembers = [
  'providerTransactionId',
  'status',
  'amount',
  'display',
  'expiresAt',
  'pollAfterMs',
  'payer',
  'failure',
  'platformTransactionId',
];
const cancelMembers = ['providerTransactionId', 'status', 'failure', 'platformTransactionId'];
const refundMembers = [
  'refundId',
  'providerRefundId',
  'status',
  'amount',
  'failure',
  'platformTransactionId',
  'providerTransactionId',
];

const unknown = (fault: Unknown['fault']): Unknown => ({ outcome: 'Unknown', fault });
const unreadable = unknown('answer_unreadable');
const contradicts = unknown('answer_contradicts');

const isSuccess = (status: number) => status >= 200 && status <= 202;

/** Retry-After as seconds or a date (RFC 9110), at most one hour. */
function retryAfter(header: unknown, now: number): { retryAfterMs?: number } {
  if (typeof header !== 'string') return {};
  const ms = /^\d{1,5}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? { retryAfterMs: Math.min(hourMs, Math.max(0, ms)) } : {};
}

/** The outcome of a call without a response. */
export function outcomeOfFault(result: Extract<CallResult, { fault: string }>): Unknown | NotSent {
  const { fault, possiblySent } = result;
  // The call was sent, but a retry was refused because the host name now resolves elsewhere.
  if (fault === 'address_refused') {
    return possiblySent ? unknown('unreachable') : { outcome: 'NotSent', reason: fault };
  }
  if (fault === 'answer_too_large' || possiblySent) return unknown(fault);
  return { outcome: 'NotSent', reason: fault };
}

function refusalReason(status: number): Refused['reason'] {
  if (status === 401 || status === 403) return 'signature';
  if (status === 409) return 'conflict';
  return status === 400 || status === 422 ? 'invalid' : 'refused';
}

/** Codes for an unknown payment or refund; a 404 alone may come from another server. */
const notFoundCodes = new Set(['payment_not_found', 'refund_not_found']);
/** A proxy can send these statuses too, so the provider may have processed the call. */
const uncertainStatuses = new Set([408, 425, 499]);

function outcomeOfProblem(
  { status, headers, body }: Extract<CallResult, { status: number }>,
  now: number,
): NotFound | Failed {
  if (status < 200 || (status >= 300 && status < 400)) return unknown('redirected');
  const retryTime = retryAfter(headers['retry-after'], now);
  if (status === 429) return { outcome: 'NotSent', reason: 'too_many_requests', ...retryTime };
  if (status >= 500 || uncertainStatuses.has(status))
    return { ...unknown('server_fault'), ...retryTime };
  if (status < 400) return unreadable;
  const problem = parseJsonObject(body) ?? {};
  const code = read.parseReasonCode(problem['code']);
  if (status === 404 && code !== undefined && notFoundCodes.has(code))
    return { outcome: 'NotFound' };
  const text = read.parseTextLine(problem['detail']) ?? read.parseTextLine(problem['title']);
  return {
    outcome: 'Refused',
    reason: refusalReason(status),
    status,
    ...(code !== undefined && /^[a-z][a-z0-9_]{0,63}$/.test(code) ? { code } : {}),
    ...defined({ text }),
  };
}

/** A 404 without the provider's code does not prove that the payment does not exist. */
function withoutUnprovenNotFound(problem: NotFound | Failed): NotFound | Failed {
  const isOtherServer = problem.outcome === 'Refused' && [404, 405, 410].includes(problem.status);
  return isOtherServer ? unreadable : problem;
}

/** Only a different identifier contradicts; a missing one does not. */
const isOtherIdentifier = (received: string | undefined, expected: string | undefined) =>
  received !== undefined && expected !== undefined && received !== expected;

const statusesWithDisplay = new Set(['Created', 'Pending', 'Scanned']);
const statusesNeverFirst = new Set(['PartiallyRefunded', 'Refunded']);

function readDisplay(members: read.Members, status: string) {
  if (!statusesWithDisplay.has(status)) return undefined;
  return read.parseDisplay(members['display']);
}

function readExpiry(
  members: read.Members,
  newPayment: ExpectedIdentifiers['newPayment'],
): { expiresAt?: Date } {
  const at = read.parseTimestamp(members['expiresAt']);
  if (at === undefined) return {};
  const isLater = newPayment !== undefined && at.getTime() > newPayment.expiresAt.getTime();
  return { expiresAt: isLater ? newPayment.expiresAt : at };
}

/** The members that are present and readable. */
function presentMembers<Values extends Record<string, unknown>>(values: Values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Values]?: Exclude<Values[Name], undefined>;
  };
}

function parsePaymentAnswer(
  body: string,
  expectedIdentifiers: ExpectedIdentifiers,
): PaymentAnswer | Unknown {
  const members = parseJsonObject(body);
  if (members === undefined) return unreadable;
  const providerTransactionId = read.parseIdentifier(members['providerTransactionId']);
  const status = read.parsePaymentStatus(members['status']);
  const amount = read.parseAmount(members['amount']);
  if (providerTransactionId === undefined || status === undefined) return unreadable;
  if (amount === 'unreadable') return unreadable;
  if (isOtherIdentifier(providerTransactionId, expectedIdentifiers.providerTransactionId))
    return contradicts;
  if (expectedIdentifiers.newPayment !== undefined && statusesNeverFirst.has(status))
    return contradicts;
  const display = readDisplay(members, status);
  // A display that the terminal cannot show fails at creation, before the consumer waits for it.
  if (display === 'refused' && expectedIdentifiers.newPayment !== undefined)
    return unknown('display_refused');
  return {
    outcome: 'Answered',
    providerTransactionId,
    status,
    ...(amount ?? {}),
    ...presentMembers({
      display: display === 'refused' ? undefined : display,
      pollAfterMs: read.parsePollInterval(members['pollAfterMs']),
      payer: read.parsePayer(members['payer']),
      failure: read.parseFailure(members['failure']),
    }),
    ...readExpiry(members, expectedIdentifiers.newPayment),
    ...read.collectUnknownMembers(members, paymentMembers),
  };
}

type ProviderResponse = Extract<CallResult, { status: number }>;

/** The outcome of a call that creates a payment. */
export function readCreateAnswer(
  response: ProviderResponse,
  expectedIdentifiers: ExpectedIdentifiers,
  now: number,
): PaymentAnswer | Failed {
  if (isSuccess(response.status)) return parsePaymentAnswer(response.body, expectedIdentifiers);
  const problem = outcomeOfProblem(response, now);
  // A new payment cannot be missing, so the address of the provider is wrong.
  return problem.outcome === 'NotFound'
    ? { outcome: 'Refused', reason: 'refused', status: response.status }
    : problem;
}

export function readStatusAnswer(
  response: ProviderResponse,
  expectedIdentifiers: ExpectedIdentifiers,
  now: number,
) {
  return isSuccess(response.status)
    ? parsePaymentAnswer(response.body, expectedIdentifiers)
    : withoutUnprovenNotFound(outcomeOfProblem(response, now));
}

function parseCancelAnswer(
  members: read.Members,
  expectedIdentifiers: ExpectedIdentifiers,
  member: string,
): CancelAnswered | Unknown {
  const status = read.parsePaymentStatus(members[member]);
  const providerTransactionId = read.parseIdentifier(members['providerTransactionId']);
  if (status === undefined) return unreadable;
  if (isOtherIdentifier(providerTransactionId, expectedIdentifiers.providerTransactionId))
    return contradicts;
  return {
    outcome: 'Answered',
    status,
    ...presentMembers({ providerTransactionId, failure: read.parseFailure(members['failure']) }),
    ...read.collectUnknownMembers(members, [...cancelMembers, member]),
  };
}

/** A 409 with `paymentStatus` gives the status in place of a cancel, so it is an answer. */
export function readCancelAnswer(
  response: ProviderResponse,
  expectedIdentifiers: ExpectedIdentifiers,
  now: number,
): CancelAnswered | NotFound | Failed {
  const members = parseJsonObject(response.body);
  if (isSuccess(response.status)) {
    return members === undefined
      ? unreadable
      : parseCancelAnswer(members, expectedIdentifiers, 'status');
  }
  const isFinal = response.status === 409 && members?.['paymentStatus'] !== undefined;
  if (isFinal) return parseCancelAnswer(members, expectedIdentifiers, 'paymentStatus');
  return withoutUnprovenNotFound(outcomeOfProblem(response, now));
}

export function readRefundAnswer(
  response: ProviderResponse,
  expectedIdentifiers: ExpectedIdentifiers,
  now: number,
): RefundAnswered | NotFound | Failed {
  if (!isSuccess(response.status)) return withoutUnprovenNotFound(outcomeOfProblem(response, now));
  const members = parseJsonObject(response.body);
  if (members === undefined) return unreadable;
  const status = read.parseRefundStatus(members['status']);
  const amount = read.parseAmount(members['amount']);
  if (status === undefined || amount === 'unreadable') return unreadable;
  const { refundId } = members;
  if (typeof refundId !== 'string') return unreadable;
  if (refundId.toLowerCase() !== expectedIdentifiers.refundId) return contradicts;
  return {
    outcome: 'Answered',
    status,
    ...presentMembers({
      providerRefundId: read.parseIdentifier(members['providerRefundId']),
      amount,
      failure: read.parseFailure(members['failure']),
    }),
    ...read.collectUnknownMembers(members, refundMembers),
  };
}

/** A refusal also shows that the provider runs; it may have no health endpoint. */
export function readHealthAnswer(response: ProviderResponse, now: number): HealthAnswered | Failed {
  const problem = isSuccess(response.status) ? undefined : outcomeOfProblem(response, now);
  if (problem === undefined) {
    const status = parseJsonObject(response.body)?.['status'];
    return status === 'Up' || status === 'Down' ? { outcome: 'Answered', status } : unreadable;
  }
  return problem.outcome === 'NotFound' || problem.outcome === 'Refused'
    ? { outcome: 'Answered', status: 'Up' }
    : problem;
}
