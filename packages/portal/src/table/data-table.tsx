/** A list of any length: rows of one height, of which only those in sight exist, read by cursors. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useMemo,
  useRef,
  useSyncExternalStore,
} from 'react';
import { Problem } from '../components/layout/error-message.tsx';
import { useTranslate } from '../locales/index.ts';
import type { ReadPage, RowStore, RowsView } from './row-store.ts';
import { storeFor } from './row-store-cache.ts';
import { useRowsInSight } from './use-visible-rows.ts';
import './data-table.css';

export type Column<Row> = {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Of the table, as CSS has it: `9rem`, `20%`; without one it shares what is left. */
  readonly width?: string;
  readonly align?: 'end';
  /** Where it stands in the card that a row is on a phone; without one it is left out there. */
  readonly narrow?: 'lead' | 'trail' | 'sub' | 'subtrail';
};

export type DataTableProps<Row> = {
  /** Says what the list is of, to those who hear it. */
  readonly label: string;
  /** The list and its filters: another key is another list. */
  readonly listKey: readonly unknown[];
  readonly read: ReadPage<Row>;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  /** Where a row leads. */
  readonly rowTo?: ((row: Row) => string) | undefined;
  readonly empty: ReactNode;
};

export function useRowStore<Row>(key: readonly unknown[], read: ReadPage<Row>): RowStore<Row> {
  const name = JSON.stringify(key);
  // The function is another one each time; what it reads hangs on the key alone.
  const latest = useRef(read);
  latest.current = read;
  return useMemo(
    () => storeFor<Row>(name, (cursor, signal) => latest.current(cursor, signal)),
    [name],
  );
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, listKey, read, columns, rowKey, rowTo, empty } = props;
  const store = useRowStore(listKey, read);
  const view = useSyncExternalStore(store.subscribe, store.view);
  const box = useRef<HTMLDivElement>(null);
  const sight = useRowsInSight(store, view, box);
  const { first, last, before, after } = sight;
  const onKeyDown = useRowKeys(box, sight.scrollBy);
  if (view.count === 0 && view.fault !== undefined) {
    return (
      <div className="sy-table-state">
        <Problem fault={view.fault} onRetry={store.retry} />
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
        // Rows that lead nowhere hold nothing that can be reached: the box is scrolled itself then.
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
        <Problem fault={view.fault} onRetry={store.retry} />
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
        {columns.map(({ id, width }) => (
          <col key={id} style={width === undefined ? undefined : { width }} />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          {columns.map(({ id, header, align }) => (
            <th key={id} scope="col" data-align={align}>
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
      {columns.map(({ id, align, narrow }) => (
        <td key={id} data-align={align} data-narrow={narrow ?? 'none'}>
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
      {columns.map(({ id, align, narrow, cell }, at) => (
        <td key={id} data-align={align} data-narrow={narrow ?? 'none'}>
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

/** Up and down move among the rows, and the list goes along. */
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
