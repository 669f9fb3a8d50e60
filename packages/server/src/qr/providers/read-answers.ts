// Converts a provider's response to an outcome, with strict checks of amounts and identifiers.
import { defined } from '@switchyard/contract';
import type { CallResult } from '../../platform/index.ts';
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
export type Asked = {
  readonly providerTransactionId?: string;
  readonly refundId?: string;
  /** Set for a call that creates a payment. */
  readonly begins?: { readonly expiresAt: Date };
};

const hourMs = 3_600_000;
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

const isFine = (status: number) => status >= 200 && status <= 202;

/** Retry-After as seconds or a date (RFC 9110), at most one hour. */
function retryAfter(header: unknown, now: number): { retryAfterMs?: number } {
  if (typeof header !== 'string') return {};
  const ms = /^\d{1,5}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? { retryAfterMs: Math.min(hourMs, Math.max(0, ms)) } : {};
}

/** The outcome of a call without a response. */
export function faultOf(result: Extract<CallResult, { fault: string }>): Unknown | NotSent {
  const { fault, possiblySent } = result;
  // The call was sent, but a retry was refused because the host name now resolves elsewhere.
  if (fault === 'address_refused') {
    return possiblySent ? unknown('unreachable') : { outcome: 'NotSent', reason: fault };
  }
  if (fault === 'answer_too_large' || possiblySent) return unknown(fault);
  return { outcome: 'NotSent', reason: fault };
}

function refusedFor(status: number): Refused['reason'] {
  if (status === 401 || status === 403) return 'signature';
  if (status === 409) return 'conflict';
  return status === 400 || status === 422 ? 'invalid' : 'refused';
}

/** Codes for an unknown payment or refund; a 404 alone may come from another server. */
const missing = new Set(['payment_not_found', 'refund_not_found']);
/** A proxy can send these statuses too, so the provider may have processed the call. */
const uncertain = new Set([408, 425, 499]);

function problemOf(
  { status, headers, body }: Extract<CallResult, { status: number }>,
  now: number,
): NotFound | Failed {
  if (status < 200 || (status >= 300 && status < 400)) return unknown('redirected');
  const wait = retryAfter(headers['retry-after'], now);
  if (status === 429) return { outcome: 'NotSent', reason: 'too_many_requests', ...wait };
  if (status >= 500 || uncertain.has(status)) return { ...unknown('server_fault'), ...wait };
  if (status < 400) return unreadable;
  const problem = read.parsed(body) ?? {};
  const code = read.code(problem['code']);
  if (status === 404 && code !== undefined && missing.has(code)) return { outcome: 'NotFound' };
  const text = read.line(problem['detail']) ?? read.line(problem['title']);
  return {
    outcome: 'Refused',
    reason: refusedFor(status),
    status,
    ...(code !== undefined && /^[a-z][a-z0-9_]{0,63}$/.test(code) ? { code } : {}),
    ...defined({ text }),
  };
}

/** A 404 without the provider's code does not prove that the payment does not exist. */
function settled(problem: NotFound | Failed): NotFound | Failed {
  const isNobody = problem.outcome === 'Refused' && [404, 405, 410].includes(problem.status);
  return isNobody ? unreadable : problem;
}

/** Only a different identifier contradicts; a missing one does not. */
const differs = (told: string | undefined, known: string | undefined) =>
  told !== undefined && known !== undefined && told !== known;

const showable = new Set(['Created', 'Pending', 'Scanned']);
const neverAtFirst = new Set(['PartiallyRefunded', 'Refunded']);

function shown(members: read.Members, status: string) {
  if (!showable.has(status)) return undefined;
  return read.display(members['display']);
}

function expiry(members: read.Members, begins: Asked['begins']): { expiresAt?: Date } {
  const at = read.time(members['expiresAt']);
  if (at === undefined) return {};
  const isLater = begins !== undefined && at.getTime() > begins.expiresAt.getTime();
  return { expiresAt: isLater ? begins.expiresAt : at };
}

/** The members that are present and readable. */
function told<Values extends Record<string, unknown>>(values: Values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Values]?: Exclude<Values[Name], undefined>;
  };
}

