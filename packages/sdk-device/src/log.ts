/** What the parts of this package do, for whoever runs the terminal: never what passes through them. */
import { defined } from '@switchyard/contract';
import { DeviceError } from './errors.ts';

/**
 * Takes lines of a log: pino's own, or anything with these three. Lines tell names, codes, sizes and
 * times: no message, body, card, token or secret, and no identifier of a customer.
 *
 * @example
 * const client = createDeviceClient({ ...settings, log: pino() });
 */
export type DeviceLog = {
  debug(facts: Readonly<Record<string, unknown>>, text: string): void;
  info(facts: Readonly<Record<string, unknown>>, text: string): void;
  warn(facts: Readonly<Record<string, unknown>>, text: string): void;
};

type Write = (facts: Readonly<Record<string, unknown>>, text: string) => void;

/** A log that throws is the fault of its owner: it is told as an uncaught one, and stops no payment. */
const guarded =
  (write: Write): Write =>
  (facts, text) => {
    try {
      write(facts, text);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };

export function guardedLog(log: DeviceLog | undefined): DeviceLog {
  if (log === undefined) return { debug() {}, info() {}, warn() {} };
  return {
    debug: guarded((facts, text) => log.debug(facts, text)),
    info: guarded((facts, text) => log.info(facts, text)),
    warn: guarded((facts, text) => log.warn(facts, text)),
  };
}

/** What may be told of a fault: its text can hold words of others. */
export function faultFacts(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof DeviceError)) return { code: 'failed' };
  const { kind, code, status, retryable, correlationId } = error;
  return {
    kind,
    code,
    retryable,
    ...defined({ status, correlationId }),
  };
}
