// Finds who takes a sale and through which contract, from memory wherever a moment ago is enough.
import { refuse } from '@switchyard/contract';
import type { Clock, Database } from '../platform/index.ts';
import { refuseUnknown } from './errors.ts';
import { createMemory } from './memory.ts';
import {
  type AcquirerContract,
  contractOf,
  judge,
  type Names,
  type Resolved,
  type Within,
} from './resolution.ts';
import { isUuid } from './rules.ts';
import { findContract, resolveNames } from './statements.ts';
import type { Row } from './store.ts';
import { uuidsText } from './tree.ts';

export type Resolver = {
  resolve(organizationId: string, names: Names, within?: Within): Promise<Resolved>;
  contract(organizationId: string, contractId: string): Promise<AcquirerContract | undefined>;
  forget(organizationId: string): void;
  clear(): void;
};

/** $1 the organisations above one. */
const findDisabled = `SELECT 1 FROM organizations
  WHERE organization_id = ANY ($1::uuid[]) AND status = 'Disabled' LIMIT 1`;

/** Text that is no UUID is unknown, and never reaches the database. */
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
  const contracts = createMemory<AcquirerContract | undefined>(clock);

  async function load(organizationId: string, names: Names, within: Within): Promise<Resolved> {
    const { merchantId, storeId, deviceId } = names;
    if ((merchantId ?? storeId ?? deviceId) === undefined) {
      refuse('field_required', 'A merchant, a store or a device must be named.', {
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
    const resolved = judge(rows, names, within);
    await refuseDisabledAbove(rows[0]);
    return resolved;
  }

  async function refuseDisabledAbove(row: Row | undefined): Promise<void> {
    const above = (row?.['ancestor_ids'] ?? []) as string[];
    if (above.length === 0) return;
    const disabled = await database.query<Row>(findDisabled, [uuidsText(above)]);
    if (disabled.length > 0) refuse('merchant_not_active', 'An organisation above is disabled.');
  }

  async function loadContract(organizationId: string, contractId: string) {
    if (!isUuid(contractId)) return undefined;
    const [row] = await database.hot<Row>(findContract, [organizationId, contractId]);
    return row === undefined ? undefined : contractOf(row);
  }

  return {
    resolve(organizationId, names, within = {}) {
      const { merchantId, storeId, deviceId } = names;
      const bound = within.merchantId;
      const key = `${organizationId}|${merchantId}|${storeId}|${deviceId}|${bound}`;
      return places.get(organizationId, key, () => load(organizationId, names, within));
    },
    contract: (organizationId, contractId) =>
      contracts.get(organizationId, `${organizationId}|${contractId}`, () =>
        loadContract(organizationId, contractId),
      ),
    forget(organizationId) {
      places.forget(organizationId);
      contracts.forget(organizationId);
    },
    clear() {
      places.clear();
      contracts.clear();
    },
  };
}
