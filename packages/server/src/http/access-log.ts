// Writes one line for a request that failed or was slow.
import { defined } from '@switchyard/contract';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';

/** A sale waits for its acquirer; what is slower than this deserves a look. */
export const slowMs = 2000;

/** Never the address as sent: its query, and at times its path, hold secrets. */
function facts(request: FastifyRequest, reply: FastifyReply) {
  const { refusal, caller, routeOptions } = request;
  return {
    method: request.method,
    route: routeOptions.config.facts?.url ?? routeOptions.url ?? 'none',
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