function paymentIn(body: string, asked: Asked): PaymentAnswer | Unknown {
  const members = read.parsed(body);
  if (members === undefined) return unreadable;
  const providerTransactionId = read.identifier(members['providerTransactionId']);
  const status = read.paymentStatus(members['status']);
  const money = read.amount(members['amount']);
  if (providerTransactionId === undefined || status === undefined) return unreadable;
  if (money === 'unreadable') return unreadable;
  if (differs(providerTransactionId, asked.providerTransactionId)) return contradicts;
  if (asked.begins !== undefined && neverAtFirst.has(status)) return contradicts;
  const display = shown(members, status);
  // A display that the terminal cannot show fails at creation, before the consumer waits for it.
  if (display === 'refused' && asked.begins !== undefined) return unknown('display_refused');
  return {
    outcome: 'Answered',
    providerTransactionId,
    status,
    ...(money ?? {}),
    ...told({
      display: display === 'refused' ? undefined : display,
      pollAfterMs: read.pollAfter(members['pollAfterMs']),
      payer: read.payer(members['payer']),
      failure: read.failure(members['failure']),
    }),
    ...expiry(members, asked.begins),
    ...read.moreOf(members, paymentMembers),
  };
}

type Heard = Extract<CallResult, { status: number }>;

/** The outcome of a call that creates a payment. */
export function createdOf(heard: Heard, asked: Asked, now: number): PaymentAnswer | Failed {
  if (isFine(heard.status)) return paymentIn(heard.body, asked);
  const problem = problemOf(heard, now);
  // A new payment cannot be missing, so the address of the provider is wrong.
  return problem.outcome === 'NotFound'
    ? { outcome: 'Refused', reason: 'refused', status: heard.status }
    : problem;
}

export function statusOf(heard: Heard, asked: Asked, now: number) {
  return isFine(heard.status) ? paymentIn(heard.body, asked) : settled(problemOf(heard, now));
}

function cancelIn(members: read.Members, asked: Asked, member: string): CancelAnswered | Unknown {
  const status = read.paymentStatus(members[member]);
  const providerTransactionId = read.identifier(members['providerTransactionId']);
  if (status === undefined) return unreadable;
  if (differs(providerTransactionId, asked.providerTransactionId)) return contradicts;
  return {
    outcome: 'Answered',
    status,
    ...told({ providerTransactionId, failure: read.failure(members['failure']) }),
    ...read.moreOf(members, [...cancelMembers, member]),
  };
}

/** A 409 with `paymentStatus` gives the status in place of a cancel, so it is an answer. */
export function cancelOf(
  heard: Heard,
  asked: Asked,
  now: number,
): CancelAnswered | NotFound | Failed {
  const members = read.parsed(heard.body);
  if (isFine(heard.status)) {
    return members === undefined ? unreadable : cancelIn(members, asked, 'status');
  }
  const isFinal = heard.status === 409 && members?.['paymentStatus'] !== undefined;
  if (isFinal) return cancelIn(members, asked, 'paymentStatus');
  return settled(problemOf(heard, now));
}

export function refundOf(
  heard: Heard,
  asked: Asked,
  now: number,
): RefundAnswered | NotFound | Failed {
  if (!isFine(heard.status)) return settled(problemOf(heard, now));
  const members = read.parsed(heard.body);
  if (members === undefined) return unreadable;
  const status = read.refundStatus(members['status']);
  const money = read.amount(members['amount']);
  if (status === undefined || money === 'unreadable') return unreadable;
  const { refundId } = members;
  if (typeof refundId !== 'string') return unreadable;
  if (refundId.toLowerCase() !== asked.refundId) return contradicts;
  return {
    outcome: 'Answered',
    status,
    ...told({
      providerRefundId: read.identifier(members['providerRefundId']),
      amount: money,
      failure: read.failure(members['failure']),
    }),
    ...read.moreOf(members, refundMembers),
  };
}

/** A refusal also shows that the provider runs; it may have no health endpoint. */
export function healthOf(heard: Heard, now: number): HealthAnswered | Failed {
  const problem = isFine(heard.status) ? undefined : problemOf(heard, now);
  if (problem === undefined) {
    const status = read.parsed(heard.body)?.['status'];
    return status === 'Up' || status === 'Down' ? { outcome: 'Answered', status } : unreadable;
  }
  return problem.outcome === 'NotFound' || problem.outcome === 'Refused'
    ? { outcome: 'Answered', status: 'Up' }
    : problem;
}
