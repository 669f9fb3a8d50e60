// Finds terminals by name, enabled or not, for code that explains why a terminal is unusable.
import { formatTsn } from '@switchyard/contract';
import { type Clock, createPreparedQueries, type Database, nilUuid } from '../../platform/index.ts';
import type { Row } from '../resources/resource-sql.ts';
import { createShortLivedCache } from '../resources/short-lived-cache.ts';
import { parseDeviceName } from './find-device.ts';

export type Terminal = {
  readonly organizationId: string;
  readonly physicalDeviceId: string;
  /** `{MAKE_MODEL}-{serial}`. */
  readonly tsn: string;
  readonly serialNumber: string;
  readonly family: string;
  /** All three are absent while the terminal is not linked to a logical device. */
  readonly logicalDeviceId?: string;
  readonly storeId?: string;
  readonly merchantId?: string;
  /**
   * True if the terminal, its logical device, store, merchant and all organisations are enabled.
   */
  readonly isEnabled: boolean;
  /** True if the organisation has proved that it has the terminal. */
  readonly isClaimed: boolean;
};

export type TerminalFinder = {
  /** Finds a terminal by its TSN or by the identifier of the hardware. */
  find(organizationId: string, nameOrId: string): Promise<Terminal | undefined>;
  /** Finds many terminals by hardware identifiers, without the cache and in no particular order. */
  findMany(
    hardware: readonly { readonly organizationId: string; readonly physicalDeviceId: string }[],
  ): Promise<readonly Terminal[]>;
  /** Lists the terminals in a store, by identifier. */
  listInStore(
    organizationId: string,
    storeId: string,
    page: { readonly limit: number; readonly after?: string },
  ): Promise<readonly Terminal[]>;
};

const terminalSelectText = `SELECT h.organization_id, h.physical_device_id, h.serial_number, h.make, h.model, h.family,
    d.logical_device_id, d.store_id, d.merchant_id,
    (h.status = 'Enabled' AND d.status = 'Enabled' AND s.status = 'Enabled'
      AND m.status = 'Enabled' AND o.status = 'Enabled'
      AND NOT EXISTS (SELECT 1 FROM organizations a
        WHERE a.organization_id = ANY (o.ancestor_ids) AND a.status = 'Disabled')) AS enabled,
    EXISTS (SELECT 1 FROM terminal_claims c WHERE c.organization_id = h.organization_id
      AND c.physical_device_id = h.physical_device_id) AS claimed
  FROM physical_devices h
  JOIN organizations o ON o.organization_id = h.organization_id AND o.removed_at IS NULL
  LEFT JOIN logical_devices d ON d.organization_id = h.organization_id
    AND d.logical_device_id = h.logical_device_id AND d.removed_at IS NULL
  LEFT JOIN stores s ON s.organization_id = d.organization_id AND s.store_id = d.store_id
    AND s.removed_at IS NULL
  LEFT JOIN merchants m ON m.organization_id = d.organization_id AND m.merchant_id = d.merchant_id
    AND m.removed_at IS NULL`;

const terminalsOfOrganizationText = `${terminalSelectText} WHERE h.organization_id = $1 AND h.removed_at IS NULL`;

const findManyText = `${terminalSelectText}
  JOIN unnest($1::uuid[], $2::uuid[]) AS requested (organization_id, physical_device_id)
    ON requested.organization_id = h.organization_id
      AND requested.physical_device_id = h.physical_device_id
  WHERE h.removed_at IS NULL`;

const findText = `${terminalsOfOrganizationText}
    AND (h.physical_device_id = $2::uuid
      OR h.serial_number = $3 AND h.make || '_' || h.model = coalesce($4, h.make || '_' || h.model))
  LIMIT 1`;

const inStoreText = `${terminalsOfOrganizationText}
    AND d.store_id = $2 AND h.physical_device_id > $3
  ORDER BY h.physical_device_id LIMIT $4`;

function toTerminal(row: Row): Terminal {
  const [make, model] = [String(row['make']), String(row['model'])];
  const serialNumber = String(row['serial_number']);
  const location =
    row['logical_device_id'] === null
      ? {}
      : {
          logicalDeviceId: String(row['logical_device_id']),
          storeId: String(row['store_id']),
          merchantId: String(row['merchant_id']),
        };
  return {
    organizationId: String(row['organization_id']),
    physicalDeviceId: String(row['physical_device_id']),
    tsn: formatTsn({ make, model, serialNumber }),
    serialNumber,
    family: String(row['family']),
    ...location,
    isEnabled: row['enabled'] === true,
    isClaimed: row['claimed'] === true,
  };
}

/** @example const terminals = createTerminalFinder({ database, clock }); await terminals.find(organizationId, tsn); */
export function createTerminalFinder({ database, clock }: { database: Database; clock: Clock }) {
  const cache = createShortLivedCache<Terminal | undefined>(clock);
  const queries = createPreparedQueries(database, 'provisioning');

  const terminals: TerminalFinder = {
    async find(organizationId, nameOrId) {
      const name = parseDeviceName(nameOrId);
      if (name === undefined) return undefined;
      const keyOf = (key: string) => `${organizationId}|${key}`;
      const load = async () => {
        const { id, serialNumber, makeAndModel } = name;
        const values = [organizationId, id ?? null, serialNumber ?? null, makeAndModel ?? null];
        const [row] = await queries.query(findText, values);
        return row === undefined ? undefined : toTerminal(row);
      };
      // A device registers with its name, and connects with its identifier.
      const otherKeyOf = (terminal?: Terminal) => terminal && keyOf(terminal.physicalDeviceId);
      return cache.get(organizationId, keyOf(nameOrId), load, otherKeyOf);
    },
    async findMany(hardware) {
      const rows = await queries.query(findManyText, [
        hardware.map(({ organizationId }) => organizationId),
        hardware.map(({ physicalDeviceId }) => physicalDeviceId),
      ]);
      return rows.map(toTerminal);
    },
    async listInStore(organizationId, storeId, { limit, after = nilUuid }) {
      const rows = await queries.query(inStoreText, [organizationId, storeId, after, limit]);
      return rows.map(toTerminal);
    },
  };
  return { ...terminals, invalidateOrganization: cache.invalidateOrganization, clear: cache.clear };
}
