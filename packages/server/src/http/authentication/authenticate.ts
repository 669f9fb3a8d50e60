// Finds out who asks, and whether they may: bearer token, then permission.
import { type Permission, Refusal } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import type { Caller, PresentedCertificate, VerifyToken } from './caller.ts';

/**
 * 'public' needs no token, 'token' any valid one, 'certificate' no token and a client certificate;
 * of several permissions one is enough.
 */
export type Access = Permission | readonly Permission[] | 'public' | 'token' | 'certificate';

export const bearerPattern = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** Longer ones come from no realm of ours; the headers as a whole have a limit as well. */
export const maxTokenLength = 8192;

export function readBearerToken(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw new Refusal('token_missing', 'The request carries no access token.');
  }
  const token = bearerPattern.exec(authorization)?.[1];
  if (token === undefined || token.length > maxTokenLength) {
    throw new Refusal('token_invalid', 'The Authorization header holds no bearer token.');
  }
  return token;
}

export type FindSessionCaller = {
  /** Who stands behind a request without a token; undefined where that is nobody. */
  (request: FastifyRequest): Promise<Caller> | undefined;
  /** Whether it comes with a session that was found good here. */
  readonly isVerified?: (request: FastifyRequest) => boolean;
};

export type Authenticate = {
  (request: FastifyRequest): Promise<Caller>;
  /** For who asks again and again of one request: its token is read once. */
  prepare(request: FastifyRequest): () => Promise<Caller>;
  /** Whether it comes with a token or a session that was found good here before. */
  isVerified(request: FastifyRequest): boolean;
};

/** A token that is there decides alone, and nobody looks at cookies. */
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

/** Throws `permission_denied` unless the caller holds what the route asks for. */
export function createPermissionCheck(access: Access): (caller: Caller) => void {
  if (access === 'public' || access === 'token' || access === 'certificate') return () => {};
  const needed: readonly Permission[] = typeof access === 'string' ? [access] : access;
  return (caller) => {
    if (needed.some((permission) => caller.permissions.has(permission))) return;
    throw new Refusal('permission_denied', `The operation needs ${needed.join(' or ')}.`);
  };
}
