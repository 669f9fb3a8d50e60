// Sends one signed call to a provider, unless its circuit is open or it has too many calls.
import {
  defined,
  providerAnswerMaxBytes,
  providerAnswerMs,
  providerCallText,
} from '@switchyard/contract';
import type { CompletedProviderCall, ProviderEndpoint } from '../../catalog/index.ts';
import {
  type CallResult,
  type Clock,
  createConcurrencyCounter,
  createWebhookHeaders,
  type Ids,
  type Log,
  type Metrics,
  type OutgoingCalls,
} from '../../platform/index.ts';
import type { CircuitBreakers } from './circuit-breakers.ts';
import type { Failed } from './provider-types.ts';
import { outcomeOfFault } from './read-answers.ts';

export type CallsDeps = {
  readonly calls: Pick<OutgoingCalls, 'call'>;
  readonly find: (serviceId: string) => Promise<ProviderEndpoint | undefined>;
  readonly circuits: CircuitBreakers;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly log: Pick<Log, 'warn'>;
  readonly metrics: Metrics;
  /** Receives each finished call, so that the provider can see it. */
  readonly onCall?: (call: CompletedProviderCall) => void;
};

export type CallName = 'create' | 'status' | 'cancel' | 'refund' | 'refund_status' | 'health';

export type ProviderCall<Outcome> = {
  readonly name: CallName;
  readonly serviceId: string;
  readonly path: string;
  /** Without a message the call is a GET. */
  readonly message?: object;
  readonly timeoutMs?: number;
  read(result: Extract<CallResult, { status: number }>, now: number): Outcome;
};

/**
 * Limits the running calls of a service. Creates have a lower limit, so that calls that end
 * payments still get a connection.
 */
const runningCallsMax = 256;
const runningCreatesMax = 192;
const busyRetryMs = 1000;
const bucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The declared URL may end with a slash and have a query; the call's path follows its path. */
export function addressOf(spiUrl: string, path: string): string {
  const url = new URL(spiUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  return url.href;
}

/** Whether the outcome counts as success for the circuit; a refusal does. */
function isSuccess({ outcome, ...rest }: { outcome: string; status?: unknown; reason?: unknown }) {
  if (outcome === 'Unknown' || rest.status === 'Down') return false;
  if (outcome === 'NotSent') return rest.reason === 'too_many_requests';
  return true;
}

/** The platform's own name for the fault, without text from the provider. */
function faultNameOf(outcome: object): string {
  const { reason, fault, status } = outcome as Record<string, unknown>;
  if (typeof reason === 'string') return reason;
  if (typeof fault === 'string') return fault;
  return status === undefined ? 'unknown' : `status ${String(status)}`;
}

/** @example const send = createSignedCalls({ calls, find, circuits, clock, ids, log, metrics }); */
export function createSignedCalls(deps: CallsDeps) {
  const { calls, find, circuits, clock, ids, log } = deps;
  const runningCalls = createConcurrencyCounter();
  const callCounter = deps.metrics.counter<'call' | 'outcome'>({
    name: 'switchyard_provider_calls_total',
    help: 'Calls to providers of QR payments by their outcome',
    labelNames: ['call', 'outcome'],
  });
  const durationHistogram = deps.metrics.histogram<'call'>({
    name: 'switchyard_provider_call_duration_seconds',
    help: 'Time from the request to a provider until its response or an error',
    labelNames: ['call'],
    buckets: bucketsSeconds,
  });

  async function sendSigned<Outcome extends { outcome: string }>(
    service: ProviderEndpoint,
    url: string,
    call: ProviderCall<Outcome>,
  ): Promise<Outcome | Failed> {
    const method = call.message === undefined ? 'GET' : 'POST';
    const body = call.message === undefined ? undefined : JSON.stringify(call.message);
    const headers = createWebhookHeaders({
      id: `msg_${ids.uuid()}`,
      sentAt: clock.now(),
      ...service.signingKeys(),
      body: body ?? providerCallText('GET', call.path),
    });
    // Without `isIdempotent`, a POST that the provider may have read is never sent a second time: its
    // outcome is unknown, and the platform requests the status.
    const result = await calls.call(addressOf(url, call.path), {
      method,
      headers,
      timeoutMs: call.timeoutMs ?? providerAnswerMs,
      maxResponseBytes: providerAnswerMaxBytes,
      ...defined({ body }),
    });
    durationHistogram.observe({ call: call.name }, result.ms / 1000);
    return result.fault === undefined ? call.read(result, clock.now()) : outcomeOfFault(result);
  }

  function logOutcome(call: ProviderCall<unknown>, outcome: object, name: string): void {
    callCounter.inc({ call: call.name, outcome: name });
    if (name === 'Answered' || name === 'NotFound') return;
    const { reason, fault, status, code } = outcome as Record<string, unknown>;
    const details = { reason, fault, status, code };
    log.warn(
      { serviceId: call.serviceId, call: call.name, ...details },
      'a call to a provider failed',
    );
  }

  async function sendWithinLimits<Outcome extends { outcome: string }>(
    service: ProviderEndpoint,
    url: string,
    call: ProviderCall<Outcome>,
  ): Promise<Outcome | Failed> {
    const { serviceId } = call;
    if (
      runningCalls.count(serviceId) >=
      (call.name === 'create' ? runningCreatesMax : runningCallsMax)
    ) {
      return { outcome: 'NotSent', reason: 'busy', retryAfterMs: busyRetryMs };
    }
    const entry = circuits.enter(serviceId, call.name === 'health');
    if (entry.isOpen) {
      const { retryAfterMs } = entry;
      return { outcome: 'NotSent', reason: 'circuit_open', retryAfterMs };
    }
    const endCall = runningCalls.begin(serviceId);
    let isSuccessful = false;
    const since = clock.now();
    try {
      const outcome = await sendSigned(service, url, call);
      isSuccessful = isSuccess(outcome);
      const fault = isSuccessful ? {} : { fault: faultNameOf(outcome) };
      const ms = clock.now() - since;
      deps.onCall?.({ serviceId, call: call.name, isAnswered: isSuccessful, ms, ...fault });
      return outcome;
    } finally {
      entry.end(isSuccessful);
      endCall();
    }
  }

  return async function send<Outcome extends { outcome: string }>(
    call: ProviderCall<Outcome>,
  ): Promise<Outcome | Failed> {
    const service = await find(call.serviceId);
    const url = service?.spiUrl;
    const outcome: Outcome | Failed =
      service === undefined || url === undefined
        ? { outcome: 'NotSent', reason: service === undefined ? 'no_service' : 'no_address' }
        : await sendWithinLimits(service, url, call);
    logOutcome(call, outcome, outcome.outcome);
    return outcome;
  };
}
