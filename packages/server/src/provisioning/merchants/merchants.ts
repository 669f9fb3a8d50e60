// Merchants of an organisation: their rules, and their table.
import type { Merchant } from '@switchyard/contract';
import { holdOrganization } from '../organizations/organization-tree.ts';
import type { Scope } from '../resources/caller-scope.ts';
import { isCountry, isTimeZone } from '../resources/format-rules.ts';
import { refuseField, refuseUnknown } from '../resources/provisioning-errors.ts';
import type { Lookup } from '../resources/referenced-rows.ts';
import type { Input, Kind } from '../resources/resource-definition.ts';
import { createResource, type Deps, type Resource } from '../resources/resource-operations.ts';
import type { Row } from '../resources/resource-sql.ts';
import { commonMembers, viewOf } from '../resources/resource-view.ts';
import {
  acquirerContracts,
  merchants,
  physicalDevices,
  pointsOfSale,
  stores,
} from '../resources/tables.ts';

/** The acquirer is responsible for these members, so a merchant must not change them. */
const organizationMembers = ['status', 'mcc', 'country'] as const;

export const merchantKind: Kind<Merchant> = {
  table: merchants,
  notFound: 'merchant_not_found',
  idMember: 'merchantId',
  filters: {},
  hold: (run, { organizationId }) => holdOrganization(run, organizationId),
  dependants: [
    { type: 'Store', table: stores, column: 'merchant_id' },
    { type: 'PointOfSale', table: pointsOfSale, column: 'merchant_id' },
    { type: 'PhysicalDevice', table: physicalDevices, column: 'merchant_id' },
    { type: 'AcquirerContract', table: acquirerContracts, column: 'merchant_id' },
  ],
  toView: (row) =>
    viewOf(row, {
      merchantId: row['merchant_id'],
      ...commonMembers(row),
      address: row['address'],
      country: row['country'],
      mcc: row['mcc'],
      timeZone: row['time_zone'],
      contact: row['contact'],
    }),
  async columns(_lookup, scope, input, current) {
    if (!isCountry(String(input['country'])))
      refuseField('/country', 'is no country of ISO 3166-1');
    refuseUnknownTimeZone(input);
    if (scope.merchantId !== undefined && current !== undefined) refuseOwnPromotion(input, current);
    return {
      address: input['address'] ?? null,
      country: input['country'],
      mcc: input['mcc'],
      time_zone: input['timeZone'],
      contact: input['contact'] ?? null,
    };
  },
  readOnly: () => ({}),
};

function refuseOwnPromotion(input: Input, current: Row): void {
  for (const member of organizationMembers) {
    const wanted = input[member] ?? (member === 'status' ? 'Enabled' : undefined);
    if (wanted === current[member]) continue;
    refuseField(`/${member}`, 'is changed by the organisation alone', 'field_read_only');
  }
}

export function refuseUnknownTimeZone(input: Input): void {
  const timeZone = input['timeZone'];
  if (timeZone === undefined || isTimeZone(String(timeZone))) return;
  refuseField('/timeZone', 'is no name of the IANA time zone database');
}

/** The merchant of a new entity, which must be in the caller's scope. */
export async function requireMerchant(
  lookup: Lookup,
  scope: Scope,
  merchantId: unknown,
): Promise<Row> {
  const row = await lookup.share(merchants, scope, merchantId);
  return row ?? refuseUnknown('merchant_not_found');
}

export const createMerchants = (deps: Deps): Resource<Merchant> =>
  createResource(deps, merchantKind);
