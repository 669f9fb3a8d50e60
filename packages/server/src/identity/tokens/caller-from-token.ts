// Reads the claims of a verified access token, and makes the caller of them.
import { defined, type Permission, permissions, refuse } from '@switchyard/contract';
import type { JWTPayload } from 'jose';
import type { Caller } from '../../http/index.ts';
import type { User } from '../accounts/types.ts';
import { effectivePermissions } from '../clients/permissions.ts';
import type { Realm } from '../realms-and-keys/realm.ts';
import { accessTokenTypClaim } from './token-claims.ts';

const maxPermissionSets = 256;
const allPermissions: ReadonlySet<string> = new Set(permissions);

/** What an access token says, whoever it was given to. */
export type AccessTokenClaims = {
  readonly payload: JWTPayload;
  readonly subject: string;
  readonly clientId: string;
  readonly tokenId: string;
  /** Of the sign-in that it comes from; machines have none. */
  readonly sessionId?: string;
  /** Epoch milliseconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Thumbprint of the certificate that it is bound to (RFC 8705). */
  readonly certificate?: string;
  readonly storeId?: string;
  readonly deviceId?: string;
};

export type CallerFactory = {
  machineCaller(token: AccessTokenClaims, realm: Realm): Caller;
  userCaller(token: AccessTokenClaims, realm: Realm, user: User): Caller;
};

const invalid = (logDetail: string): never =>
  refuse('token_invalid', 'The access token is not valid.', { logDetail });

function requireText(claim: unknown, name: string): string {
  return typeof claim === 'string' && claim !== '' ? claim : invalid(`claim ${name}`);
}

function optionalText<Name extends string>(name: Name, claim: unknown, member: string) {
  return claim === undefined
    ? {}
    : ({ [name]: requireText(claim, member) } as Record<Name, string>);
}

/** A `cnf` of any other kind binds to something that nobody here can show. */
function certificateOf({ cnf }: JWTPayload & { cnf?: unknown }): string | undefined {
  if (cnf === undefined) return undefined;
  return String((cnf as Record<string, unknown> | null)?.['x5t#S256']);
}

/** Throws where it is no access token, or lacks what each of them has. */
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

/** The organisation is the realm's, not a claim: a token cannot name another one. */
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

/** Tokens with the same rights share one set of permissions. */
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
     * The account says what its user may do, not the token: a token of a narrow scope keeps the
     * rights, and a right that was taken away is gone before the token is.
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
