/** Logs the actions of this package for the operator of the terminal, without the data itself. */
import { defined } from '@switchyard/contract';
import { DeviceError } from './device-error.ts';

/**
 * Receives log lines: a pino logger, or an object with these three methods. Lines contain names,
 * codes, sizes and times. They never contain a message, body, card, token or secret, or an
 * identifier of a customer.
 *
 * @example
 * const client = createDeviceClient({ ...settings, log: pino() });
 */
export type DeviceLog = {
  debug(fields: Readonly<Record<string, unknown>>, text: string): void;
  info(fields: Readonly<Record<string, unknown>>, text: string): void;
  warn(fields: Readonly<Record<string, unknown>>, text: string): void;
};

type LogFunction = (facts: Readonly<Record<string, unknown>>, text: string) => void;

/** An exception of the log becomes an uncaught exception and does not stop a payment. */
const catchLogErrors =
  (write: LogFunction): LogFunction =>
  (facts, text) => {
    try {
      write(facts, text);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };

export function safeLog(log: DeviceLog | undefined): DeviceLog {
  if (log === undefined) return { debug() {}, info() {}, warn() {} };
  return {
    debug: catchLogErrors((facts, text) => log.debug(facts, text)),
    info: catchLogErrors((facts, text) => log.info(facts, text)),
    warn: catchLogErrors((facts, text) => log.warn(facts, text)),
  };
}

/**
 * The facts of a fault that may be logged. Its text is left out, as it can contain external data.
 */
export function errorLogFields(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof DeviceError)) return { code: 'failed' };
  const { kind, code, status, retryable, correlationId } = error;
  return {
    kind,
    code,
    retryable,
    ...defined({ status, correlationId }),
  };
}
