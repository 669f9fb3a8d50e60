// The checks of every declared route before its body is read, in the published order.
import { type ErrorCode, errorCodes, ProblemError } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { type Authenticate, createPermissionCheck } from '../authentication/authenticate.ts';
import type { Caller } from '../authentication/caller.ts';
import { type CertificateReader, clientCertHeader } from '../authentication/client-certificates.ts';
import type { LoadShedding } from '../limits/load-shedding.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import {
  acceptsMediaType,
  isFormType,
  isJsonType,
  isMediaType,
  isUtf8Type,
} from '../requests/media-types.ts';
import { allowsActingOnBehalf } from '../routes/act-on-behalf-of.ts';
import type { RouteDeclaration } from '../routes/route-declaration.ts';

/** The default limit of a body. */
export const bodyLimitBytes = 1_048_576;
export const urlLimitChars = 8192;

export type RequestChecksDeps = {
  readonly authenticate: Authenticate;
  /** Returns the caller in the organisation that the request names. */
  readonly actOnBehalf: (request: FastifyRequest, caller: Caller) => Promise<Caller>;
  readonly rateLimits: RateLimits;
  readonly loadShedding: LoadShedding;
  readonly certificates: Pick<
    CertificateReader,
    'requireCertificate' | 'requirePresentedCertificate'
  >;
};

type RequestChecks = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
) => void;

const json = ['application/json'];

export function createRequestChecks(
  facts: RouteDeclaration,
  deps: RequestChecksDeps,
): RequestChecks {
  const { actOnBehalf, rateLimits, loadShedding, certificates } = deps;
  const findCaller = createFindCaller(deps);
  const priority = facts.priority ?? 'sale';
  const needsCertificate = facts.permission === 'certificate';
  const isPublic = facts.permission === 'public' || needsCertificate;
  const applyRateLimit = rateLimits.policy(facts.rateLimit ?? (isPublic ? 'public' : 'default'));
  const checkPermission = createPermissionCheck(facts.permission);
  const checkTransport = createTransportCheck(facts);
  const canActOnBehalf = allowsActingOnBehalf(facts.permission);

  async function checkCaller(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (isPublic) {
      applyRateLimit({ address: request.ip }, reply);
      if (facts.acceptsUnclaimedTerminal === true)
        certificates.requirePresentedCertificate(request);
      else if (needsCertificate) await certificates.requireCertificate(request);
      return;
    }
    const caller = await findCaller(request);
    request.caller = caller;
    applyRateLimit(caller, reply);
    checkPermission(caller);
    if (facts.requiresDeviceToken === true && caller.deviceId === undefined) {
      throwRequestProblem(
        'permission_denied',
        'The operation needs the token of a device; this token belongs to an application or a user.',
      );
    }
    if (canActOnBehalf) request.caller = await actOnBehalf(request, caller);
  }

  return (request, reply, done) => {
    try {
      loadShedding.check(priority);
      checkTransport(request);
    } catch (error) {
      done(error as ProblemError);
      return;
    }
    checkCaller(request, reply).then(() => done(), done);
  };
}

/** Whether authentication failed; a missing token does not count, since it costs no check. */
export const isUnauthenticated = (error: unknown) =>
  error instanceof ProblemError &&
  error.code !== 'token_missing' &&
  errorCodes[error.code].status === 401;

/**
 * Failed authentications are limited per IP address. Above the limit, only tokens and sessions that this process has
 * verified before are accepted, so that a client with an old token does not block others at its address.
 */
function createFindCaller({
  authenticate,
  rateLimits: { unauthenticatedByAddress },
}: Pick<RequestChecksDeps, 'authenticate' | 'rateLimits'>): (
  request: FastifyRequest,
) => Promise<Caller> {
  return async (request) => {
    const retryAfterMs = unauthenticatedByAddress.waitMs(request.ip);
    if (retryAfterMs !== undefined && !authenticate.isVerified(request)) {
      throw new ProblemError(
        'rate_limited',
        'Too many invalid tokens were sent from this IP address; retry after the time in Retry-After.',
        {
          retryAfterMs,
        },
      );
    }
    try {
      return await authenticate(request);
    } catch (error) {
      if (isUnauthenticated(error)) unauthenticatedByAddress.recordFailure(request.ip);
      throw error;
    }
  };
}

