// Where organisations stand above and below each other, from memory where a moment ago is enough.
import { defined } from '@switchyard/contract';
import type { Clock, Database } from '../platform/index.ts';
import { refuseUnknown } from './errors.ts';
import { createMemory } from './memory.ts';
import { isUuid } from './rules.ts';
import { type Row, type Run, runOn } from './store.ts';
import type { UserDomains } from './user-domains.ts';

/** From the organisation at the top, itself counted, to the lowest one. */
export const organizationLevelsMax = 8;

export type StandingOrganization = {
  readonly organizationId: string;
  /** From the top down, without itself. */
  readonly ancestorIds: readonly string[];
  readonly status: 'Enabled' | 'Disabled';
  /** Whether refunds and cancels of its merchants need an approval code. */
  readonly approvalCodeRequired: boolean;
  /** Where its users and applications sign in; absent where it has none. */
  readonly userDomainId?: string;
};

const standingText = `SELECT organization_id, ancestor_ids, status, approval_code_required
  FROM organizations WHERE organization_id = $1 AND removed_at IS NULL`;

/** @example const above = await tree.ancestorsOf(organizationId); */
export function createTree({
  database,
  clock,
  userDomains,
}: {
  database: Database;
  clock: Clock;
  userDomains: Pick<UserDomains, 'of'>;
}) {
  const standing = createMemory<StandingOrganization | undefined>(clock);
  const run = runOn(database);

  async function load(organizationId: string): Promise<StandingOrganization | undefined> {
    const [row] = await run(standingText, [organizationId]);
    if (row === undefined) return undefined;
    const userDomainId = await userDomains.of(organizationId);
    return {
      organizationId,
      ancestorIds: ancestorsIn(row),
      status: row['status'] === 'Disabled' ? 'Disabled' : 'Enabled',
      approvalCodeRequired: row['approval_code_required'] === true,
      ...defined({ userDomainId }),
    };
  }

  async function find(named: string): Promise<StandingOrganization | undefined> {
    if (!isUuid(named)) return undefined;
    const organizationId = named.toLowerCase();
    return standing.get(organizationId, organizationId, () => load(organizationId));
  }

  return {
    find,
    ancestorsOf: async (organizationId: string): Promise<readonly string[]> =>
      (await find(organizationId))?.ancestorIds ?? [],
    /** One that moves takes along whatever is below it, so nothing of the tree is kept. */
    clear: standing.clear,
  };
}

export const ancestorsIn = (row: Row): string[] => row['ancestor_ids'] as string[];

/** Whoever changes a tree holds its top, which never gets another place. */
export async function holdTree(run: Run, organizationId: string): Promise<void> {
  await run(
    `SELECT 1 FROM organizations
     WHERE organization_id = (SELECT coalesce(ancestor_ids[1], organization_id)
       FROM organizations WHERE organization_id = $1)
     FOR NO KEY UPDATE`,
    [organizationId],
  );
}

/**
 * What is made right below an organisation keeps it from being removed meanwhile. Where that came
 * first, nobody would ever find what was made.
 */
export async function holdOrganization(run: Run, organizationId: string): Promise<void> {
  const held = await run(
    `SELECT 1 AS held FROM organizations
     WHERE organization_id = $1 AND removed_at IS NULL FOR KEY SHARE`,
    [organizationId],
  );
  if (held.length === 0) refuseUnknown('organization_not_found');
}

/** How many levels there are below an organisation. */
export async function levelsBelow(run: Run, row: Row): Promise<number> {
  const [found] = await run(
    `SELECT coalesce(max(cardinality(ancestor_ids)), $2) - $2 AS levels FROM organizations
     WHERE ancestor_ids @> ARRAY[$1]::uuid[] AND removed_at IS NULL`,
    [row['organization_id'], ancestorsIn(row).length],
  );
  return Number(found?.['levels'] ?? 0);
}

/** Takes along what is below an organisation that gets another place. */
export async function moveBelow(run: Run, row: Row, ancestorIds: readonly string[]): Promise<void> {
  await run(
    `UPDATE organizations SET ancestor_ids = $2::uuid[] || ancestor_ids[$3::int + 1:]
     WHERE ancestor_ids @> ARRAY[$1]::uuid[]`,
    [row['organization_id'], uuidsText(ancestorIds), ancestorsIn(row).length],
  );
}

/** As the database reads an array of identifiers. */
export const uuidsText = (ids: readonly string[]): string => `{${ids.join(',')}}`;
