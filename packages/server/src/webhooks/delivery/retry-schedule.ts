// Decides when the server retries a delivery and when it pauses an endpoint. Pure.
import { hourMs } from '../../platform/index.ts';

const second = 1_000;
const minute = 60_000;
const hour = hourMs;

/**
 * The schedule of Standard Webhooks: the delay after each failure, a little over three days in all.
 */
export const retryDelaysMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** The server disables an endpoint that has failed for this time. */
export const disableAfterMs = 5 * 24 * hour;

/** After this many consecutive failures the endpoint is at fault, and not one delivery. */
const failuresBeforePause = 8;
export const defaultPausesMs: readonly number[] = [
  5 * second,
  15 * second,
  minute,
  5 * minute,
  15 * minute,
];
/** Deliveries that failed together must not be retried together. */
const jitterShare = 0.2;
/** The limit for a Retry-After header. */
const retryAfterMaxMs = hour;
const throttlingStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const goneStatus = 410;

export type HttpResponse = { readonly status: number; readonly retryAfterMs?: number };
/** The result of an attempt, as far as it decides the next step. */
export type AttemptResponse = HttpResponse | { readonly fault: string };

export type AttemptOutcome = 'Delivered' | 'Gone' | 'Failed';

export function toOutcome(response: AttemptResponse): AttemptOutcome {
  if ('fault' in response) return 'Failed';
  if (response.status >= 200 && response.status < 300) return 'Delivered';
  return response.status === goneStatus ? 'Gone' : 'Failed';
}

/**
 * Returns undefined after the last attempt of the schedule.
 *
 * @param jittered returns a part of a time to add, because no attempt may be early
 */
export function findRetryDelayMs(
  attempts: number,
  response: AttemptResponse,
  delays: readonly number[],
  jittered: (ms: number) => number,
): number | undefined {
  const delay = delays[attempts - 1];
  if (delay === undefined) return undefined;
  return Math.max(delay, requestedDelayMs(response)) + jittered(Math.round(delay * jitterShare));
}

/** The pause of an endpoint after this many consecutive failures. */
export function findPauseMs(
  failures: number,
  response: AttemptResponse,
  pausesMs: readonly number[] = defaultPausesMs,
): number {
  const beyond = failures - failuresBeforePause;
  const pause = beyond < 0 ? 0 : (pausesMs[Math.min(beyond, pausesMs.length - 1)] ?? 0);
  const isThrottled = 'status' in response && throttlingStatuses.has(response.status);
  return Math.max(pause, isThrottled ? requestedDelayMs(response, pausesMs[0]) : 0);
}

function requestedDelayMs(response: AttemptResponse, defaultMs = 0): number {
  const requestedMs = 'status' in response ? response.retryAfterMs : undefined;
  return requestedMs === undefined ? defaultMs : Math.min(requestedMs, retryAfterMaxMs);
}

/** Retry-After as seconds or a date (RFC 9110, 10.2.3); undefined for any other value. */
export function parseRetryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * second;
  const at = Date.parse(header);
  return Number.isFinite(at) && /[a-z]/i.test(header) ? Math.max(0, at - now) : undefined;
}

/** The new limit of parallel calls: half of it after a failure, and one more after a success. */
export function nextWindow(window: number, isDelivered: boolean, windowMax: number): number {
  return isDelivered ? Math.min(windowMax, window + 1) : Math.max(1, Math.floor(window / 2));
}