/** The parts of a request with a token that the authorization check of a stream needs, to free the rest. */
function reduceRequest(request: FastifyRequest): FastifyRequest {
  const { headers, query, raw } = request;
  const { authorization, [clientCertHeader]: certificate } = headers;
  // A session needs more parts of the request.
  if (authorization === undefined) return request;
  const { socket } = raw;
  const reduced = {
    headers: { authorization },
    query,
    raw: { socket, headers: { [clientCertHeader]: certificate } },
  };
  return reduced as unknown as FastifyRequest;
}

/** Repeats authentication and authorization for a request that is still being answered, such as a stream. */
export function createAuthorizationRecheck({
  authenticate,
  actOnBehalf,
}: Pick<RequestChecksDeps, 'actOnBehalf' | 'authenticate'>): (
  request: FastifyRequest,
) => () => Promise<Caller> {
  return (request) => {
    const permission = request.routeOptions.config.facts?.permission ?? 'token';
    const checkPermission = createPermissionCheck(permission);
    const canActOnBehalf = allowsActingOnBehalf(permission);
    const reduced = reduceRequest(request);
    const authenticateAgain = authenticate.prepare(reduced);
    return async () => {
      const caller = await authenticateAgain();
      checkPermission(caller);
      return canActOnBehalf ? actOnBehalf(reduced, caller) : caller;
    };
  };
}

type ReadableTypes = readonly [
  names: readonly string[],
  fits: (type: string | undefined) => boolean,
];

function readableTypes({
  readsForm,
  streamedMediaTypes: streams,
}: RouteDeclaration): ReadableTypes {
  if (streams !== undefined) return [streams, (type) => isUtf8Type(type, streams)];
  if (readsForm === true) return [['application/x-www-form-urlencoded'], isFormType];
  return [json, isJsonType];
}

function createTransportCheck(facts: RouteDeclaration): (request: FastifyRequest) => void {
  const limitBytes = facts.bodyLimitBytes ?? bodyLimitBytes;
  const produces = facts.produces === undefined ? json : [...facts.produces, ...json];
  const readsBody = facts.method !== 'GET';
  const [ownTypes, isOwnType] = readableTypes(facts);
  const consumes = facts.consumes ?? [];
  const readable = [...ownTypes, ...consumes].join(' or ');
  const takesBody = facts.body !== undefined || facts.streamedMediaTypes !== undefined;
  const needsBody = readsBody && takesBody && facts.bodyOptional !== true;
  return ({ headers }) => {
    if (!acceptsMediaType(headers.accept, produces)) {
      throwRequestProblem(
        'not_acceptable',
        `The operation returns ${produces.join(' or ')}; change the Accept header.`,
      );
    }
    if (!readsBody) return;
    const length = headers['content-length'];
    const hasBody =
      headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
    if (Number(length) > limitBytes) {
      throwRequestProblem('payload_too_large', `The body is longer than ${limitBytes} bytes.`);
    }
    const type = headers['content-type'];
    if ((hasBody || needsBody) && !isOwnType(type) && !isMediaType(type, consumes)) {
      throwRequestProblem(
        'unsupported_media_type',
        `The operation accepts ${readable} in UTF-8; change the Content-Type header.`,
      );
    }
    if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
      throwRequestProblem(
        'unsupported_media_type',
        'The operation does not accept Content-Encoding; send the body uncompressed.',
      );
    }
  };
}

function throwRequestProblem(code: ErrorCode, detail: string): never {
  throw new ProblemError(code, detail);
}
