// The log entry of a response to an authenticated request, for the request log.

import type { ProblemError } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../authentication/caller.ts';

/** A response of a declared route to an authenticated caller. */
export type ResponseLogEntry = {
  readonly caller: Caller;
  readonly requestId: string;
  readonly method: string;
  /** The declared path, with `:name` for parameters. */
  readonly route: string;
  readonly params: Readonly<Record<string, string>>;
  readonly operationId: string;
  readonly status: number;
  readonly problemError: ProblemError | undefined;
  readonly durationMs: number;
};

export type OnResponse = (entry: ResponseLogEntry) => void;

/** Reports a response, unless the request was unauthenticated or had no declared route. */
export function reportResponse(
  onResponse: OnResponse,
  request: FastifyRequest,
  { statusCode: status, elapsedTime }: FastifyReply,
): void {
  const { caller, problemError, routeOptions } = request;
  const { facts } = routeOptions.config;
  if (caller === undefined || facts === undefined) return;
  onResponse({
    caller,
    requestId: request.id,
    method: request.method,
    route: facts.url,
    params: request.params as Readonly<Record<string, string>>,
    operationId: facts.operationId,
    status,
    problemError,
    durationMs: Math.round(elapsedTime),
  });
}
