// Gives each request a log that names it, made when something is said: most requests say nothing.
import type { FastifyBaseLogger } from 'fastify';
import type { Log } from '../platform/index.ts';

type RequestLog = { parent: Log; make: () => Log; made: Log | undefined };

function logOf(of: RequestLog): Log {
  of.made ??= of.make();
  return of.made;
}

// Shared by all requests, so that one costs an object and no more.
const methods = {
  child(this: RequestLog, ...given: Parameters<Log['child']>) {
    return logOf(this).child(...given);
  },
  isLevelEnabled(this: RequestLog, level: string): boolean {
    return this.parent.isLevelEnabled(level);
  },
  get level(): string {
    return (this as unknown as RequestLog).parent.level;
  },
  ...saying('trace'),
  ...saying('debug'),
  ...saying('info'),
  ...saying('warn'),
  ...saying('error'),
  ...saying('fatal'),
  ...saying('silent'),
};

function saying(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent') {
  return {
    [level](this: RequestLog, ...given: Parameters<Log['info']>): void {
      if (level === 'silent' || !this.parent.isLevelEnabled(level)) return;
      logOf(this)[level](...given);
    },
  };
}

/** @example const log = createRequestLog(parent, () => parent.child({ requestId })); */
export function createRequestLog(parent: Log, make: () => Log): FastifyBaseLogger {
  const of: RequestLog = Object.assign(Object.create(methods), { parent, make, made: undefined });
  return of as unknown as FastifyBaseLogger;
}
