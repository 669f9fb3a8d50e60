// Passes a request to the oidc-provider instance of its realm, under the path that it has there.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AttemptOrigin } from '../../accounts/types.ts';

export type ProviderListener = (
  request: FastifyRequest['raw'],
  response: ServerResponse,
) => unknown;
export type RealmRequest = FastifyRequest<{ Params: { realm: string } }>;

/** The address and user agent of each request: only the server knows the address behind its proxy. */
const origins = new WeakMap<IncomingMessage, AttemptOrigin>();

function setRequestOrigin(request: FastifyRequest): void {
  const { raw, ip, id } = request;
  origins.set(raw, { address: ip, userAgent: raw.headers['user-agent'], requestId: id });
}

export function requestOrigin(raw: IncomingMessage): AttemptOrigin {
  const origin = origins.get(raw);
  if (origin === undefined) throw new Error('the request did not pass dispatchToProvider');
  return origin;
}

/** oidc-provider writes the response; headers that were set before are kept. */
export async function dispatchToProvider(
  listener: ProviderListener,
  providerPath: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  request.raw.url = providerPath;
  setRequestOrigin(request);
  await listener(request.raw, reply.raw);
}
