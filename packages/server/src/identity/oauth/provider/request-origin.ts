// Tells the grants where a request comes from, which only the server behind its proxy knows.
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Origin } from '../../accounts/types.ts';

/** As long as the requests themselves. */
const origins = new WeakMap<IncomingMessage, Origin>();

export function noteOrigin(request: FastifyRequest): void {
  const { raw, ip, id } = request;
  origins.set(raw, { address: ip, userAgent: raw.headers['user-agent'], requestId: id });
}

export function originOf(raw: IncomingMessage): Origin {
  const origin = origins.get(raw);
  if (origin === undefined) throw new Error('a request that came in by no route of ours');
  return origin;
}
