/** The error class of this package: `kind` says where, `outcome` whether money may have moved. */
import { defined } from '@switchyard/contract';
import { abortedFault, type Fault, limitRetryAfter } from '@switchyard/sdk-core';

/**
 * Where a fault is.
 *
 * - `Transport`: the network, a token or a handshake failed; the terminal did not answer
 * - `Connector`: the connector answered that the terminal is offline, in use or not yours
 * - `Terminal`: the terminal sent an unusable answer, or the outcome could not be determined
 * - `Invalid`: the request can never succeed: wrong settings, size or state
 * - `Aborted`: the caller aborted its signal
 *
 * @example
 * if (error instanceof PosError && error.kind === 'Connector') show(`terminal: ${error.code}`);
 */
export type PosErrorKind = 'Transport' | 'Connector' | 'Terminal' | 'Invalid' | 'Aborted';

/**
 * More facts about a fault.
 *
 * @example
 * const facts: PosErrorDetails = { code: 'device_offline', outcome: 'NotProcessed', retryable: true };
 */
export type PosErrorDetails = {
  /** An error code of the connector or of this package. */
  readonly code: string;
  /** Default `NotProcessed`: the terminal did nothing. `Unknown`: money may have moved. */
  readonly outcome?: 'NotProcessed' | 'Unknown' | undefined;
  readonly retryable?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  /** The HTTP status, or the WebSocket close code. */
  readonly status?: number | undefined;
  /** The level at which the service is not enabled. */
  readonly level?: string | undefined;
  /** Identifies the fault in the log of the platform. */
  readonly correlationId?: string | undefined;
  /** The `ErrorCondition` of the terminal. */
  readonly condition?: string | undefined;
  /** The service that the error is about; pass it to `recover`. */
  readonly serviceId?: string | undefined;
  readonly cause?: unknown;
};

/**
 * Every part of this package reports its faults with this error.
 *
 * @example
 * try {
 *   await terminal.sale({ amount: 1250, currency: 'EUR', transactionId: '4711' });
 * } catch (error) {
 *   if (error instanceof PosError && error.outcome === 'Unknown') notifyOperator(error.serviceId);
 * }
 */
export class PosError extends Error {
  override name = 'PosError';
  readonly kind: PosErrorKind;
  readonly code: string;
  readonly outcome: 'NotProcessed' | 'Unknown';
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;
  readonly level: string | undefined;
  readonly correlationId: string | undefined;
  readonly condition: string | undefined;
  readonly serviceId: string | undefined;

  constructor(kind: PosErrorKind, message: string, details: PosErrorDetails) {
    super(message, defined({ cause: details.cause }));
    this.kind = kind;
    this.code = details.code;
    this.outcome = details.outcome ?? 'NotProcessed';
    this.retryable = details.retryable ?? false;
    this.retryAfterMs = limitRetryAfter(details.retryAfterMs);
    this.status = details.status;
    this.level = details.level;
    this.correlationId = details.correlationId;
    this.condition = details.condition;
    this.serviceId = details.serviceId;
  }
}

/** Makes the error of a fault in the shared code. A later attempt can succeed if the network failed. */
export function createPosError({ kind, message, code, cause }: Fault): PosError {
  if (kind === 'Invalid' || kind === 'Aborted') return new PosError(kind, message, { code, cause });
  const outcome = kind === 'Unknown' ? 'Unknown' : 'NotProcessed';
  return new PosError('Transport', message, { code, outcome, retryable: true, cause });
}

export const invalidError = (code: string, message: string, cause?: unknown): PosError =>
  new PosError('Invalid', message, { code, cause });

export const abortedError = (): PosError => createPosError(abortedFault);

export const closedError = (): PosError =>
  invalidError('closed', 'the client or the terminal is closed');

export const timeoutError = (operation: string): PosError =>
  new PosError('Transport', `${operation} did not arrive in time`, {
    code: 'timeout',
    retryable: true,
  });
