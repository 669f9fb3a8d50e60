/** What goes wrong, in one class: its kind says what to do, its code says what it was. */

import { defined, type Problem } from '@switchyard/contract';

/**
 * What kind of fault it is.
 *
 * - `Refused`: the platform answered no; nothing moved unless `outcome` says otherwise.
 * - `NotSent`: nothing has reached the platform. A sale may be made in another way.
 * - `Unknown`: it may have been processed, and no answer came. Ask for the status; never repeat a sale
 *   under another identifier.
 * - `Invalid`: what was asked for can never be: settings, sizes, a state.
 * - `Aborted`: the signal of the caller.
 *
 * @example
 * if (error instanceof DeviceError && error.kind === 'NotSent') await sellOffline(sale);
 */
export type DeviceErrorKind = 'Refused' | 'NotSent' | 'Unknown' | 'Invalid' | 'Aborted';

/**
 * More about a fault.
 *
 * @example
 * const facts: DeviceErrorFacts = { code: 'device_unknown', retryable: false };
 */
export type DeviceErrorFacts = {
  /** A code of the platform, of the connector, or of this package. */
  readonly code: string;
  /** Whether the same may work later. */
  readonly retryable?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  /** Of the HTTP answer, where there was one. */
  readonly status?: number | undefined;
  /** The body of the refusal. */
  readonly problem?: Problem | undefined;
  /** Names the fault in the log of the platform. */
  readonly correlationId?: string | undefined;
  readonly cause?: unknown;
};

/** A peer that says days is not believed: nobody would come back from that. */
const retryAfterMaxMs = 600_000;

const believed = (ms: number | undefined): number | undefined =>
  ms === undefined || !(ms >= 0) ? undefined : Math.min(ms, retryAfterMaxMs);

/**
 * Thrown by every part of this package, and by nothing else in it.
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

  constructor(kind: DeviceErrorKind, message: string, facts: DeviceErrorFacts) {
    super(message, defined({ cause: facts.cause }));
    this.kind = kind;
    this.code = facts.code;
    this.retryable = facts.retryable ?? false;
    this.retryAfterMs = believed(facts.retryAfterMs);
    this.status = facts.status;
    this.problem = facts.problem;
    this.correlationId = facts.correlationId;
  }
}

export const invalid = (code: string, message: string): DeviceError =>
  new DeviceError('Invalid', message, { code });

export const aborted = (): DeviceError =>
  new DeviceError('Aborted', 'it was aborted', { code: 'aborted' });

export const textOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
