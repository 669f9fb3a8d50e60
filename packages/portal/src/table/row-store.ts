/**
 * The rows of a list with cursor paging. Pages are loaded while scrolling, and the least recently
 * used pages are dropped; their cursors are kept for reloading.
 */
export type RowsPage<Row> = { readonly items: readonly Row[]; readonly nextCursor: string | null };

export type ReadPage<Row> = (
  cursor: string | undefined,
  signal: AbortSignal,
) => Promise<RowsPage<Row>>;

export type RowsView = {
  /** The number of known rows, loaded or dropped. */
  readonly count: number;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly fault: unknown;
  /** Increases with each change, so that React detects it. */
  readonly version: number;
};

export type RowStore<Row> = {
  view(): RowsView;
  rowAt(index: number): Row | undefined;
  /** Loads these rows if they are missing. */
  ensureLoaded(first: number, last: number): void;
  retry(): void;
  /** Reloads the list, for example after a change. */
  reload(): void;
  subscribe(listener: () => void): () => void;
  scrollTop: number;
};

type LoadedPage = {
  readonly cursor: string | undefined;
  readonly start: number;
  readonly count: number;
};

/** 40 pages of 200 rows need a few megabytes. */
const maxPagesHeld = 40;
/** The next page is requested this number of rows before the end. */
const aheadRows = 100;

export function createRowStore<Row>(read: ReadPage<Row>): RowStore<Row> {
  const listeners = new Set<() => void>();
  /** In the order of last use. */
  const heldPages = new Map<number, readonly Row[]>();
  const underWay = new Map<number, AbortController>();
  let knownPages: LoadedPage[] = [];
  let next: string | null | undefined;
  let fault: unknown;
  let run = 0;
  let view: RowsView = { count: 0, hasMore: true, isLoading: true, fault: undefined, version: 0 };

  function countNow(): number {
    const last = knownPages.at(-1);
    return last === undefined ? 0 : last.start + last.count;
  }

  function notify(): void {
    view = {
      count: countNow(),
      hasMore: next !== null,
      isLoading: underWay.size > 0,
      fault,
      version: view.version + 1,
    };
    for (const listener of listeners) listener();
  }

  /** Binary search, because there may be thousands of pages. */
  function pageOf(index: number): number {
    let low = 0;
    let high = knownPages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((knownPages[middle]?.start ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  function holdPage(page: number, rows: readonly Row[]): void {
    heldPages.delete(page);
    heldPages.set(page, rows);
    for (const oldest of heldPages.keys()) {
      if (heldPages.size <= maxPagesHeld) break;
      heldPages.delete(oldest);
    }
  }

  function load(page: number, cursor: string | undefined): void {
    if (underWay.has(page) || fault !== undefined) return;
    const control = new AbortController();
    const requestedRun = run;
    underWay.set(page, control);
    notify();
    read(cursor, control.signal).then(
      ({ items, nextCursor }) => {
        if (requestedRun !== run) return;
        underWay.delete(page);
        if (page === knownPages.length) {
          knownPages.push({ cursor, start: countNow(), count: items.length });
          next = nextCursor;
        }
        holdPage(page, items);
        notify();
      },
      (error: unknown) => {
        if (requestedRun !== run) return;
        underWay.delete(page);
        fault = error;
        notify();
      },
    );
  }

  function loadNext(): void {
    if (next !== null) load(knownPages.length, next);
  }

  return {
    view: () => view,
    scrollTop: 0,
    rowAt(index) {
      const page = knownPages[pageOf(index)];
      return page === undefined ? undefined : heldPages.get(pageOf(index))?.[index - page.start];
    },
    ensureLoaded(first, last) {
      if (knownPages.length === 0) {
        loadNext();
        return;
      }
      for (let page = pageOf(first); page <= pageOf(last); page += 1) {
        const rows = heldPages.get(page);
        if (rows !== undefined) holdPage(page, rows);
        else load(page, knownPages[page]?.cursor);
      }
      if (last >= countNow() - aheadRows) loadNext();
    },
    retry() {
      fault = undefined;
      if (knownPages.length === 0 || next !== null) loadNext();
      notify();
    },
    reload() {
      run += 1;
      for (const control of underWay.values()) control.abort();
      underWay.clear();
      heldPages.clear();
      knownPages = [];
      next = undefined;
      fault = undefined;
      loadNext();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
