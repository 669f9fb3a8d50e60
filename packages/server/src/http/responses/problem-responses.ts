// Turns every error of a request into application/problem+json (RFC 9457).
import {
  defined,
  errorCodes,
  type Outcome,
  type Problem,
  ProblemError,
} from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isUuid } from '../../platform/index.ts';

export const problemMediaType = 'application/problem+json';

/** WWW-Authenticate of every 401 (RFC 6750). */
const challenges: Record<string, string> = {
  token_missing: 'Bearer realm="switchyard"',
  token_invalid: 'Bearer realm="switchyard", error="invalid_token"',
  token_expired:
    'Bearer realm="switchyard", error="invalid_token", error_description="The token has expired"',
  certificate_required: 'Bearer realm="switchyard", error="invalid_token"',
  certificate_invalid: 'Bearer realm="switchyard", error="invalid_token"',
  certificate_expired: 'Bearer realm="switchyard", error="invalid_token"',
  certificate_revoked: 'Bearer realm="switchyard", error="invalid_token"',
};

export function challengeOf({ code }: ProblemError): string | undefined {
  return errorCodes[code].status === 401 ? challenges[code] : undefined;
}

/** Error codes of Fastify and Node, and the problem that each becomes. */
const transportErrors: Record<string, () => ProblemError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new ProblemError('unsupported_media_type', 'The media type of the body is not supported.'),
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new ProblemError(
      'payload_too_large',
      'The body is longer than the limit of the operation. Send a smaller body.',
    ),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new ProblemError('request_malformed', 'The length of the body differs from Content-Length.'),
  FST_ERR_BAD_URL: () => new ProblemError('request_malformed', 'The URL is not well-formed.'),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new ProblemError('uri_too_long', 'A segment of the path is longer than the limit.'),
  ECONNRESET: () =>
    new ProblemError(
      'request_malformed',
      'The connection closed before the whole body was received.',
    ),
  ERR_STREAM_PREMATURE_CLOSE: () =>
    new ProblemError(
      'request_malformed',
      'The connection closed before the whole response was sent.',
    ),
};

/** Undefined for an unexpected error, whose details the client must not see. */
export function toProblemError(error: unknown): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return transportErrors[String(error.code)]?.();
}

export function problemOf(problemError: ProblemError, requestId: string, baseUrl: string): Problem {
  const { code } = problemError;
  const facts = errorCodes[code];
  return {
    ...problemError.extensions,
    type: `${baseUrl}/docs/errors/${code}`,
    title: facts.title,
    status: facts.status,
    detail: problemError.detail,
    instance: instanceUri(requestId),
    code,
    requestId,
    outcome: problemError.outcome,
    retryable: facts.retryable,
    ...defined({
      retryAfterMs: problemError.retryAfterMs,
      errors: problemError.errors === undefined ? undefined : [...problemError.errors],
    }),
  };
}

/** Whole seconds, rounded up, so that a client does not retry too early. */
export function retryAfterHeader(problemError: ProblemError): string | undefined {
  if (problemError.retryAfterMs !== undefined) {
    return String(Math.max(1, Math.ceil(problemError.retryAfterMs / 1000)));
  }
  const { status, retryable } = errorCodes[problemError.code];
  return retryable && (status === 429 || status === 503) ? '1' : undefined;
}

export type ProblemSender = (
  problemError: ProblemError,
  request: FastifyRequest,
  reply: FastifyReply,
) => void;

export function createProblemSender(baseUrl: string): ProblemSender {
  return (problemError, request, reply) => {
    const { status } = errorCodes[problemError.code];
    reply.header('x-request-id', request.id).header('cache-control', 'no-store');
    const challenge = challengeOf(problemError);
    if (challenge !== undefined) reply.header('www-authenticate', challenge);
    const retryAfter = retryAfterHeader(problemError);
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    request.problemError = problemError;
    // As bytes, since Fastify would add a charset to text.
    reply
      .code(status)
      .type(problemMediaType)
      .send(Buffer.from(JSON.stringify(problemOf(problemError, request.id, baseUrl))));
  };
}

/**
 * An error before the handler began moved no money. After that the route declares the outcome; by
 * default GET moved no money, and for other methods the outcome is unknown.
 */
function faultOutcome(request: FastifyRequest): Outcome {
  if (!request.isHandled) return 'NotProcessed';
  const facts = request.routeOptions.config.facts;
  return facts?.faultOutcome ?? (request.method === 'GET' ? 'NotProcessed' : 'Unknown');
}

export function createErrorHandler(sendProblem: ProblemSender) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problemError = toProblemError(error);
    if (problemError !== undefined) {
      sendProblem(problemError, request, reply);
      return;
    }
    request.log.error({ err: error, operationId: operationIdOf(request) }, 'unexpected error');
    const internalError = new ProblemError(
      'internal_error',
      'An unexpected error happened in the platform; quote the requestId to its operator.',
      {
        outcome: faultOutcome(request),
      },
    );
    sendProblem(internalError, request, reply);
  };
}

function operationIdOf(request: FastifyRequest): string | undefined {
  return request.routeOptions.config.facts?.operationId;
}

function instanceUri(requestId: string): string {
  return isUuid(requestId) ? `urn:uuid:${requestId}` : `urn:request:${requestId}`;
}
