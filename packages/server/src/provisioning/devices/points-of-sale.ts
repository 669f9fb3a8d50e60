// Points of sale: the tills of a store, each with credentials for that store only.
import type { NewPointOfSale, PointOfSale, RenewedSecret } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Scope } from '../resources/caller-scope.ts';
import { tillClientId } from '../resources/format-rules.ts';
import { refuseUnknown } from '../resources/provisioning-errors.ts';
import type { Input, Kind } from '../resources/resource-definition.ts';
import {
  createResource,
  type Deps,
  type Resource,
  type Versioned,
} from '../resources/resource-operations.ts';
import type { Row } from '../resources/resource-sql.ts';
import { commonMembers, viewOf } from '../resources/resource-view.ts';
import { pointsOfSale } from '../resources/tables.ts';
import { requireStore } from './logical-devices.ts';

export type Till = {
  readonly organizationId: string;
  readonly clientId: string;
  readonly merchantId: string;
  readonly storeId: string;
  readonly name: string;
  readonly status: 'Enabled' | 'Disabled';
};

/** Identity implements this: the OAuth application of a till, changed in the till's transaction. */
export type TillApplications = {
  create(trx: Kysely<unknown>, till: Till, clientSecret: string): Promise<void>;
  /** Applies the name and the status; disabling a till also invalidates its tokens. */
  change(trx: Kysely<unknown>, till: Till): Promise<void>;
  /** Invalidates the old secret; issued tokens stay valid. */
  renewSecret(trx: Kysely<unknown>, till: Till, clientSecret: string): Promise<void>;
  remove(trx: Kysely<unknown>, till: Till): Promise<void>;
  /** Call this after the commit, so that this process sees the change at once. */
  changed(till: Pick<Till, 'organizationId' | 'clientId'>): void;
};

export type PointsOfSale = Omit<Resource<PointOfSale>, 'create' | 'createOnce'> & {
  /** The response contains the secret, only this once. */
  create(scope: Scope, input: Input): Promise<Versioned<NewPointOfSale>>;
  createOnce(scope: Scope, input: Input, id: string, clientSecret: string): Promise<boolean>;
  renewSecret(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<RenewedSecret>>;
};

const tillOf = (row: Row): Till => ({
  organizationId: String(row['organization_id']),
  clientId: tillClientId(String(row['point_of_sale_id'])),
  merchantId: String(row['merchant_id']),
  storeId: String(row['store_id']),
  name: String(row['name']),
  status: row['status'] === 'Disabled' ? 'Disabled' : 'Enabled',
});

/** `tills` is a function, because identity is created after provisioning. */
export const pointOfSaleKind = (tills: () => TillApplications): Kind<PointOfSale> => ({
  table: pointsOfSale,
  notFound: 'resource_not_found',
  idMember: 'pointOfSaleId',
  filters: {
    merchantId: (value) => ({ of: (placeholder) => `merchant_id = ${placeholder}`, value }),
    storeId: (value) => ({ of: (placeholder) => `store_id = ${placeholder}`, value }),
  },
  dependants: [],
  beside: {
    /** The server adds the secret to the client's input; identity stores only its hash. */
    created: (trx, row, { clientSecret }) => {
      if (typeof clientSecret !== 'string') throw new Error('a point of sale without a secret');
      return tills().create(trx, tillOf(row), clientSecret);
    },
    async replaced(trx, row, before) {
      const isSame = row['name'] === before['name'] && row['status'] === before['status'];
      if (!isSame) await tills().change(trx, tillOf(row));
    },
    removed: (trx, row) => tills().remove(trx, tillOf(row)),
  },
  toView: (row) =>
    viewOf(row, {
      pointOfSaleId: row['point_of_sale_id'],
      merchantId: row['merchant_id'],
      storeId: row['store_id'],
      clientId: tillOf(row).clientId,
      ...commonMembers(row),
    }),
  async columns(lookup, scope, input, current) {
    const store = current ?? (await requireStore(lookup, scope, input['storeId']));
    // A caller that is bound to one store cannot create credentials for another store.
    if (scope.storeId !== undefined && store['store_id'] !== scope.storeId) {
      refuseUnknown('store_not_found');
    }
    return { merchant_id: store['merchant_id'], store_id: store['store_id'] };
  },
  readOnly: (row) => ({
    merchantId: row['merchant_id'],
    storeId: row['store_id'],
    clientId: tillOf(row).clientId,
  }),
});

export function createPointsOfSale(deps: Deps, tills: () => TillApplications): PointsOfSale {
  const resource = createResource(deps, pointOfSaleKind(tills));

  /** Runs after the commit; an earlier call would let other requests cache the old row again. */
  function changed({ organizationId }: Scope, pointOfSaleId: string): void {
    tills().changed({ organizationId, clientId: tillClientId(pointOfSaleId) });
  }

  return {
    ...resource,

    async create(scope, input) {
      const clientSecret = deps.ids.secret();
      const { view, version } = await resource.create(scope, { ...input, clientSecret });
      return { view: { ...view, clientSecret }, version };
    },

    createOnce: (scope, input, id, clientSecret) =>
      resource.createOnce(scope, { ...input, clientSecret }, id),

    async replace(scope, id, input, ifMatch) {
      const replaced = await resource.replace(scope, id, input, ifMatch);
      changed(scope, id);
      return replaced;
    },

    async change(scope, id, ifMatch, change, done) {
      const made = await resource.change(scope, id, ifMatch, change, done);
      changed(scope, id);
      return made;
    },

    async remove(scope, id, ifMatch) {
      await resource.remove(scope, id, ifMatch);
      changed(scope, id);
    },

    async renewSecret(scope, id, ifMatch) {
      const clientSecret = deps.ids.secret();
      const renew: Parameters<typeof resource.change>[3] = async (_run, row, trx) => {
        await tills().renewSecret(trx, tillOf(row), clientSecret);
        return {};
      };
      const { view, version } = await resource.change(scope, id, ifMatch, renew, 'secretRenewed');
      changed(scope, id);
      return { view: { clientId: view.clientId, clientSecret }, version };
    },
  };
}
