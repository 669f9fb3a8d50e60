// Reads the caller out of the claims of a verified access token.
import { type Permission, permissions, refuse } from '@switchyard/contract';
import type { JWTPayload } from 'jose';
import type { Caller } from '../http/index.ts';
import { accessTokenType } from './claims.ts';
import type { Realm } from './types.ts';

const permissionSetsMax = 256;
const everyPermission: ReadonlySet<string> = new Set(permissions);

export type ReadCaller = (payload: JWTPayload, realm: Realm) => Caller;

function text(claim: unknown, name: string): string {
  return typeof claim === 'string' && claim !== ''
    ? claim
    : refuse('token_invalid', 'The access token is not valid.', { logDetail: `claim ${name}` });
}

function scopeOf(claim: unknown): Pick<Caller, 'entityType' | 'entityId' | 'merchantId'> {
  const { entityId, entityType } = (claim ?? {}) as Record<string, unknown>;
  const id = text(entityId, 'um_scope.entityId');
  return entityType === 'merchant'
    ? { entityType, entityId: id, merchantId: id }
    : { entityType: 'tenant', entityId: id };
}

/**
 * The organisation is the realm's, not a claim: a token cannot name another one.
 * Tokens of one role share one set of permissions.
 */
export function createReadCaller(): ReadCaller {
  const sets = new Map<string, ReadonlySet<Permission>>();
  const setOf = (claim: unknown): ReadonlySet<Permission> => {
    const granted = Array.isArray(claim)
      ? claim.filter((name): name is Permission => everyPermission.has(name))
      : [];
    const key = granted.join(' ');
    const known = sets.get(key);
    if (known !== undefined) return known;
    if (sets.size >= permissionSetsMax) sets.clear();
    const made = new Set(granted);
    sets.set(key, made);
    return made;
  };

  return (payload, realm) => {
    if (payload['typ'] !== accessTokenType) {
      refuse('token_invalid', 'The access token is not valid.', {
        logDetail: 'not an access token',
      });
    }
    const { storeId } = payload;
    return {
      subject: text(payload.sub, 'sub'),
      clientId: text(payload['azp'], 'azp'),
      realm: realm.userDomainId,
      organizationId: realm.organizationId,
      ...scopeOf(payload['um_scope']),
      ...(storeId === undefined ? {} : { storeId: text(storeId, 'storeId') }),
      permissions: setOf(payload['permissions']),
      expiresAt: Number(payload.exp) * 1000,
      tokenId: text(payload.jti, 'jti'),
    };
  };
}
