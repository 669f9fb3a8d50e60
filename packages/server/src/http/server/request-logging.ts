// Gives each request a log that names it, made when something is said: most requests say nothing.
import { defined } from '@switchyard/contract';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../platform/index.ts';

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

/** A sale waits for its acquirer; what is slower than this deserves a look. */
export const slowMs = 2000;

/** Never the address as sent: its query, and at times its path, hold secrets. */
function facts(request: FastifyRequest, reply: FastifyReply) {
  const { refusal, caller, routeOptions } = request;
  return {
    method: request.method,
    route: routeOptions.url ?? 'none',
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ...defined({
      clientId: caller?.clientId,
      code: refusal?.code,
      logDetail: refusal?.logDetail === undefined ? undefined : refusal.logDetail,
    }),
  };
}

/** The loggers of requests are pino's, of which Fastify's type shows a part. */
function isDebugging(log: FastifyBaseLogger & { isLevelEnabled?(level: string): boolean }) {
  return log.isLevelEnabled?.('debug') === true;
}

export function logAccess(request: FastifyRequest, reply: FastifyReply): void {
  const isSlow = reply.elapsedTime > slowMs && !request.isStreamed;
  if (reply.statusCode >= 300 || isSlow) {
    request.log.info(facts(request, reply), 'request');
  } else if (isDebugging(request.log)) {
    request.log.debug(facts(request, reply), 'request');
  }
}
