// Hands a request to the authorization server of its realm, under the address that it has there.
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { noteOrigin } from './request-origin.ts';

export type Listener = (request: FastifyRequest['raw'], response: ServerResponse) => unknown;
export type RealmRequest = FastifyRequest<{ Params: { realm: string } }>;

/** The realm answers by itself; what the house has set by then stays. */
export async function passOn(
  listener: Listener,
  inner: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  request.raw.url = inner;
  noteOrigin(request);
  await listener(request.raw, reply.raw);
}
