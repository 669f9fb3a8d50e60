// Finds the entities that depend on another one, so that a deletion leaves no broken reference.
import type { Dependants } from './provisioning-errors.ts';
import type { Run, Table } from './resource-sql.ts';

/** The number of dependants of one kind that an error names. */
export const namedMax = 20;

export type DependantKind = {
  readonly type: string;
  readonly table: Table;
  /** The column that refers to the entity. */
  readonly column: string;
  /**
   * True if the dependants may belong to any organisation, such as those directly below this one.
   */
  readonly crossesTenants?: boolean;
};

export async function findDependants(
  run: Run,
  organizationId: string,
  id: string,
  kinds: readonly DependantKind[],
): Promise<Dependants[]> {
  const found: Dependants[] = [];
  for (const { type, table, column, crossesTenants = false } of kinds) {
    const rows = await run(
      `SELECT ${table.id} AS id, name, count(*) OVER () AS total FROM ${table.name}
       WHERE ${column} = $1 ${crossesTenants ? '' : 'AND organization_id = $2'}
         AND removed_at IS NULL
       ORDER BY ${table.id} LIMIT ${namedMax}`,
      crossesTenants ? [id] : [id, organizationId],
    );
    const [first] = rows;
    if (first === undefined) continue;
    found.push({
      type,
      total: Number(first['total']),
      first: rows.map((row) => ({ id: String(row['id']), name: String(row['name']) })),
    });
  }
  return found;
}
