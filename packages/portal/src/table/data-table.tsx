/** A virtualised table with cursor paging: only visible rows are rendered. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useRef,
  useSyncExternalStore,
} from 'react';
import { ErrorMessage } from '../components/layout/error-message.tsx';
import { useTranslate } from '../locales/index.ts';
import type { ReadPage, RowStore, RowsView } from './row-store.ts';
import { useRowStore } from './row-store-cache.ts';
import { useVisibleRows } from './use-visible-rows.ts';
import './data-table.css';

export type CardPosition = 'lead' | 'trail' | 'sub' | 'subtrail';

export type Column<Row> = {
  /** Unique within the table. */
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** A CSS width: `9rem`, `20%`. Without it, the column shares the remaining width. */
  readonly width?: string;
  readonly align?: 'end';
  /** The position in the card of a row on a phone; without it, the column is hidden there. */
  readonly cardPosition?: CardPosition | undefined;
};

export type DataTableProps<Row> = {
  /** The accessible name of the table. */
  readonly label: string;
  /** Identifies the list and its filters; another key is another list. */
  readonly listKey: readonly unknown[];
  readonly read: ReadPage<Row>;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  /** The path that a row links to. */
  readonly rowTo?: ((row: Row) => string) | undefined;
  readonly empty: ReactNode;
};

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, listKey, read, columns, rowKey, rowTo, empty } = props;
  const store = useRowStore(listKey, read);
  const view = useSyncExternalStore(store.subscribe, store.view);
  const box = useRef<HTMLDivElement>(null);
  const sight = useVisibleRows(store, view, box);
  const { first, last, before, after } = sight;
  const onKeyDown = useRowKeys(box, sight.scrollBy);
  if (view.count === 0 && view.fault !== undefined) {
    return (
      <div className="sy-table-state">
        <ErrorMessage fault={view.fault} onRetry={store.retry} />
      </div>
    );
  }
  if (view.count === 0 && !view.hasMore) return <div className="sy-table-state">{empty}</div>;
  return (
    <div className="sy-table-frame">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrows move among the links inside */}
      <div
        className="sy-table-box"
        ref={box}
        // Rows without links have no focusable element, so the box takes the focus.
        tabIndex={rowTo === undefined ? 0 : undefined}
        onKeyDown={onKeyDown}
        onScroll={sight.onScroll}
      >
        <table
          className="sy-table"
          aria-label={label}
          aria-rowcount={view.hasMore ? -1 : view.count + 1}
          aria-busy={view.isLoading}
        >
          <Head columns={columns} />
          <tbody>
            {before > 0 && <Spacer height={before} columns={columns.length} />}
            {Array.from({ length: last - first + 1 }, (_none, at) => {
              const index = first + at;
              const row = store.rowAt(index);
              if (row === undefined) return <WaitingRow key={`at ${index}`} columns={columns} />;
              const facts = { row, index, columns, to: rowTo?.(row) };
              return <BodyRow key={rowKey(row)} {...facts} />;
            })}
            {after > 0 && <Spacer height={after} columns={columns.length} />}
          </tbody>
        </table>
      </div>
      <Foot store={store} view={view} />
    </div>
  );
}

function Foot<Row>({ store, view }: { readonly store: RowStore<Row>; readonly view: RowsView }) {
  const t = useTranslate('components');
  return (
    <div className="sy-table-foot">
      {view.fault === undefined ? (
        <span>{t(view.hasMore ? 'table.shown' : 'table.all', { count: view.count })}</span>
      ) : (
        <ErrorMessage fault={view.fault} onRetry={store.retry} />
      )}
      <Button variant="subtle" size="compact-xs" color="gray" onClick={store.reload}>
        {t('table.refresh')}
      </Button>
    </div>
  );
}

function Head<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  return (
    <>
      <colgroup>
        {columns.map(({ header, width }) => (
          <col key={header} style={width === undefined ? undefined : { width }} />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          {columns.map(({ header, align }) => (
            <th key={header} scope="col" data-align={align}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
    </>
  );
}

function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row cannot be focused
    <tr className="sy-table-spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

function WaitingRow<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row cannot be focused
    <tr className="sy-table-waiting" aria-hidden="true">
      {columns.map(({ header, align, cardPosition: narrow }) => (
        <td key={header} data-align={align} data-narrow={narrow ?? 'none'}>
          <span />
        </td>
      ))}
    </tr>
  );
}

function BodyRow<Row>({
  row,
  index,
  columns,
  to,
}: {
  readonly row: Row;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
  readonly to: string | undefined;
}) {
  return (
    <tr aria-rowindex={index + 2} data-links={to !== undefined}>
      {columns.map(({ header, align, cardPosition: narrow, cell }, at) => (
        <td key={header} data-align={align} data-narrow={narrow ?? 'none'}>
          {at === 0 && to !== undefined ? (
            <Link className="sy-table-link" to={to}>
              {cell(row)}
            </Link>
          ) : (
            cell(row)
          )}
        </td>
      ))}
    </tr>
  );
}

/** The arrow keys move between rows and scroll the list. */
function useRowKeys(
  box: RefObject<HTMLDivElement | null>,
  scrollBy: (rows: number) => void,
): (event: KeyboardEvent) => void {
  return (event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const links = [...(box.current?.querySelectorAll<HTMLElement>('.sy-table-link') ?? [])];
    const at = links.indexOf(document.activeElement as HTMLElement);
    if (step === 0 || at === -1) return;
    event.preventDefault();
    const next = links[at + step];
    if (next === undefined) scrollBy(step);
    else next.focus();
  };
}
