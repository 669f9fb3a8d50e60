// The logger of a request, created at its first line, and the access log of slow or failed requests.
import { defined } from '@switchyard/contract';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Log, Span } from '../../platform/index.ts';

type LazyLog = {
  parent: Log;
  createChild: (span: Span | undefined) => Log;
  span: Span | undefined;
  childLogger: Log | undefined;
};

function childLog(state: LazyLog): Log {
  state.childLogger ??= state.createChild(state.span);
  return state.childLogger;
}

// Shared by all requests, to save memory for each request.
const methods = {
  child(this: LazyLog, ...given: Parameters<Log['child']>) {
    return childLog(this).child(...given);
  },
  isLevelEnabled(this: LazyLog, level: string): boolean {
    return this.parent.isLevelEnabled(level);
  },
  get level(): string {
    return (this as unknown as LazyLog).parent.level;
  },
  ...logMethod('trace'),
  ...logMethod('debug'),
  ...logMethod('info'),
  ...logMethod('warn'),
  ...logMethod('error'),
  ...logMethod('fatal'),
  ...logMethod('silent'),
};

function logMethod(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent') {
  return {
    [level](this: LazyLog, ...given: Parameters<Log['info']>): void {
      if (level === 'silent' || !this.parent.isLevelEnabled(level)) return;
      childLog(this)[level](...given);
    },
  };
}

/** @example const log = createLazyRequestLog(parent, () => parent.child({ requestId })); */
export function createLazyRequestLog(
  parent: Log,
  createChild: (span: Span | undefined) => Log,
): FastifyBaseLogger {
  const state: LazyLog = Object.assign(Object.create(methods), {
    parent,
    createChild,
    span: undefined,
    childLogger: undefined,
  });
  return state as unknown as FastifyBaseLogger;
}

/** From here on each line of the request has the identifiers of the span. */
export function addSpanToLog(log: FastifyBaseLogger, span: Span): void {
  const state = log as unknown as LazyLog;
  state.span = span;
  state.childLogger = undefined;
}

/** A slower response is logged. */
export const slowRequestMs = 2000;

/** The declared route instead of the URL, since a query or a path can contain secrets. */
function logFields(request: FastifyRequest, reply: FastifyReply) {
  const { problemError, caller, routeOptions } = request;
  return {
    method: request.method,
    route: routeOptions.config.facts?.url ?? routeOptions.url ?? 'none',
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ...defined({
      clientId: caller?.clientId,
      code: problemError?.code,
      logDetail: problemError?.logDetail === undefined ? undefined : problemError.logDetail,
    }),
  };
}

/** Fastify's type of a logger lacks pino's `isLevelEnabled`. */
function isDebugEnabled(log: FastifyBaseLogger & { isLevelEnabled?(level: string): boolean }) {
  return log.isLevelEnabled?.('debug') === true;
}

export function logAccess(request: FastifyRequest, reply: FastifyReply): void {
  const isSlow = reply.elapsedTime > slowRequestMs && !request.isStreamed;
  if (reply.statusCode >= 300 || isSlow) {
    request.log.info(logFields(request, reply), 'request');
  } else if (isDebugEnabled(request.log)) {
    request.log.debug(logFields(request, reply), 'request');
  }
}
