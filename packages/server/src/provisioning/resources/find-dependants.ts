// Finds the entities that depend on another one, so that a deletion leaves no broken reference.
import type { Queries } from '../../platform/index.ts';
import type { DependantGroup } from './provisioning-errors.ts';
import type { EntityTable } from './resource-sql.ts';

/** The number of dependants of one kind that an error names. */
export const listedDependantsMax = 20;

export type DependantType = {
  readonly type: string;
  readonly table: EntityTable;
  /** The column that refers to the entity. */
  readonly column: string;
  /**
   * True if the dependants may belong to any organisation, such as those directly below this one.
   */
  readonly crossesTenants?: boolean;
};

export async function findDependants(
  queries: Queries,
  organizationId: string,
  id: string,
  kinds: readonly DependantType[],
): Promise<DependantGroup[]> {
  const groups: DependantGroup[] = [];
  for (const { type, table, column, crossesTenants = false } of kinds) {
    const rows = await queries.query(
      `SELECT ${table.id} AS id, name, count(*) OVER () AS total FROM ${table.name}
       WHERE ${column} = $1 ${crossesTenants ? '' : 'AND organization_id = $2'}
         AND removed_at IS NULL
       ORDER BY ${table.id} LIMIT ${listedDependantsMax}`,
      crossesTenants ? [id] : [id, organizationId],
    );
    const [first] = rows;
    if (first === undefined) continue;
    groups.push({
      type,
      total: Number(first['total']),
      first: rows.map((row) => ({ id: String(row['id']), name: String(row['name']) })),
    });
  }
  return groups;
}
