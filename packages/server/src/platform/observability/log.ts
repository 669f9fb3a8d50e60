// Creates the log: JSON lines on standard output, with card data and credentials removed.
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { redactLogLine } from './redaction.ts';

export type Log = Logger;

export type LogSettings = {
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  instanceName: string;
};

export type LogStream = { write(line: string): unknown; flushSync?: () => void };

/** Members that requests may contain. The redaction of the whole line finds the others. */
const redactedPaths = [
  'authorization',
  'body',
  'headers.authorization',
  'headers.cookie',
  'req.body',
  'req.headers.authorization',
  'req.headers.cookie',
];

/** Times are logged in RFC 3339: thirteen digits in a row look like a card number. */
export function createLog(settings: LogSettings, stream?: LogStream): Log {
  // Asynchronous: lines that arrive during a write are written together; flushed at the exit.
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

// Libraries attach connections, queries and values to errors: only these members are logged.
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
