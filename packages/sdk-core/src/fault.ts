/** Faults as data: each SDK makes its own error class from them. */

/**
 * A fault of the shared code.
 *
 * - `Invalid`: the request can never succeed.
 * - `Aborted`: the caller aborted its signal.
 * - `NotSent`: nothing has reached the peer.
 * - `Unknown`: the peer may have received the message.
 */
export type Fault = {
  readonly kind: 'Invalid' | 'Aborted' | 'NotSent' | 'Unknown';
  readonly message: string;
  readonly code: string;
  readonly retryable?: boolean;
  readonly cause?: unknown;
};

export type CreateError = (fault: Fault) => Error;

export const abortedFault: Fault = {
  kind: 'Aborted',
  message: 'the caller aborted the request',
  code: 'aborted',
};

/**
 * The longest Retry-After that a client accepts. A longer one would stop it for hours or days.
 */
const retryAfterMaxMs = 600_000;

export const limitRetryAfter = (ms: number | undefined): number | undefined =>
  ms === undefined || !(ms >= 0) ? undefined : Math.min(ms, retryAfterMaxMs);

/** Node reports several failed addresses in one error that has an empty message. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
