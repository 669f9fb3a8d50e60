// Stores of a merchant: their rules, and their table.
import type { Store } from '@switchyard/contract';
import { refuseField } from '../resources/provisioning-errors.ts';
import type { Kind } from '../resources/resource-definition.ts';
import { createResource, type Deps, type Resource } from '../resources/resource-operations.ts';
import { commonMembers, viewOf } from '../resources/resource-view.ts';
import { logicalDevices, pointsOfSale, stores } from '../resources/tables.ts';
import { refuseUnknownTimeZone, requireMerchant } from './merchants.ts';

export const storeKind: Kind<Store> = {
  table: stores,
  notFound: 'store_not_found',
  idMember: 'storeId',
  filters: {
    merchantId: (value) => ({ of: (placeholder) => `merchant_id = ${placeholder}`, value }),
  },
  dependants: [
    { type: 'LogicalDevice', table: logicalDevices, column: 'store_id' },
    { type: 'PointOfSale', table: pointsOfSale, column: 'store_id' },
  ],
  toView: (row) =>
    viewOf(row, {
      storeId: row['store_id'],
      merchantId: row['merchant_id'],
      ...commonMembers(row),
      address: row['address'],
      timeZone: row['time_zone'],
    }),
  async columns(lookup, scope, input, current) {
    refuseUnknownTimeZone(input);
    const wanted = input['merchantId'] ?? scope.merchantId;
    if (current === undefined && wanted === undefined) {
      refuseField('/merchantId', 'is required', 'field_required');
    }
    return {
      merchant_id:
        current?.['merchant_id'] ?? (await requireMerchant(lookup, scope, wanted))['merchant_id'],
      address: input['address'] ?? null,
      time_zone: input['timeZone'] ?? null,
    };
  },
  readOnly: (row) => ({ merchantId: row['merchant_id'] }),
};

export const createStores = (deps: Deps): Resource<Store> => createResource(deps, storeKind);
