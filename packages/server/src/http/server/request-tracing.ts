// The span of an HTTP request, and the identifiers of its trace in the log.
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import {
  endSpan,
  failSpan,
  parseTraceparent,
  type Span,
  type Tracer,
} from '../../platform/index.ts';
import type { RouteDeclaration } from '../routes/route-declaration.ts';
import { addSpanToLog } from './request-logging.ts';

export function traceparentOf({ headers }: IncomingMessage): string | undefined {
  const header = headers['traceparent'];
  return typeof header === 'string' ? header : undefined;
}

/** A request that is not sampled has the trace of its caller in the log. */
export function traceLogMembers(
  raw: IncomingMessage,
  span: Span | undefined,
): { trace_id?: string; span_id?: string } {
  if (span !== undefined) return span.logMembers;
  const traceId = parseTraceparent(traceparentOf(raw))?.traceId;
  return traceId === undefined ? {} : { trace_id: traceId };
}

/** Runs after the checks of the request, which identify the caller: a refused request has no span. */
export function createRequestTracing(
  { method, url, operationId }: RouteDeclaration,
  tracer: Tracer,
) {
  const name = `${method} ${url}`;
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const { caller, raw } = request;
    const span = tracer.startRequest(
      {
        traceparent: traceparentOf(raw),
        isAuthenticated: caller !== undefined,
        elapsedMs: reply.elapsedTime,
      },
      name,
      { 'http.request.method': method, 'http.route': url, 'switchyard.operation_id': operationId },
    );
    if (span !== undefined) {
      if (caller !== undefined)
        span.attributes['switchyard.organization_id'] = caller.organizationId;
      request.span = span;
      addSpanToLog(request.log, span);
    }
    done();
  };
}

const firstServerErrorStatus = 500;

export function endRequestSpan(span: Span, request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode } = reply;
  const code = request.problemError?.code;
  if (code !== undefined) span.attributes['error.type'] = code;
  const attributes = { 'http.response.status_code': statusCode };
  if (statusCode >= firstServerErrorStatus) failSpan(span, code ?? String(statusCode), attributes);
  else endSpan(span, attributes);
}
