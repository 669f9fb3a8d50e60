/** Shows lists and single things alike in every command. */
import type { Query } from '../http/api-client.ts';
import type { Column } from '../output/table.ts';
import type { Kit } from './command-runner.ts';
import type { ListOptions } from './list-options.ts';

export type Row = Readonly<Record<string, unknown>>;

/** A column that shows a member of that name. */
export const column = (name: string, title = name.toUpperCase(), whole = false): Column<Row> => ({
  title,
  of: (row) => row[name],
  whole,
});

export const idColumn = (name: string): Column<Row> => column(name, 'ID', true);

/** One more than is shown tells whether there are more. */
export async function showList(
  { api, screen }: Kit,
  path: string,
  query: Query,
  { limit, all }: ListOptions,
  columns: readonly Column<Row>[],
): Promise<void> {
  const most = all ? Number.POSITIVE_INFINITY : limit;
  const items: Row[] = [];
  for await (const item of api().list<Row>(path, query, most + 1)) items.push(item);
  const isMore = items.length > most;
  const shown = isMore ? items.slice(0, most) : items;
  screen.result({ items: shown, more: isMore }, () =>
    shown.length === 0 ? 'Nothing found.\n' : screen.table(columns, shown),
  );
  if (isMore) screen.note(`There are more: --all shows them, --limit says how many.`);
}

export function showThing({ screen }: Kit, thing: unknown): void {
  screen.result(thing, () => screen.members(thing as Row));
}
