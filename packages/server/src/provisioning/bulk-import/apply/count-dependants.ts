// Counts the dependants of deleted entities, from the database and from earlier lines.
import type { Queries } from '../../../platform/index.ts';
import { type DependantType, listedDependantsMax } from '../../resources/find-dependants.ts';
import type { DependantGroup } from '../../resources/provisioning-errors.ts';
import type { Row } from '../../resources/resource-sql.ts';
import type { CachedRow, RowCache } from './row-cache.ts';

type StoredDependants = { readonly total: number; readonly first: readonly Row[] };

/** Thrown if the dependants of an entity have not been read yet. */
export class DependantsNotCountedError extends Error {
  constructor() {
    super('the dependants have not been counted');
    this.name = 'NotCounted';
  }
}

export type DependantCounter = ReturnType<typeof createDependantCounter>;

/** Reads as many rows as an error names, plus as many as the lines of a chunk could remove. */
export function createDependantCounter(rowCache: RowCache, linesMax: number) {
  const stored = new Map<string, StoredDependants>();
  const keyOf = ({ table, column }: DependantType, id: string) => `${table.name} ${column} ${id}`;

  async function readKind(
    queries: Queries,
    organizationId: string,
    ids: string[],
    kind: DependantType,
  ) {
    const { table, column } = kind;
    const rows = await queries.query(
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
    const storedDependants = stored.get(keyOf(kind, id));
    if (storedDependants === undefined) throw new DependantsNotCountedError();
    const isBelow = (row: Row | undefined) => row?.[kind.column] === id;
    const entries: ReadonlyMap<string, CachedRow> = rowCache.entriesOf(kind.table);
    const moved = [...entries.values()].filter((one) => isBelow(one.stored) !== isBelow(one.row));
    const added = moved.filter(({ row }) => isBelow(row));
    const removedIds = new Set(moved.filter(({ row }) => !isBelow(row)).map((entry) => entry.id));
    const first = [
      ...storedDependants.first.map((row) => ({
        id: String(row['id']),
        name: String(row['name']),
      })),
      ...added.map((entry) => ({ id: entry.id, name: String(entry.row?.['name']) })),
    ]
      .filter((one) => !removedIds.has(one.id))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
    const total = storedDependants.total + added.length - removedIds.size;
    return { type: kind.type, total, first: first.slice(0, listedDependantsMax) };
  }

  return {
    async readCounts(
      queries: Queries,
      organizationId: string,
      ids: string[],
      kinds: readonly DependantType[],
    ) {
      const unread = ids.filter((id) => kinds.some((kind) => !stored.has(keyOf(kind, id))));
      if (unread.length === 0) return;
      for (const kind of kinds) await readKind(queries, organizationId, unread, kind);
    },
    /** @throws DependantsNotCountedError if the dependants have not been read yet */
    listDependants: (id: string, kinds: readonly DependantType[]): DependantGroup[] =>
      kinds.map((kind) => countOf(kind, id)).filter(({ total }) => total > 0),
    /** The stored counts are invalid after a write. */
    clear: () => stored.clear(),
  };
}
