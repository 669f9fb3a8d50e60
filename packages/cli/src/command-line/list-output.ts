/** Prints lists and single resources in the same way in every command. */
import type { Query } from '../http/api-client.ts';
import type { Column } from '../output/table.ts';
import type { CommandContext } from './command-runner.ts';
import type { ListOptions } from './list-options.ts';

export type Row = Readonly<Record<string, unknown>>;

/** A column that shows the member of this name. */
export const column = (
  name: string,
  title = name.toUpperCase(),
  neverTruncate = false,
): Column<Row> => ({
  title,
  value: (row) => row[name],
  neverTruncate,
});

export const idColumn = (name: string): Column<Row> => column(name, 'ID', true);

/** Reads one item more than it prints, to know whether the list has more. */
export async function printList(
  { api, output }: CommandContext,
  path: string,
  query: Query,
  { limit, all }: ListOptions,
  columns: readonly Column<Row>[],
): Promise<void> {
  const maxItems = all ? Number.POSITIVE_INFINITY : limit;
  const items: Row[] = [];
  for await (const item of api().list<Row>(path, query, maxItems + 1)) items.push(item);
  const hasMore = items.length > maxItems;
  const visibleItems = hasMore ? items.slice(0, maxItems) : items;
  output.printResult({ items: visibleItems, more: hasMore }, () =>
    visibleItems.length === 0 ? 'Nothing found.\n' : output.formatTable(columns, visibleItems),
  );
  if (hasMore)
    output.printNote(`The list has more items: --all prints all of them, --limit sets the number.`);
}

export function printResource({ output }: CommandContext, resource: unknown): void {
  output.printResult(resource, () => output.formatMembers(resource as Row));
}
