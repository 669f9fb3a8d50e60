/** What goes wrong, in one class: its kind says where, its outcome whether money may have moved. */
import { defined } from '@switchyard/contract';

/**
 * Where a fault lies.
 *
 * - `Transport`: the network, a token, a handshake; nobody who knows the terminal has answered
 * - `Relay`: the connector answered: the terminal is away, in use, not yours
 * - `Terminal`: the terminal answered with something that is no outcome, or none could be found out
 * - `Invalid`: what was asked for can never be: settings, sizes, a state
 * - `Aborted`: the signal of the caller
 *
 * @example
 * if (error instanceof PosError && error.kind === 'Relay') show(`terminal: ${error.code}`);
 */
export type PosErrorKind = 'Transport' | 'Relay' | 'Terminal' | 'Invalid' | 'Aborted';

/**
 * More about a fault.
 *
 * @example
 * const facts: PosErrorFacts = { code: 'device_offline', outcome: 'NotProcessed', retryable: true };
 */
export type PosErrorFacts = {
  /** A word of the connector's table, or one of this package. */
  readonly code: string;
  /** Default `NotProcessed`: the terminal has done nothing. With `Unknown` money may have moved. */
  readonly outcome?: 'NotProcessed' | 'Unknown' | undefined;
  readonly retryable?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  /** Of an HTTP answer, or the code of a closing. */
  readonly status?: number | undefined;
  /** Where the service is not enabled. */
  readonly level?: string | undefined;
  /** Names the fault in the log of the platform. */
  readonly correlationId?: string | undefined;
  /** The `ErrorCondition` of a terminal. */
  readonly condition?: string | undefined;
  /** The service that it is about: what a recovery is asked for by. */
  readonly serviceId?: string | undefined;
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
 *   await terminal.sale({ amount: 1250, currency: 'EUR', transactionId: '4711' });
 * } catch (error) {
 *   if (error instanceof PosError && error.outcome === 'Unknown') askSomebodyToLook(error.serviceId);
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

  constructor(kind: PosErrorKind, message: string, facts: PosErrorFacts) {
    super(message, defined({ cause: facts.cause }));
    this.kind = kind;
    this.code = facts.code;
    this.outcome = facts.outcome ?? 'NotProcessed';
    this.retryable = facts.retryable ?? false;
    this.retryAfterMs = believed(facts.retryAfterMs);
    this.status = facts.status;
    this.level = facts.level;
    this.correlationId = facts.correlationId;
    this.condition = facts.condition;
    this.serviceId = facts.serviceId;
  }
}

export const invalid = (code: string, message: string, cause?: unknown): PosError =>
  new PosError('Invalid', message, { code, cause });

export const aborted = (): PosError =>
  new PosError('Aborted', 'it was aborted', { code: 'aborted' });

export const closed = (): PosError => invalid('closed', 'it has been closed');

export const unreachable = (cause: unknown): PosError =>
  new PosError('Transport', textOf(cause), { code: 'unreachable', retryable: true, cause });

export const late = (what: string): PosError =>
  new PosError('Transport', `${what} took too long`, { code: 'timeout', retryable: true });

/** Node tells of several tried addresses by an error without a text. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
