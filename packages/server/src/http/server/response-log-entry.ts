// What is told of a request that was answered, to whoever keeps a log of them.

import type { Refusal } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../authentication/caller.ts';

/** Of a declared route, asked by somebody who proved who he is. */
export type ResponseLogEntry = {
  readonly caller: Caller;
  readonly requestId: string;
  readonly method: string;
  /** The path as its route declares it, with `:name` where a parameter stands. */
  readonly route: string;
  readonly params: Readonly<Record<string, string>>;
  readonly operationId: string;
  readonly status: number;
  readonly refusal: Refusal | undefined;
  readonly durationMs: number;
};

export type OnResponse = (entry: ResponseLogEntry) => void;

/** Calls back at the end of an answer: where nobody is known to have asked, nobody is told. */
export function reportResponse(
  onResponse: OnResponse,
  request: FastifyRequest,
  { statusCode: status, elapsedTime }: FastifyReply,
): void {
  const { caller, refusal, routeOptions } = request;
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
    refusal,
    durationMs: Math.round(elapsedTime),
  });
}
