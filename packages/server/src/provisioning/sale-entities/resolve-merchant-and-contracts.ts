// Finds the merchant, store, device and contracts of a sale, with a cache of a few seconds.
import { throwProblem } from '@switchyard/contract';
import { type Clock, type Database, isUuid } from '../../platform/index.ts';
import { formatUuidArray } from '../organizations/organization-tree.ts';
import { throwNotFound } from '../resources/provisioning-errors.ts';
import type { Row } from '../resources/resource-sql.ts';
import { createShortLivedCache } from '../resources/short-lived-cache.ts';
import {
  type AcquirerContract,
  type MerchantAndPlace,
  readContract,
  readSaleEntities,
  readSaleEntitiesWithoutAcquirer,
  type SaleEntities,
  type SaleEntityIds,
  type TokenBinding,
} from './sale-entities.ts';
import { findContractStatement, resolveSaleEntitiesStatement } from './sale-entities-sql.ts';

export type SaleEntityResolver = {
  resolveSaleEntities(
    organizationId: string,
    names: SaleEntityIds,
    within?: TokenBinding,
  ): Promise<SaleEntities>;
  resolveWithoutAcquirer(
    organizationId: string,
    names: SaleEntityIds,
    within?: TokenBinding,
  ): Promise<MerchantAndPlace>;
  findContract(organizationId: string, contractId: string): Promise<AcquirerContract | undefined>;
  invalidateOrganization(organizationId: string): void;
  clear(): void;
};

/** $1: the identifiers of the organisations above. */
const findDisabledText = `SELECT 1 FROM organizations
  WHERE organization_id = ANY ($1::uuid[]) AND status = 'Disabled' LIMIT 1`;

/** Treats a text that is no UUID as unknown, and does not send it to the database. */
function requireUuids(names: SaleEntityIds): void {
  if (names.deviceId !== undefined && !isUuid(names.deviceId)) throwNotFound('device_not_found');
  if (names.storeId !== undefined && !isUuid(names.storeId)) throwNotFound('store_not_found');
  if (names.merchantId !== undefined && !isUuid(names.merchantId)) {
    throwNotFound('merchant_not_found');
  }
}

/** @example const { merchant, contract } = await resolver.resolveSaleEntities(organizationId, { deviceId }); */
export function createSaleEntityResolver({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): SaleEntityResolver {
  const entitiesCache = createShortLivedCache<SaleEntities>(clock);
  const withoutAcquirerCache = createShortLivedCache<MerchantAndPlace>(clock);
  const contractCache = createShortLivedCache<AcquirerContract | undefined>(clock);

  async function load<Found>(
    organizationId: string,
    names: SaleEntityIds,
    readRows: (rows: readonly Row[]) => Found,
  ): Promise<Found> {
    const { merchantId, storeId, deviceId } = names;
    if ((merchantId ?? storeId ?? deviceId) === undefined) {
      throwProblem('field_required', 'Send a merchantId, a storeId or a deviceId.', {
        errors: [{ pointer: '/merchantId', code: 'field_required', detail: 'is required' }],
      });
    }
    requireUuids(names);
    const rows = await database.hot<Row>(resolveSaleEntitiesStatement, [
      organizationId,
      merchantId ?? null,
      storeId ?? null,
      deviceId ?? null,
    ]);
    const resolved = readRows(rows);
    await requireEnabledAncestors(rows[0]);
    return resolved;
  }

  async function requireEnabledAncestors(row: Row | undefined): Promise<void> {
    const above = (row?.['ancestor_ids'] ?? []) as string[];
    if (above.length === 0) return;
    const disabled = await database.query<Row>(findDisabledText, [formatUuidArray(above)]);
    if (disabled.length > 0)
      throwProblem('merchant_not_active', 'A parent organisation of the merchant is disabled.');
  }

  async function loadContract(organizationId: string, contractId: string) {
    if (!isUuid(contractId)) return undefined;
    const [row] = await database.hot<Row>(findContractStatement, [organizationId, contractId]);
    return row === undefined ? undefined : readContract(row);
  }

  const keyOf = (organizationId: string, names: SaleEntityIds, within: TokenBinding) =>
    `${organizationId}|${names.merchantId}|${names.storeId}|${names.deviceId}|${within.merchantId}`;

  return {
    resolveSaleEntities: (organizationId, names, within = {}) =>
      entitiesCache.get(organizationId, keyOf(organizationId, names, within), () =>
        load(organizationId, names, (rows) => readSaleEntities(rows, names, within)),
      ),
    resolveWithoutAcquirer: (organizationId, names, within = {}) =>
      withoutAcquirerCache.get(organizationId, keyOf(organizationId, names, within), () =>
        load(organizationId, names, (rows) => readSaleEntitiesWithoutAcquirer(rows, names, within)),
      ),
    findContract: (organizationId, contractId) =>
      contractCache.get(organizationId, `${organizationId}|${contractId}`, () =>
        loadContract(organizationId, contractId),
      ),
    invalidateOrganization(organizationId) {
      entitiesCache.invalidateOrganization(organizationId);
      withoutAcquirerCache.invalidateOrganization(organizationId);
      contractCache.invalidateOrganization(organizationId);
    },
    clear() {
      entitiesCache.clear();
      withoutAcquirerCache.clear();
      contractCache.clear();
    },
  };
}
