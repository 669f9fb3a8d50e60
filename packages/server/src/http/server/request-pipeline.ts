// What every declared route asks before it reads a body, in the published order.
import { type ErrorCode, errorCodes, Refusal } from '@switchyard/contract';
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

/** No endpoint of ours needs more, and a refusal here is cheaper than a parse. */
export const bodyLimitBytes = 1_048_576;
export const urlLimitChars = 8192;

export type RequestChecksDeps = {
  readonly authenticate: Authenticate;
  /** The caller in the organisation that the request names. */
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
      refuse('permission_denied', 'The operation needs the token of a device.');
    }
    if (canActOnBehalf) request.caller = await actOnBehalf(request, caller);
  }

  return (request, reply, done) => {
    try {
      loadShedding.check(priority);
      checkTransport(request);
    } catch (error) {
      done(error as Refusal);
      return;
    }
    checkCaller(request, reply).then(() => done(), done);
  };
}

/** Who comes with nothing at all costs nothing, and is told what is missing. */
export const isUnauthenticated = (error: unknown) =>
  error instanceof Refusal &&
  error.code !== 'token_missing' &&
  errorCodes[error.code].status === 401;

/**
 * An address has so many tokens of nobody, since nobody else can be counted for them: behind these its tokens and
 * sessions are looked at no more, but for those that are known. A till that goes on with an old one does not stop its
 * neighbours.
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
      throw new Refusal('rate_limited', 'Too many tokens that are not valid came from there.', {
        retryAfterMs,
      });
    }
    try {
      return await authenticate(request);
    } catch (error) {
      if (isUnauthenticated(error)) unauthenticatedByAddress.recordFailure(request.ip);
      throw error;
    }
  };
}

/** What is asked again of a request with a token: all of it that has to outlive its first answer. */
function reduceRequest(request: FastifyRequest): FastifyRequest {
  const { headers, query, raw } = request;
  const { authorization, [clientCertHeader]: certificate } = headers;
  // Whoever comes by a session is known by more than that.
  if (authorization === undefined) return request;
  const { socket } = raw;
  const reduced = {
    headers: { authorization },
    query,
    raw: { socket, headers: { [clientCertHeader]: certificate } },
  };
  return reduced as unknown as FastifyRequest;
}

/** Asks it all again of a request that is still answered: who it is, whether it may, where it acts. */
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
      refuse('not_acceptable', `The operation answers with ${produces.join(' or ')}.`);
    }
    if (!readsBody) return;
    const length = headers['content-length'];
    const hasBody =
      headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
    if (Number(length) > limitBytes) {
      refuse('payload_too_large', `The body is longer than ${limitBytes} bytes.`);
    }
    const type = headers['content-type'];
    if ((hasBody || needsBody) && !isOwnType(type) && !isMediaType(type, consumes)) {
      refuse('unsupported_media_type', `The operation reads ${readable} in UTF-8.`);
    }
    if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
      refuse('unsupported_media_type', 'The operation reads no encoded body.');
    }
  };
}

function refuse(code: ErrorCode, detail: string): never {
  throw new Refusal(code, detail);
}
