// Counts the dependants of deleted entities, from the database and from earlier lines.
import { type DependantType, listedDependantsMax } from '../../resources/find-dependants.ts';
import type { DependantGroup } from '../../resources/provisioning-errors.ts';
import type { Row, SqlRunner } from '../../resources/resource-sql.ts';
import type { Entry, Workspace } from './row-cache.ts';

type Stored = { readonly total: number; readonly first: readonly Row[] };

/** Thrown if the dependants of an entity have not been read yet. */
export class NotCounted extends Error {
  constructor() {
    super('dependants have not been counted');
    this.name = 'NotCounted';
  }
}

export type Counted = ReturnType<typeof createDependants>;

/** Reads as many rows as an error names, plus as many as the lines of a chunk could remove. */
export function createDependants(workspace: Workspace, linesMax: number) {
  const stored = new Map<string, Stored>();
  const keyOf = ({ table, column }: DependantType, id: string) => `${table.name} ${column} ${id}`;

  async function readKind(
    run: SqlRunner,
    organizationId: string,
    ids: string[],
    kind: DependantType,
  ) {
    const { table, column } = kind;
    const rows = await run(
      `SELECT parent, id, name, total FROM (
         SELECT ${column} AS parent, ${table.id} AS id, name,
           count(*) OVER (PARTITION BY ${column}) AS total,
           row_number() OVER (PARTITION BY ${column} ORDER BY ${table.id}) AS place
         FROM ${table.name}
         WHERE organization_id = $1 AND ${column} = ANY($2::uuid[]) AND removed_at IS NULL
       ) all_of_them WHERE place <= ${listedDependantsMax + linesMax} ORDER BY parent, id`,
      [organizationId, ids],
    );
    const byParent = new Map<string, Row[]>(ids.map((id) => [id, []]));
    for (const row of rows) byParent.get(String(row['parent']))?.push(row);
    for (const [id, first] of byParent) {
      stored.set(keyOf(kind, id), { total: Number(first[0]?.['total'] ?? 0), first });
    }
  }

  function countOf(kind: DependantType, id: string): DependantGroup {
    const known = stored.get(keyOf(kind, id));
    if (known === undefined) throw new NotCounted();
    const isBelow = (row: Row | undefined) => row?.[kind.column] === id;
    const entries: ReadonlyMap<string, Entry> = workspace.entriesOf(kind.table);
    const moved = [...entries.values()].filter((one) => isBelow(one.stored) !== isBelow(one.row));
    const come = moved.filter(({ row }) => isBelow(row));
    const gone = new Set(moved.filter(({ row }) => !isBelow(row)).map((entry) => entry.id));
    const first = [
      ...known.first.map((row) => ({ id: String(row['id']), name: String(row['name']) })),
      ...come.map((entry) => ({ id: entry.id, name: String(entry.row?.['name']) })),
    ]
      .filter((one) => !gone.has(one.id))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
    const total = known.total + come.length - gone.size;
    return { type: kind.type, total, first: first.slice(0, listedDependantsMax) };
  }

  return {
    async read(
      run: SqlRunner,
      organizationId: string,
      ids: string[],
      kinds: readonly DependantType[],
    ) {
      const unread = ids.filter((id) => kinds.some((kind) => !stored.has(keyOf(kind, id))));
      if (unread.length === 0) return;
      for (const kind of kinds) await readKind(run, organizationId, unread, kind);
    },
    /** @throws NotCounted if the dependants have not been read yet */
    of: (id: string, kinds: readonly DependantType[]): DependantGroup[] =>
      kinds.map((kind) => countOf(kind, id)).filter(({ total }) => total > 0),
    /** The stored counts are invalid after a write. */
    forget: () => stored.clear(),
  };
}
