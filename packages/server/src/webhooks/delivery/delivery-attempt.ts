// Makes one delivery attempt: signs the stored body again, sends it and builds the log entry.
import { hideCardNumbers } from '@switchyard/emv';
import {
  type CallResult,
  type Clock,
  createWebhookHeaders,
  type DueClock,
  endSpan,
  failSpan,
  isoTime,
  type OutgoingCalls,
  redactText,
  type Span,
  type Tracer,
} from '../../platform/index.ts';
import type { SigningKeys } from '../endpoints/endpoint-keys.ts';
import {
  type AttemptResponse,
  findRetryDelayMs,
  parseRetryAfterMs,
  toOutcome,
} from './retry-schedule.ts';
import type { DeliveryUpdate, DueDelivery } from './send-deliveries-sql.ts';

export const attemptTimeoutMs = 15_000;
const maxResponseBytes = 1_024;

export type AttemptDeps = {
  readonly calls: Pick<OutgoingCalls, 'call'>;
  readonly clock: Clock;
  readonly dueClock: DueClock;
  readonly timeoutMs: number;
  readonly retryDelaysMs: readonly number[];
  readonly tracer?: Tracer | undefined;
  /** Returns a random part of a time. */
  jittered(ms: number): number;
};

/** Without `tried` the server sent nothing, because the feed no longer contains the event. */
export type AttemptResult = {
  readonly response?: AttemptResponse;
  readonly update: DeliveryUpdate;
};

function toAttemptResponse(result: CallResult, now: number): AttemptResponse {
  if (result.fault !== undefined) return { fault: result.fault };
  const header = result.headers['retry-after'];
  const retryAfterMs = parseRetryAfterMs(header, now);
  const { status } = result;
  return retryAfterMs === undefined ? { status } : { status, retryAfterMs };
}

/** PostgreSQL text cannot contain U+0000, and the log must not contain card numbers. */
const cleanLogText = (answer: string) =>
  hideCardNumbers(redactText(answer)).replaceAll('\u0000', '\ufffd');

function buildLogEntry(response: AttemptResponse, result: CallResult, at: number) {
  const answer = result.fault === undefined ? cleanLogText(result.body) : '';
  return {
    at: isoTime(at),
    ...('fault' in response ? { fault: response.fault } : { status: response.status }),
    ms: result.ms,
    ...(answer === '' ? {} : { answer }),
  };
}

function decideNextState(attempts: number, response: AttemptResponse, deps: AttemptDeps) {
  const now = deps.clock.now();
  const at = isoTime(now);
  if (toOutcome(response) === 'Delivered') return { status: 'Delivered', due_at: at, at } as const;
  const { retryDelaysMs, jittered } = deps;
  const pauseMs = findRetryDelayMs(attempts + 1, response, retryDelaysMs, jittered);
  if (pauseMs === undefined) return { status: 'Failed', due_at: at, at } as const;
  return { status: 'Pending', due_at: isoTime(deps.dueClock.toDue(now + pauseMs)), at } as const;
}

/** Without the URL, which may contain a token of the receiver. */
function startDeliverySpan(
  { tracer }: AttemptDeps,
  { traceparent, organizationId, endpointId, attempts }: DueDelivery,
): Span | undefined {
  if (tracer === undefined || traceparent === null) return undefined;
  return tracer.continueTrace(traceparent, 'webhook POST', 'client', {
    'http.request.method': 'POST',
    'switchyard.organization_id': organizationId,
    'switchyard.webhook.endpoint_id': endpointId,
    'switchyard.webhook.attempts': attempts + 1,
  });
}

function endDeliverySpan(span: Span, response: AttemptResponse): void {
  const attributes = 'status' in response ? { 'http.response.status_code': response.status } : {};
  const outcome = toOutcome(response);
  if (outcome === 'Delivered') endSpan(span, attributes);
  else failSpan(span, outcome, attributes);
}

export async function attemptDelivery(
  deps: AttemptDeps,
  to: { readonly url: string; readonly signing: SigningKeys },
  delivery: DueDelivery,
): Promise<AttemptResult> {
  const { calls, clock, timeoutMs } = deps;
  const at = clock.now();
  const { body, eventId } = delivery;
  const row = {
    organization_id: delivery.organizationId,
    delivery_id: delivery.deliveryId,
    taken_at: isoTime(delivery.dueAt.getTime()),
  };
  if (body === null) {
    const now = isoTime(at);
    const entry = { at: now, fault: 'event_expired', ms: 0 };
    return { update: { ...row, status: 'Failed', due_at: now, at: now, entry } };
  }
  const { keys, privateKeys } = to.signing;
  const span = startDeliverySpan(deps, delivery);
  const headers = {
    'user-agent': 'Switchyard-Webhooks/1',
    ...createWebhookHeaders({ id: eventId, sentAt: at, body, keys, privateKeys }),
    ...(span && { traceparent: span.traceparent }),
  };
  const result = await calls.call(to.url, {
    method: 'POST',
    headers,
    body,
    timeoutMs,
    maxResponseBytes,
    acceptsTruncatedBody: true,
    isIdempotent: true,
  });
  const response = toAttemptResponse(result, clock.now());
  if (span !== undefined) endDeliverySpan(span, response);
  const entry = buildLogEntry(response, result, at);
  return {
    response,
    update: { ...row, ...decideNextState(delivery.attempts, response, deps), entry },
  };
}
