/** The error class of this package: `kind` says what the caller can do, `code` gives the cause. */
import { defined, type Problem, problemText } from '@switchyard/contract';
import {
  abortedFault,
  type Fault,
  limitRetryAfter,
  type WebsocketErrors,
} from '@switchyard/sdk-core';

/**
 * The kind of a fault.
 *
 * - `Refused`: the platform refused; nothing was processed unless `outcome` says otherwise.
 * - `NotSent`: nothing has reached the platform. A sale may be made in another way.
 * - `Unknown`: the request may have been processed, and no answer came. Request the status; never
 *   repeat a sale under another identifier.
 * - `Invalid`: the request can never succeed: wrong settings, size or state.
 * - `Aborted`: the caller aborted its signal.
 *
 * @example
 * if (error instanceof DeviceError && error.kind === 'NotSent') await sellOffline(sale);
 */
export type DeviceErrorKind = 'Refused' | 'NotSent' | 'Unknown' | 'Invalid' | 'Aborted';

/**
 * More facts about a fault.
 *
 * @example
 * const facts: DeviceErrorDetails = { code: 'device_unknown', retryable: false };
 */
export type DeviceErrorDetails = {
  /** A code of the platform, of the connector, or of this package. */
  readonly code: string;
  /** Whether the same request may succeed later. */
  readonly retryable?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  /** The HTTP status, if there was an HTTP answer. */
  readonly status?: number | undefined;
  /** The body of the refusal. */
  readonly problem?: Problem | undefined;
  /** Identifies the fault in the log of the platform. */
  readonly correlationId?: string | undefined;
  readonly cause?: unknown;
};

/**
 * Every part of this package reports its faults with this error.
 *
 * @example
 * try {
 *   await payments.sell(sale);
 * } catch (error) {
 *   if (error instanceof DeviceError && error.kind === 'Unknown') await payments.find(sale.clientTransactionId);
 * }
 */
export class DeviceError extends Error {
  override name = 'DeviceError';
  readonly kind: DeviceErrorKind;
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;
  readonly problem: Problem | undefined;
  readonly correlationId: string | undefined;

  constructor(kind: DeviceErrorKind, message: string, details: DeviceErrorDetails) {
    super(message, defined({ cause: details.cause }));
    this.kind = kind;
    this.code = details.code;
    this.retryable = details.retryable ?? false;
    this.retryAfterMs = limitRetryAfter(details.retryAfterMs);
    this.status = details.status;
    this.problem = details.problem;
    this.correlationId = details.correlationId;
  }
}

/** Makes the error of a fault in the shared code. */
export const createDeviceError = ({ kind, message, ...details }: Fault): DeviceError =>
  new DeviceError(kind, message, details);

export const invalidError = (code: string, message: string): DeviceError =>
  new DeviceError('Invalid', message, { code });

export const abortedError = (): DeviceError => createDeviceError(abortedFault);

const lastStatusOfClient = 499;
/** Temporary statuses: a new registration can succeed, although the same request would not. */
const temporaryStatuses = new Set([404, 408, 410, 421, 425, 429]);

export const websocketErrors: WebsocketErrors = {
  createError: createDeviceError,
  createHandshakeError: ({ status, problem, retryAfterMs }) =>
    new DeviceError('Refused', `the handshake was answered with ${problemText(status, problem)}`, {
      code: problem.code ?? `http_${status}`,
      status,
      retryable: status > lastStatusOfClient || temporaryStatuses.has(status),
      retryAfterMs,
    }),
};
