// Points of sale: the cash registers of a store, each with credentials for that store only.
import type { NewPointOfSale, PointOfSale, RenewedSecret } from '@switchyard/contract';
import type { Versioned } from '../../http/index.ts';
import type { Queries } from '../../platform/index.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { posClientId } from '../resources/format-rules.ts';
import { throwNotFound } from '../resources/provisioning-errors.ts';
import type { ResourceDefinition, ResourceInput } from '../resources/resource-definition.ts';
import {
  createResourceOperations,
  type ResourceDeps,
  type ResourceOperations,
} from '../resources/resource-operations.ts';
import type { Row } from '../resources/resource-sql.ts';
import { commonViewMembers, toResourceView } from '../resources/resource-view.ts';
import { pointsOfSale } from '../resources/tables.ts';
import { requireStore } from './logical-devices.ts';

export type PosClient = {
  readonly organizationId: string;
  readonly clientId: string;
  readonly merchantId: string;
  readonly storeId: string;
  readonly name: string;
  readonly status: 'Enabled' | 'Disabled';
};

/** Identity implements this: the OAuth client of a point of sale, changed in the same transaction. */
export type PosClients = {
  create(trx: Queries, client: PosClient, clientSecret: string): Promise<void>;
  /** Applies the name and the status; disabling a point of sale also invalidates its tokens. */
  change(trx: Queries, client: PosClient): Promise<void>;
  /** Invalidates the old secret; issued tokens stay valid. */
  rotateSecret(trx: Queries, client: PosClient, clientSecret: string): Promise<void>;
  remove(trx: Queries, client: PosClient): Promise<void>;
  /** Call this after the commit, so that this process sees the change at once. */
  invalidate(client: Pick<PosClient, 'organizationId' | 'clientId'>): void;
};

export type PointsOfSale = Omit<ResourceOperations<PointOfSale>, 'create' | 'createIfNew'> & {
  /** The response contains the secret, only this once. */
  create(scope: CallerScope, input: ResourceInput): Promise<Versioned<NewPointOfSale>>;
  createIfNew(
    scope: CallerScope,
    input: ResourceInput,
    id: string,
    clientSecret: string,
  ): Promise<boolean>;
  rotateSecret(scope: CallerScope, id: string, ifMatch?: string): Promise<Versioned<RenewedSecret>>;
};

const toPosClient = (row: Row): PosClient => ({
  organizationId: String(row['organization_id']),
  clientId: posClientId(String(row['point_of_sale_id'])),
  merchantId: String(row['merchant_id']),
  storeId: String(row['store_id']),
  name: String(row['name']),
  status: row['status'] === 'Disabled' ? 'Disabled' : 'Enabled',
});

/** `posClients` is a function, because identity is created after provisioning. */
export const createPointOfSaleDefinition = (
  posClients: () => PosClients,
): ResourceDefinition<PointOfSale> => ({
  table: pointsOfSale,
  notFoundCode: 'resource_not_found',
  idMember: 'pointOfSaleId',
  filters: {
    merchantId: (value) => ({ toSql: (placeholder) => `merchant_id = ${placeholder}`, value }),
    storeId: (value) => ({ toSql: (placeholder) => `store_id = ${placeholder}`, value }),
  },
  dependants: [],
  relatedData: {
    /** The server adds the secret to the client's input; identity stores only its hash. */
    onCreated: (trx, row, { clientSecret }) => {
      if (typeof clientSecret !== 'string') throw new Error('a new point of sale has no secret');
      return posClients().create(trx, toPosClient(row), clientSecret);
    },
    async onReplaced(trx, row, before) {
      const isSame = row['name'] === before['name'] && row['status'] === before['status'];
      if (!isSame) await posClients().change(trx, toPosClient(row));
    },
    onRemoved: (trx, row) => posClients().remove(trx, toPosClient(row)),
  },
  toView: (row) =>
    toResourceView(row, {
      pointOfSaleId: row['point_of_sale_id'],
      merchantId: row['merchant_id'],
      storeId: row['store_id'],
      clientId: toPosClient(row).clientId,
      ...commonViewMembers(row),
    }),
  async toColumns(lookup, scope, input, current) {
    const store = current ?? (await requireStore(lookup, scope, input['storeId']));
    // A caller that is bound to one store cannot create credentials for another store.
    if (scope.storeId !== undefined && store['store_id'] !== scope.storeId) {
      throwNotFound('store_not_found');
    }
    return { merchant_id: store['merchant_id'], store_id: store['store_id'] };
  },
  readOnlyMembers: (row) => ({
    merchantId: row['merchant_id'],
    storeId: row['store_id'],
    clientId: toPosClient(row).clientId,
  }),
});

export function createPointsOfSale(deps: ResourceDeps, posClients: () => PosClients): PointsOfSale {
  const resource = createResourceOperations(deps, createPointOfSaleDefinition(posClients));

  /** Runs after the commit; an earlier call would let other requests cache the old row again. */
  function invalidatePosClient({ organizationId }: CallerScope, pointOfSaleId: string): void {
    posClients().invalidate({ organizationId, clientId: posClientId(pointOfSaleId) });
  }

  return {
    ...resource,

    async create(scope, input) {
      const clientSecret = deps.ids.secret();
      const { view, version } = await resource.create(scope, { ...input, clientSecret });
      return { view: { ...view, clientSecret }, version };
    },

    createIfNew: (scope, input, id, clientSecret) =>
      resource.createIfNew(scope, { ...input, clientSecret }, id),

    async replace(scope, id, input, ifMatch) {
      const replaced = await resource.replace(scope, id, input, ifMatch);
      invalidatePosClient(scope, id);
      return replaced;
    },

    async change(scope, id, ifMatch, change, done) {
      const made = await resource.change(scope, id, ifMatch, change, done);
      invalidatePosClient(scope, id);
      return made;
    },

    async remove(scope, id, ifMatch) {
      await resource.remove(scope, id, ifMatch);
      invalidatePosClient(scope, id);
    },

    async rotateSecret(scope, id, ifMatch) {
      const clientSecret = deps.ids.secret();
      const renew: Parameters<typeof resource.change>[3] = async (trx, row) => {
        await posClients().rotateSecret(trx, toPosClient(row), clientSecret);
        return {};
      };
      const { view, version } = await resource.change(scope, id, ifMatch, renew, 'secretRenewed');
      invalidatePosClient(scope, id);
      return { view: { clientId: view.clientId, clientSecret }, version };
    },
  };
}
