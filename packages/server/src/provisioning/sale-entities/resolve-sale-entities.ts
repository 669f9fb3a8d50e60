// Finds the merchant, store, device and contracts of a sale, with a cache of a few seconds.
import { throwProblem } from '@switchyard/contract';
import type { Clock, Database } from '../../platform/index.ts';
import { uuidsText } from '../organizations/organization-tree.ts';
import { isUuid } from '../resources/format-rules.ts';
import { refuseUnknown } from '../resources/provisioning-errors.ts';
import type { Row } from '../resources/resource-sql.ts';
import { createMemory } from '../resources/short-lived-cache.ts';
import {
  type AcquirerContract,
  contractOf,
  judge,
  judgePlace,
  type Names,
  type Resolved,
  type ResolvedPlace,
  type Within,
} from './sale-entities.ts';
import { findContract, resolveNames } from './sale-entities-sql.ts';

export type Resolver = {
  resolve(organizationId: string, names: Names, within?: Within): Promise<Resolved>;
  placeOf(organizationId: string, names: Names, within?: Within): Promise<ResolvedPlace>;
  contract(organizationId: string, contractId: string): Promise<AcquirerContract | undefined>;
  forget(organizationId: string): void;
  clear(): void;
};

/** $1: the identifiers of the organisations above. */
const findDisabled = `SELECT 1 FROM organizations
  WHERE organization_id = ANY ($1::uuid[]) AND status = 'Disabled' LIMIT 1`;

/** Treats a text that is no UUID as unknown, and does not send it to the database. */
function refuseMalformed(names: Names): void {
  if (names.deviceId !== undefined && !isUuid(names.deviceId)) refuseUnknown('device_not_found');
  if (names.storeId !== undefined && !isUuid(names.storeId)) refuseUnknown('store_not_found');
  if (names.merchantId !== undefined && !isUuid(names.merchantId)) {
    refuseUnknown('merchant_not_found');
  }
}

/** @example const { merchant, contract } = await resolver.resolve(organizationId, { deviceId }); */
export function createResolver({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): Resolver {
  const places = createMemory<Resolved>(clock);
  const withoutContract = createMemory<ResolvedPlace>(clock);
  const contracts = createMemory<AcquirerContract | undefined>(clock);

  async function load<Found>(
    organizationId: string,
    names: Names,
    judged: (rows: readonly Row[]) => Found,
  ): Promise<Found> {
    const { merchantId, storeId, deviceId } = names;
    if ((merchantId ?? storeId ?? deviceId) === undefined) {
      throwProblem('field_required', 'A merchant, a store or a device must be named.', {
        errors: [{ pointer: '/merchantId', code: 'field_required', detail: 'is required' }],
      });
    }
    refuseMalformed(names);
    const rows = await database.hot<Row>(resolveNames, [
      organizationId,
      merchantId ?? null,
      storeId ?? null,
      deviceId ?? null,
    ]);
    const resolved = judged(rows);
    await refuseDisabledAbove(rows[0]);
    return resolved;
  }

  async function refuseDisabledAbove(row: Row | undefined): Promise<void> {
    const above = (row?.['ancestor_ids'] ?? []) as string[];
    if (above.length === 0) return;
    const disabled = await database.query<Row>(findDisabled, [uuidsText(above)]);
    if (disabled.length > 0)
      throwProblem('merchant_not_active', 'An organisation above is disabled.');
  }

  async function loadContract(organizationId: string, contractId: string) {
    if (!isUuid(contractId)) return undefined;
    const [row] = await database.hot<Row>(findContract, [organizationId, contractId]);
    return row === undefined ? undefined : contractOf(row);
  }

  const keyOf = (organizationId: string, names: Names, within: Within) =>
    `${organizationId}|${names.merchantId}|${names.storeId}|${names.deviceId}|${within.merchantId}`;

  return {
    resolve: (organizationId, names, within = {}) =>
      places.get(organizationId, keyOf(organizationId, names, within), () =>
        load(organizationId, names, (rows) => judge(rows, names, within)),
      ),
    placeOf: (organizationId, names, within = {}) =>
      withoutContract.get(organizationId, keyOf(organizationId, names, within), () =>
        load(organizationId, names, (rows) => judgePlace(rows, names, within)),
      ),
    contract: (organizationId, contractId) =>
      contracts.get(organizationId, `${organizationId}|${contractId}`, () =>
        loadContract(organizationId, contractId),
      ),
    forget(organizationId) {
      places.forget(organizationId);
      withoutContract.forget(organizationId);
      contracts.forget(organizationId);
    },
    clear() {
      places.clear();
      withoutContract.clear();
      contracts.clear();
    },
  };
}
