// Reads the claims of a verified access token, and makes the caller of them.
import { defined, type Permission, permissions, refuse } from '@switchyard/contract';
import type { JWTPayload } from 'jose';
import type { Caller } from '../../http/index.ts';
import type { User } from '../accounts/types.ts';
import { permissionsAt } from '../clients/permissions.ts';
import type { Realm } from '../realms-and-keys/realm.ts';
import { accessTokenType } from './token-claims.ts';

const permissionSetsMax = 256;
const everyPermission: ReadonlySet<string> = new Set(permissions);

/** What an access token says, whoever it was given to. */
export type TokenFacts = {
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

export type Callers = {
  ofMachine(token: TokenFacts, realm: Realm): Caller;
  ofUser(token: TokenFacts, realm: Realm, user: User): Caller;
};

const invalid = (logDetail: string): never =>
  refuse('token_invalid', 'The access token is not valid.', { logDetail });

function text(claim: unknown, name: string): string {
  return typeof claim === 'string' && claim !== '' ? claim : invalid(`claim ${name}`);
}

function optional<Name extends string>(name: Name, claim: unknown, member: string) {
  return claim === undefined ? {} : ({ [name]: text(claim, member) } as Record<Name, string>);
}

/** A `cnf` of any other kind binds to something that nobody here can show. */
function certificateOf({ cnf }: JWTPayload & { cnf?: unknown }): string | undefined {
  if (cnf === undefined) return undefined;
  return String((cnf as Record<string, unknown> | null)?.['x5t#S256']);
}

/** Throws where it is no access token, or lacks what each of them has. */
export function readToken(payload: JWTPayload): TokenFacts {
  if (payload['typ'] !== accessTokenType) invalid('not an access token');
  const certificate = certificateOf(payload);
  return {
    payload,
    subject: text(payload.sub, 'sub'),
    clientId: text(payload['azp'], 'azp'),
    tokenId: text(payload.jti, 'jti'),
    issuedAt: Number(payload.iat) * 1000,
    expiresAt: Number(payload.exp) * 1000,
    ...defined({ certificate }),
    ...optional('sessionId', payload['sid'], 'sid'),
    ...optional('storeId', payload['storeId'], 'storeId'),
    ...optional('deviceId', payload['deviceId'], 'deviceId'),
  };
}

function entityOf(entityType: unknown, entityId: string) {
  return entityType === 'merchant'
    ? { entityType: 'merchant' as const, entityId, merchantId: entityId }
    : { entityType: 'tenant' as const, entityId };
}

/** The organisation is the realm's, not a claim: a token cannot name another one. */
function factsOf(token: TokenFacts, realm: Realm) {
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
export function createCallers(): Callers {
  const sets = new Map<string, ReadonlySet<Permission>>();
  function setOf(granted: readonly Permission[]): ReadonlySet<Permission> {
    const key = granted.join(' ');
    const known = sets.get(key);
    if (known !== undefined) return known;
    if (sets.size >= permissionSetsMax) sets.clear();
    const made = new Set(granted);
    sets.set(key, made);
    return made;
  }

  return {
    ofMachine(token, realm) {
      const { um_scope: scope, permissions: claim } = token.payload as Record<string, unknown>;
      const { entityId, entityType } = (scope ?? {}) as Record<string, unknown>;
      const granted = Array.isArray(claim)
        ? claim.filter((name): name is Permission => everyPermission.has(name))
        : [];
      return {
        ...factsOf(token, realm),
        ...entityOf(entityType, text(entityId, 'um_scope.entityId')),
        permissions: setOf(granted),
      };
    },

    /**
     * The account says what its user may do, not the token: a token of a narrow scope keeps the
     * rights, and a right that was taken away is gone before the token is.
     */
    ofUser: (token, realm, user) => ({
      ...factsOf(token, realm),
      userId: user.userId,
      issuedAt: token.issuedAt,
      ...defined({ signInId: token.sessionId }),
      ...entityOf(user.scopeEntityType, user.scopeEntityId),
      permissions: setOf(permissionsAt(token.deviceId !== undefined, user.permissions)),
    }),
  };
}
