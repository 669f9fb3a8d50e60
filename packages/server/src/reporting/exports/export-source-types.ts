// The interface of a report for exports: it checks filters, and reads lines from a position.
import type { ExportReport, Settlement } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { ScannedPayment } from '../search/scan-payments.ts';
import type { Column } from './export-columns.ts';
import type { Owner } from './export-sql.ts';

export type Filters = Readonly<Record<string, unknown>>;

export type ExportSource<Item> = {
  readonly columns: readonly Column<Item>[];
  /** @throws Refusal with the same errors as the list of the report */
  check(caller: Caller, filters: Filters): void;
  /**
   * Reads a page in a fixed order. `next` is the position of the next page, and absent on the last
   * page. Payments that were created after `asOf` are excluded.
   */
  read(
    owner: Owner & { readonly asOf: string },
    filters: Filters,
    page: { readonly limit: number; readonly after: string | undefined },
  ): Promise<{ readonly items: readonly Item[]; readonly next?: string | undefined }>;
};

export type ExportSources = {
  readonly [Report in ExportReport]: ExportSource<LineOf[Report]>;
};

type LineOf = { transactions: ScannedPayment; settlements: Settlement };
