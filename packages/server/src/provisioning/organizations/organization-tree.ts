// Finds the position of an organisation in its tree, with a cache of a few seconds.
import { defined } from '@switchyard/contract';
import { type Clock, type Database, isUuid, type Queries } from '../../platform/index.ts';
import { throwNotFound } from '../resources/provisioning-errors.ts';
import type { Row } from '../resources/resource-sql.ts';
import { createShortLivedCache } from '../resources/short-lived-cache.ts';
import type { UserDomains } from './user-domain-port.ts';

/** The number of levels from the top organisation to the lowest one, both included. */
export const organizationLevelsMax = 8;

export type CachedOrganization = {
  readonly organizationId: string;
  /** From the top down, without the organisation itself. */
  readonly ancestorIds: readonly string[];
  readonly status: 'Enabled' | 'Disabled';
  /** True if refunds and cancels of its merchants need an approval code. */
  readonly approvalCodeRequired: boolean;
  /** The domain in which its users and applications sign in; absent if there is none. */
  readonly userDomainId?: string;
};

const findOrganizationText = `SELECT organization_id, ancestor_ids, status, approval_code_required
  FROM organizations WHERE organization_id = $1 AND removed_at IS NULL`;

/** @example const ancestorIds = await organizationCache.listAncestorIds(organizationId); */
export function createOrganizationCache({
  database,
  clock,
  userDomains,
}: {
  database: Database;
  clock: Clock;
  userDomains: Pick<UserDomains, 'findByOrganization'>;
}) {
  const cache = createShortLivedCache<CachedOrganization | undefined>(clock);

  async function load(organizationId: string): Promise<CachedOrganization | undefined> {
    const [row] = await database.query(findOrganizationText, [organizationId]);
    if (row === undefined) return undefined;
    const userDomainId = await userDomains.findByOrganization(organizationId);
    return {
      organizationId,
      ancestorIds: readAncestorIds(row),
      status: row['status'] === 'Disabled' ? 'Disabled' : 'Enabled',
      approvalCodeRequired: row['approval_code_required'] === true,
      ...defined({ userDomainId }),
    };
  }

  async function find(idText: string): Promise<CachedOrganization | undefined> {
    if (!isUuid(idText)) return undefined;
    const organizationId = idText.toLowerCase();
    return cache.get(organizationId, organizationId, () => load(organizationId));
  }

  return {
    find,
    listAncestorIds: async (organizationId: string): Promise<readonly string[]> =>
      (await find(organizationId))?.ancestorIds ?? [],
    /** A move also affects all organisations below, so the whole cache is cleared. */
    clear: cache.clear,
  };
}

export const readAncestorIds = (row: Row): string[] => row['ancestor_ids'] as string[];

/** Locks the top organisation, which never moves, so that changes of a tree run one by one. */
export async function lockOrganizationTree(
  queries: Queries,
  organizationId: string,
): Promise<void> {
  await queries.query(
    `SELECT 1 FROM organizations
     WHERE organization_id = (SELECT coalesce(ancestor_ids[1], organization_id)
       FROM organizations WHERE organization_id = $1)
     FOR NO KEY UPDATE`,
    [organizationId],
  );
}

/**
 * Prevents the removal of an organisation while a transaction creates an entity below it. Otherwise
 * the new entity would not be visible to any caller.
 */
export async function lockExistingOrganization(
  queries: Queries,
  organizationId: string,
): Promise<void> {
  const lockedRows = await queries.query(
    `SELECT 1 AS held FROM organizations
     WHERE organization_id = $1 AND removed_at IS NULL FOR KEY SHARE`,
    [organizationId],
  );
  if (lockedRows.length === 0) throwNotFound('organization_not_found');
}

/** Counts the levels below an organisation. */
export async function countLevelsBelow(queries: Queries, row: Row): Promise<number> {
  const [found] = await queries.query(
    `SELECT coalesce(max(cardinality(ancestor_ids)), $2) - $2 AS levels FROM organizations
     WHERE ancestor_ids @> ARRAY[$1]::uuid[] AND removed_at IS NULL`,
    [row['organization_id'], readAncestorIds(row).length],
  );
  return Number(found?.['levels'] ?? 0);
}

/** Updates the ancestors of all organisations below one that moves. */
export async function moveSubtree(
  queries: Queries,
  row: Row,
  ancestorIds: readonly string[],
): Promise<void> {
  await queries.query(
    `UPDATE organizations SET ancestor_ids = $2::uuid[] || ancestor_ids[$3::int + 1:]
     WHERE ancestor_ids @> ARRAY[$1]::uuid[]`,
    [row['organization_id'], formatUuidArray(ancestorIds), readAncestorIds(row).length],
  );
}

/** The PostgreSQL text form of an array of identifiers. */
export const formatUuidArray = (ids: readonly string[]): string => `{${ids.join(',')}}`;
