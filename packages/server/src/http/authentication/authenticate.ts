// Authenticates the caller by bearer token or session, and checks the permission.
import { type Permission, ProblemError } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import type { Caller, PresentedCertificate, VerifyToken } from './caller.ts';

/**
 * 'public' needs no token, 'token' any valid token, 'certificate' a client certificate and no token;
 * one of several permissions is enough.
 */
export type Access = Permission | readonly Permission[] | 'public' | 'token' | 'certificate';

export const bearerPattern = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The tokens of the platform are shorter. */
export const maxTokenLength = 8192;

export function readBearerToken(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw new ProblemError(
      'token_missing',
      'The request has no access token; send Authorization: Bearer.',
    );
  }
  const token = bearerPattern.exec(authorization)?.[1];
  if (token === undefined || token.length > maxTokenLength) {
    throw new ProblemError('token_invalid', 'The Authorization header has no valid bearer token.');
  }
  return token;
}

export type FindSessionCaller = {
  /** The caller of a request without a token; undefined when the request has no session. */
  (request: FastifyRequest): Promise<Caller> | undefined;
  /** Whether this process has verified the session of the request before. */
  readonly isVerified?: (request: FastifyRequest) => boolean;
};

export type Authenticate = {
  (request: FastifyRequest): Promise<Caller>;
  /** Authenticates the same request repeatedly; the token is parsed once. */
  prepare(request: FastifyRequest): () => Promise<Caller>;
  /** Whether this process has verified the token or session of the request before. */
  isVerified(request: FastifyRequest): boolean;
};

/** When the request has a token, cookies are ignored. */
export function createAuthenticate(
  verifyToken: VerifyToken,
  presentedCertificateOf: (request: FastifyRequest) => PresentedCertificate,
  findSessionCaller: FindSessionCaller = () => undefined,
): Authenticate {
  function authenticate(request: FastifyRequest): Promise<Caller> {
    const { authorization } = request.headers;
    const sessionCaller = authorization === undefined ? findSessionCaller(request) : undefined;
    return (
      sessionCaller ?? verifyToken(readBearerToken(authorization), presentedCertificateOf(request))
    );
  }

  function prepare(request: FastifyRequest): () => Promise<Caller> {
    const { authorization } = request.headers;
    const { prepare } = verifyToken;
    if (authorization === undefined || prepare === undefined) return () => authenticate(request);
    const verify = prepare(readBearerToken(authorization));
    return () => verify(presentedCertificateOf(request));
  }

  function isVerified(request: FastifyRequest): boolean {
    const { authorization } = request.headers;
    if (authorization === undefined) return findSessionCaller.isVerified?.(request) === true;
    const token = bearerPattern.exec(authorization)?.[1];
    return token !== undefined && verifyToken.isVerified?.(token) === true;
  }

  return Object.assign(authenticate, { prepare, isVerified });
}

/** @throws ProblemError permission_denied unless the caller has one of the permissions of the route */
export function createPermissionCheck(access: Access): (caller: Caller) => void {
  if (access === 'public' || access === 'token' || access === 'certificate') return () => {};
  const needed: readonly Permission[] = typeof access === 'string' ? [access] : access;
  return (caller) => {
    if (needed.some((permission) => caller.permissions.has(permission))) return;
    throw new ProblemError(
      'permission_denied',
      `The operation needs the permission ${needed.join(' or ')}.`,
    );
  };
}
