// The storage adapter of oidc-provider: stores entities in PostgreSQL, hashes bearer values,
// consumes codes atomically.
import { hash } from 'node:crypto';
import { defined } from '@switchyard/contract';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { type Clock, systemClock } from '../../../platform/index.ts';
import {
  type OidcEntityStore,
  type StoredEntity,
  sessionModel,
} from '../../infrastructure/oidc-entity-sql.ts';

type AdapterDeps = {
  entities: OidcEntityStore;
  clock: Clock;
  organizationId: string;
};

/** Stored as a hash, so that a reader of the database cannot use them. */
const hashedModels: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'RefreshToken',
  'Session',
  'Interaction',
]);

/** The key under which a bearer value is stored. */
export const hashBearerValue = (value: string): string => hash('sha256', value, 'base64url');

/**
 * The row determines the expiry, because refreshes extend a session. oidc-provider compares with
 * the system clock.
 */
function payloadOf(row: StoredEntity | undefined, now: number): AdapterPayload | undefined {
  if (row === undefined) return undefined;
  const { payload, consumedAt, expiresAt } = row;
  return {
    ...payload,
    ...defined({
      consumed: consumedAt === undefined ? undefined : Math.floor(consumedAt / 1000),
      exp:
        expiresAt === undefined
          ? undefined
          : Math.ceil((systemClock.now() + expiresAt - now) / 1000),
    }),
  };
}

/**
 * A login request embeds the id of the session at its start, which would bind it to that session.
 * Its own cookies bind it to the browser, and another user may sign in.
 */
function storablePayload(model: string, payload: AdapterPayload): AdapterPayload {
  const { jti, session, ...others } = payload;
  if (!hashedModels.has(model)) return payload;
  return model === 'Interaction' || session === undefined ? others : { ...others, session };
}

type LoginResult = { readonly accountId: string; readonly ts: number };
type Authentication = {
  readonly accountId?: string | undefined;
  readonly provenAt?: number | undefined;
};

/**
 * The account of an entity and the time of its authentication. A login result may exist before the
 * session uses it.
 */
function authenticationOf(model: string, payload: AdapterPayload): Authentication {
  const login = (payload['result'] as { readonly login?: LoginResult } | undefined)?.login;
  const { accountId = login?.accountId } = payload;
  const times: Readonly<Record<string, unknown>> = {
    [sessionModel]: payload['loginTs'],
    AuthorizationCode: payload['authTime'],
    Interaction: login?.ts,
  };
  const seconds = times[model];
  if (accountId === undefined || typeof seconds !== 'number') return { accountId };
  return { accountId, provenAt: Math.round(seconds * 1000) };
}

/**
 * Throws if the sessions of the user ended during the request; a session that is not stored needs
 * no error.
 */
function throwSessionEnded(model: string): void {
  if (model === 'AuthorizationCode') throw new errors.LoginRequired('the session has ended');
  if (model === 'Interaction')
    throw new errors.SessionNotFound('the sessions of the user have ended');
}

function createEntityAdapter(
  { entities, clock, organizationId }: AdapterDeps,
  model: string,
): Adapter {
  const hashed = hashedModels.has(model);
  const keyOf = (id: string) => (hashed ? hashBearerValue(id) : id);
  return {
    async upsert(id, payload, expiresInSeconds) {
      const now = clock.now();
      const isStored = await entities.upsert(
        organizationId,
        {
          model,
          entityId: keyOf(id),
          payload: storablePayload(model, payload),
          grantId: payload.grantId,
          // A code is deleted together with its session.
          uid: payload.uid ?? payload.sessionUid,
          userCode: payload.userCode,
          ...authenticationOf(model, payload),
          clientId: payload.clientId,
          expiresAt: expiresInSeconds === undefined ? undefined : now + expiresInSeconds * 1000,
        },
        now,
      );
      if (!isStored) throwSessionEnded(model);
    },
    async find(id) {
      const now = clock.now();
      const row = await entities.find(organizationId, model, keyOf(id), now);
      // An ended session has only its marked row.
      if (model === sessionModel && row?.consumedAt !== undefined) return undefined;
      const payload = payloadOf(row, now);
      return payload === undefined || !hashed ? payload : { ...payload, jti: id };
    },
    async findByUid(uid) {
      const now = clock.now();
      return payloadOf(await entities.findBy(organizationId, model, 'uid', uid, now), now);
    },
    async findByUserCode(userCode) {
      const now = clock.now();
      return payloadOf(
        await entities.findBy(organizationId, model, 'user_code', userCode, now),
        now,
      );
    },
    async consume(id) {
      // Only one of two concurrent redemptions may continue; oidc-provider itself would allow both.
      if (!(await entities.consume(organizationId, model, keyOf(id), clock.now()))) {
        throw new errors.InvalidGrant('the code was redeemed before');
      }
    },
    destroy: (id) => entities.delete(organizationId, model, keyOf(id)),
    revokeByGrantId: (grantId) => entities.deleteByGrant(organizationId, grantId),
  };
}

/**
 * The adapter of one realm: every key starts with the organisation. Clients are not stored here:
 * client-metadata.ts provides them.
 */
export function createStorageAdapter(deps: AdapterDeps): (model: string) => Adapter {
  return (model) => createEntityAdapter(deps, model);
}
