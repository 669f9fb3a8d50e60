// The response 202: the request was accepted and is not finished, or a replay of such a response.
import type { FastifyReply } from 'fastify';

/** For the OpenAPI document. */
export const acceptedHeaders = { 202: ['Location', 'Retry-After'] } as const;

const retryAfterSeconds = '2';

/** The client polls the location. */
export function respondAccepted(reply: FastifyReply, location: string): void {
  reply.code(202).headers({ location, 'retry-after': retryAfterSeconds });
}

/** A replay has the status of the first response. The result is in the body, so there is nothing to wait for. */
export function respondAcceptedAgain(reply: FastifyReply, location: string): void {
  reply.code(202).headers({ location });
}
