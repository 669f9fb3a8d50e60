// The interface of a report for exports: it checks filters, and reads lines from a position.
import type { ExportReport, Settlement } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { ScannedPayment } from '../search/scan-payments.ts';
import type { Column } from './export-columns.ts';
import type { ExportScope } from './export-sql.ts';

export type ExportFilters = Readonly<Record<string, unknown>>;

export type ExportSource<Item> = {
  readonly columns: readonly Column<Item>[];
  /** @throws ProblemError with the same errors as the list of the report */
  check(caller: Caller, filters: ExportFilters): void;
  /**
   * Reads a page in a fixed order. `next` is the position of the next page, and absent on the last
   * page. Payments that were created after `asOf` are excluded.
   */
  read(
    owner: ExportScope & { readonly asOf: string },
    filters: ExportFilters,
    page: { readonly limit: number; readonly after: string | undefined },
  ): Promise<{ readonly items: readonly Item[]; readonly next?: string | undefined }>;
};

export type ExportSources = {
  readonly [Report in ExportReport]: ExportSource<ItemOfReport[Report]>;
};

type ItemOfReport = { transactions: ScannedPayment; settlements: Settlement };
