// Merchants of an organisation: their rules, and their table.
import type { Merchant } from '@switchyard/contract';
import { lockExistingOrganization } from '../organizations/organization-tree.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { isCountry, isTimeZone } from '../resources/format-rules.ts';
import { throwFieldProblem, throwNotFound } from '../resources/provisioning-errors.ts';
import type { ReferencedRows } from '../resources/referenced-rows.ts';
import type { ResourceDefinition, ResourceInput } from '../resources/resource-definition.ts';
import {
  createResourceOperations,
  type ResourceDeps,
  type ResourceOperations,
} from '../resources/resource-operations.ts';
import type { Row } from '../resources/resource-sql.ts';
import { commonViewMembers, toResourceView } from '../resources/resource-view.ts';
import {
  acquirerContracts,
  merchants,
  physicalDevices,
  pointsOfSale,
  stores,
} from '../resources/tables.ts';

/** The acquirer is responsible for these members, so a merchant must not change them. */
const organizationOnlyMembers = ['status', 'mcc', 'country'] as const;

export const merchantDefinition: ResourceDefinition<Merchant> = {
  table: merchants,
  notFoundCode: 'merchant_not_found',
  idMember: 'merchantId',
  filters: {},
  lock: (trx, { organizationId }) => lockExistingOrganization(trx, organizationId),
  dependants: [
    { type: 'Store', table: stores, column: 'merchant_id' },
    { type: 'PointOfSale', table: pointsOfSale, column: 'merchant_id' },
    { type: 'PhysicalDevice', table: physicalDevices, column: 'merchant_id' },
    { type: 'AcquirerContract', table: acquirerContracts, column: 'merchant_id' },
  ],
  toView: (row) =>
    toResourceView(row, {
      merchantId: row['merchant_id'],
      ...commonViewMembers(row),
      address: row['address'],
      country: row['country'],
      mcc: row['mcc'],
      timeZone: row['time_zone'],
      contact: row['contact'],
    }),
  async toColumns(_lookup, scope, input, current) {
    if (!isCountry(String(input['country'])))
      throwFieldProblem('/country', 'is not an ISO 3166-1 country code');
    requireKnownTimeZone(input);
    if (scope.merchantId !== undefined && current !== undefined)
      requireOrganizationMembersUnchanged(input, current);
    return {
      address: input['address'] ?? null,
      country: input['country'],
      mcc: input['mcc'],
      time_zone: input['timeZone'],
      contact: input['contact'] ?? null,
    };
  },
  readOnlyMembers: () => ({}),
};

function requireOrganizationMembersUnchanged(input: ResourceInput, current: Row): void {
  for (const member of organizationOnlyMembers) {
    const newValue = input[member] ?? (member === 'status' ? 'Enabled' : undefined);
    if (newValue === current[member]) continue;
    throwFieldProblem(`/${member}`, 'can be changed only by the organisation', 'field_read_only');
  }
}

export function requireKnownTimeZone(input: ResourceInput): void {
  const timeZone = input['timeZone'];
  if (timeZone === undefined || isTimeZone(String(timeZone))) return;
  throwFieldProblem('/timeZone', 'is not a name of the IANA time zone database');
}

/** The merchant of a new entity, which must be in the caller's scope. */
export async function requireMerchant(
  lookup: ReferencedRows,
  scope: CallerScope,
  merchantId: unknown,
): Promise<Row> {
  const row = await lookup.findForShare(merchants, scope, merchantId);
  return row ?? throwNotFound('merchant_not_found');
}

export const createMerchants = (deps: ResourceDeps): ResourceOperations<Merchant> =>
  createResourceOperations(deps, merchantDefinition);
