/** A list of the API with filters, which the page address contains. */
import type { ReactNode } from 'react';
import { api, type Query } from '../api/client.ts';
import type { IconName } from '../components/icon.tsx';
import { EmptyState } from '../components/layout/page.tsx';
import { FilterBar, type FilterField } from '../filters/filter-bar.tsx';
import { type FilterValues, useFilters } from '../filters/use-filters.ts';
import { type Column, DataTable } from './data-table.tsx';
import type { ReadPage, RowsPage } from './row-store.ts';

const pageRows = 200;

type EmptyText = {
  readonly icon: IconName;
  readonly title: string;
  readonly text?: ReactNode;
  readonly action?: ReactNode;
};

export type ResourceListProps<Row> = {
  /** The accessible name of the table. */
  readonly label: string;
  /** `reloadData` reloads the lists of this name. */
  readonly name: string;
  readonly path: string;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  /** The path that a row links to. */
  readonly rowTo?: (row: Row) => string;
  readonly filters?: readonly FilterField<string>[];
  /** Filters that only links set; the list has no field for them. */
  readonly linkFilters?: readonly string[];
  /** The query for the chosen filters, if it differs from them. */
  readonly queryFor?: (values: FilterValues<string>) => Query;
  /** The filters that apply if the user chose none. */
  readonly defaults?: (values: FilterValues<string>) => FilterValues<string>;
  readonly empty: EmptyText;
  /** Shown instead of `empty` if filters are chosen. */
  readonly noMatch?: Omit<EmptyText, 'icon'>;
  /** Another version reloads the list. */
  readonly version?: number | undefined;
  /** The name of the list for saved views. */
  readonly views?: string | undefined;
  /** Reads a page of a resource that does not page by `cursor`. */
  readonly read?: (query: Query) => ReadPage<Row>;
};

const filterNames = (fields: readonly FilterField<string>[]): string[] =>
  fields.flatMap((field) => (field.kind === 'period' ? [field.from, field.to] : [field.name]));

export function ResourceList<Row>(props: ResourceListProps<Row>) {
  const { label, name, path, columns, rowKey, rowTo, filters = [], empty, noMatch, views } = props;
  const { queryFor = (values) => values, defaults = () => ({}), linkFilters = [] } = props;
  const [chosenValues, change] = useFilters([...filterNames(filters), ...linkFilters]);
  const values = { ...defaults(chosenValues), ...chosenValues };
  const query = queryFor(values);
  const isNarrowed = noMatch !== undefined && Object.keys(chosenValues).length > 0;
  const { icon, title, text, action } = isNarrowed
    ? ({ icon: 'search', ...noMatch } as const)
    : empty;
  const readPage: ReadPage<Row> = (cursor, signal) =>
    api.get<RowsPage<Row>>(path, { query: { ...query, cursor, limit: pageRows }, signal });
  return (
    <>
      {filters.length > 0 && (
        <FilterBar
          fields={filters}
          values={values}
          chosenValues={chosenValues}
          onChange={change}
          views={views}
        />
      )}
      <DataTable
        label={label}
        listKey={[name, path, query, props.version]}
        read={props.read?.(query) ?? readPage}
        columns={columns}
        rowKey={rowKey}
        rowTo={rowTo}
        empty={
          <EmptyState icon={icon} title={title} action={action}>
            {text}
          </EmptyState>
        }
      />
    </>
  );
}
