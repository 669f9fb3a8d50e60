// Stores of a merchant: their rules, and their table.
import type { Store } from '@switchyard/contract';
import { throwFieldProblem } from '../resources/provisioning-errors.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import {
  createResourceOperations,
  type ResourceDeps,
  type ResourceOperations,
} from '../resources/resource-operations.ts';
import { commonViewMembers, toResourceView } from '../resources/resource-view.ts';
import { logicalDevices, pointsOfSale, stores } from '../resources/tables.ts';
import { requireKnownTimeZone, requireMerchant } from './merchants.ts';

export const storeDefinition: ResourceDefinition<Store> = {
  table: stores,
  notFoundCode: 'store_not_found',
  idMember: 'storeId',
  filters: {
    merchantId: (value) => ({ toSql: (placeholder) => `merchant_id = ${placeholder}`, value }),
  },
  dependants: [
    { type: 'LogicalDevice', table: logicalDevices, column: 'store_id' },
    { type: 'PointOfSale', table: pointsOfSale, column: 'store_id' },
  ],
  toView: (row) =>
    toResourceView(row, {
      storeId: row['store_id'],
      merchantId: row['merchant_id'],
      ...commonViewMembers(row),
      address: row['address'],
      timeZone: row['time_zone'],
    }),
  async toColumns(lookup, scope, input, current) {
    requireKnownTimeZone(input);
    const merchantId = input['merchantId'] ?? scope.merchantId;
    if (current === undefined && merchantId === undefined) {
      throwFieldProblem('/merchantId', 'is required', 'field_required');
    }
    return {
      merchant_id:
        current?.['merchant_id'] ??
        (await requireMerchant(lookup, scope, merchantId))['merchant_id'],
      address: input['address'] ?? null,
      time_zone: input['timeZone'] ?? null,
    };
  },
  readOnlyMembers: (row) => ({ merchantId: row['merchant_id'] }),
};

export const createStores = (deps: ResourceDeps): ResourceOperations<Store> =>
  createResourceOperations(deps, storeDefinition);
