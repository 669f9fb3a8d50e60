// Makes the log: JSON lines on standard output that card data and credentials cannot enter.
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { redactLogLine } from './redaction.ts';

export type Log = Logger;

export type LogSettings = {
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  instanceName: string;
};

export type LogStream = { write(line: string): unknown; flushSync?: () => void };

/** The members that every request could carry; whatever is deeper or elsewhere is found by the scrub of the line. */
const redactedPaths = [
  'authorization',
  'body',
  'headers.authorization',
  'headers.cookie',
  'req.body',
  'req.headers.authorization',
  'req.headers.cookie',
];

/** Times are logged as RFC 3339, never as numbers: thirteen digits in a row look like a card number. */
export function createLog(settings: LogSettings, stream?: LogStream): Log {
  // Asynchronous: lines that come while a write is under way leave in the next one; flushed at exit.
  const destination: LogStream = stream ?? pino.destination({ fd: 1, sync: false });
  const scrubbed = {
    write: (line: string) => destination.write(redactLogLine(line)),
    flushSync: () => destination.flushSync?.(),
  };
  return pino(
    {
      level: settings.logLevel,
      base: { instance: settings.instanceName },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error) => describeError(error), error: (error) => describeError(error) },
      redact: { paths: redactedPaths, censor: '[redacted]' },
    },
    scrubbed,
  );
}

const maxCauses = 3;

// Libraries hang connections, queries and their values on errors: only what is named here goes on.
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' ? { type: 'object' } : error;
  const { code, logDetail } = error as { code?: unknown; logDetail?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof logDetail === 'string' ? { logDetail } : {}),
    stack: error.stack,
    ...(error.cause === undefined || depth >= maxCauses
      ? {}
      : { cause: describeError(error.cause, depth + 1) }),
  };
}
