// Makes the log: JSON lines on standard output that card data and credentials cannot enter.
import { type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { scrubLine } from './redaction.ts';

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
    write: (line: string) => destination.write(scrubLine(line)),
    flushSync: () => destination.flushSync?.(),
  };
  return pino(
    {
      level: settings.logLevel,
      base: { instance: settings.instanceName },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: stdSerializers.err, error: stdSerializers.err },
      redact: { paths: redactedPaths, censor: '[redacted]' },
    },
    scrubbed,
  );
}
