// Where oidc-provider keeps its entities: PostgreSQL, with bearer values hashed and consume atomic.
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

/** Whoever reads the database must not be able to redeem these. */
const hashedModels: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'RefreshToken',
  'Session',
  'Interaction',
]);

/** Under what a bearer value is kept. */
export const hashBearerValue = (value: string): string => hash('sha256', value, 'base64url');

/**
 * The row says when it is over, since a session lives on with the tokens that came out of it. The
 * library compares with the clock of the system.
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
 * The session inside a request to sign in holds that session's cookie, and would bind the request
 * to it: the request's own cookies bind it to the browser, and another user may sign in.
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

/** Whom the entity lets in, and when that was proven. A sign-in may be proven and not yet taken up. */
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

/** What was ended meanwhile is not begun again; a session that is not kept needs no word. */
function throwSessionEnded(model: string): void {
  if (model === 'AuthorizationCode') throw new errors.LoginRequired('the session has ended');
  if (model === 'Interaction') throw new errors.SessionNotFound('the sign-in was ended');
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
          // A code goes with the session that it was given in.
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
      // Of a session that was ended there is the mark alone.
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
      // Of two parallel redemptions only one may go on: the library itself would let both.
      if (!(await entities.consume(organizationId, model, keyOf(id), clock.now()))) {
        throw new errors.InvalidGrant('redeemed already');
      }
    },
    destroy: (id) => entities.delete(organizationId, model, keyOf(id)),
    revokeByGrantId: (grantId) => entities.deleteByGrant(organizationId, grantId),
  };
}

/**
 * The adapter of one realm: the organisation leads every key, so realms cannot meet. Clients are
 * none of its entities: library-clients.ts has them.
 */
export function createStorageAdapter(deps: AdapterDeps): (model: string) => Adapter {
  return (model) => createEntityAdapter(deps, model);
}
