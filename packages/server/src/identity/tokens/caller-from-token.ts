// Converts the claims of a verified access token to the caller of a request.
import { defined, type Permission, permissions, throwProblem } from '@switchyard/contract';
import type { JWTPayload } from 'jose';
import type { Caller } from '../../http/index.ts';
import type { User } from '../accounts/types.ts';
import { effectivePermissions } from '../clients/permissions.ts';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import { accessTokenTypClaim } from './token-claims.ts';

const maxPermissionSets = 256;
const allPermissions: ReadonlySet<string> = new Set(permissions);

/** The claims that machine and user tokens have in common. */
export type AccessTokenClaims = {
  readonly payload: JWTPayload;
  readonly subject: string;
  readonly clientId: string;
  readonly tokenId: string;
  /** The sign-in; missing in machine tokens. */
  readonly sessionId?: string;
  /** Epoch milliseconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Thumbprint of the certificate to which it is bound (RFC 8705). */
  readonly certificate?: string;
  readonly storeId?: string;
  readonly deviceId?: string;
};

export type CallerFactory = {
  machineCaller(token: AccessTokenClaims, realm: Realm): Caller;
  userCaller(token: AccessTokenClaims, realm: Realm, user: User): Caller;
};

const invalid = (logDetail: string): never =>
  throwProblem('token_invalid', 'The access token is not valid.', { logDetail });

function requireText(claim: unknown, name: string): string {
  return typeof claim === 'string' && claim !== '' ? claim : invalid(`claim ${name}`);
}

function optionalText<Name extends string>(name: Name, claim: unknown, member: string) {
  return claim === undefined
    ? {}
    : ({ [name]: requireText(claim, member) } as Record<Name, string>);
}

/** Other kinds of `cnf` are not supported: no certificate matches such a token. */
function certificateOf({ cnf }: JWTPayload & { cnf?: unknown }): string | undefined {
  if (cnf === undefined) return undefined;
  return String((cnf as Record<string, unknown> | null)?.['x5t#S256']);
}

/** Throws if it is not an access token, or a required claim is missing. */
export function readAccessTokenClaims(payload: JWTPayload): AccessTokenClaims {
  if (payload['typ'] !== accessTokenTypClaim) invalid('not an access token');
  const certificate = certificateOf(payload);
  return {
    payload,
    subject: requireText(payload.sub, 'sub'),
    clientId: requireText(payload['azp'], 'azp'),
    tokenId: requireText(payload.jti, 'jti'),
    issuedAt: Number(payload.iat) * 1000,
    expiresAt: Number(payload.exp) * 1000,
    ...defined({ certificate }),
    ...optionalText('sessionId', payload['sid'], 'sid'),
    ...optionalText('storeId', payload['storeId'], 'storeId'),
    ...optionalText('deviceId', payload['deviceId'], 'deviceId'),
  };
}

function entityMembers(entityType: unknown, entityId: string) {
  return entityType === 'merchant'
    ? { entityType: 'merchant' as const, entityId, merchantId: entityId }
    : { entityType: 'tenant' as const, entityId };
}

/** The organisation comes from the realm, not from a claim: a token cannot name another one. */
function commonMembers(token: AccessTokenClaims, realm: Realm) {
  const { subject, clientId, expiresAt, tokenId, storeId, deviceId } = token;
  return {
    subject,
    clientId,
    realm: realm.userDomainId,
    organizationId: realm.organizationId,
    expiresAt,
    tokenId,
    ...defined({ storeId, deviceId }),
  };
}

/** Tokens with equal permissions share one Set. */
export function createCallerFactory(): CallerFactory {
  const sets = new Map<string, ReadonlySet<Permission>>();
  function permissionSet(granted: readonly Permission[]): ReadonlySet<Permission> {
    const key = granted.join(' ');
    const cached = sets.get(key);
    if (cached !== undefined) return cached;
    if (sets.size >= maxPermissionSets) sets.clear();
    const created = new Set(granted);
    sets.set(key, created);
    return created;
  }

  return {
    machineCaller(token, realm) {
      const { um_scope: scope, permissions: claim } = token.payload as Record<string, unknown>;
      const { entityId, entityType } = (scope ?? {}) as Record<string, unknown>;
      const granted = Array.isArray(claim)
        ? claim.filter((name): name is Permission => allPermissions.has(name))
        : [];
      return {
        ...commonMembers(token, realm),
        ...entityMembers(entityType, requireText(entityId, 'um_scope.entityId')),
        permissions: permissionSet(granted),
      };
    },

    /**
     * The user record determines the permissions, not the token: a narrow scope keeps them, and a
     * removed permission is lost at once.
     */
    userCaller: (token, realm, user) => ({
      ...commonMembers(token, realm),
      userId: user.userId,
      issuedAt: token.issuedAt,
      ...defined({ signInId: token.sessionId }),
      ...entityMembers(user.scopeEntityType, user.scopeEntityId),
      permissions: permissionSet(
        effectivePermissions(token.deviceId !== undefined, user.permissions),
      ),
    }),
  };
}
