// Where oidc-provider keeps its entities: PostgreSQL, with bearer values hashed and consume atomic.
import { hash } from 'node:crypto';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { Clock } from '../platform/index.ts';
import type { EntityStore, FoundEntity } from './entity-store.ts';

type Deps = {
  entities: EntityStore;
  clock: Clock;
  organizationId: string;
  /** Applications live in their own table. */
  findClient(clientId: string): Promise<AdapterPayload | undefined>;
};

/** Whoever reads the database must not be able to redeem these. */
const bearerModels: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'RefreshToken',
]);

function payloadOf(row: FoundEntity | undefined): AdapterPayload | undefined {
  if (row === undefined) return undefined;
  const payload = row.payload as AdapterPayload;
  return row.consumedAt === undefined
    ? payload
    : { ...payload, consumed: Math.floor(row.consumedAt / 1000) };
}

function createEntityAdapter({ entities, clock, organizationId }: Deps, model: string): Adapter {
  const hashed = bearerModels.has(model);
  const keyOf = (id: string) => (hashed ? hash('sha256', id, 'base64url') : id);
  return {
    async upsert(id, payload, expiresInSeconds) {
      const { jti: _, ...withoutId } = payload;
      const now = clock.now();
      await entities.upsert(
        organizationId,
        {
          model,
          entityId: keyOf(id),
          payload: hashed ? withoutId : payload,
          grantId: payload.grantId,
          uid: payload.uid,
          userCode: payload.userCode,
          accountId: payload.accountId,
          clientId: payload.clientId,
          expiresAt: expiresInSeconds === undefined ? undefined : now + expiresInSeconds * 1000,
        },
        now,
      );
    },
    async find(id) {
      const payload = payloadOf(await entities.find(organizationId, model, keyOf(id), clock.now()));
      return payload === undefined || !hashed ? payload : { ...payload, jti: id };
    },
    async findByUid(uid) {
      return payloadOf(await entities.findBy(organizationId, model, 'uid', uid, clock.now()));
    },
    async findByUserCode(userCode) {
      return payloadOf(
        await entities.findBy(organizationId, model, 'user_code', userCode, clock.now()),
      );
    },
    async consume(id) {
      // Of two parallel redemptions only one may go on: the library itself would let both.
      if (!(await entities.consume(organizationId, model, keyOf(id), clock.now()))) {
        throw new errors.InvalidGrant('redeemed already');
      }
    },
    destroy: (id) => entities.destroy(organizationId, model, keyOf(id)),
    revokeByGrantId: (grantId) => entities.destroyByGrant(organizationId, grantId),
  };
}

function createClientAdapter({ findClient }: Deps): Adapter {
  const readOnly = async () => {
    throw new Error('applications are not changed through the authorization server');
  };
  return {
    find: findClient,
    upsert: readOnly,
    findByUid: readOnly,
    findByUserCode: readOnly,
    consume: readOnly,
    destroy: readOnly,
    revokeByGrantId: readOnly,
  };
}

/** The adapter of one realm: the organisation leads every key, so realms cannot meet. */
export function createAdapter(deps: Deps): (model: string) => Adapter {
  return (model) =>
    model === 'Client' ? createClientAdapter(deps) : createEntityAdapter(deps, model);
}
