// Formats a ledger as aligned tables.
import { alphaOf, formatAmount } from '@switchyard/money';
import type { LedgerReport } from './read-ledger.ts';

type Column<Row> = { title: string; right?: boolean; cell: (row: Row) => string };

function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const cells = rows.map((row) => columns.map((column) => column.cell(row)));
  const grid = [columns.map(({ title }) => title), ...cells];
  const widths = columns.map((_, index) => Math.max(...grid.map((row) => row[index]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    columns
      .map(({ right }, index) => {
        const text = row[index] ?? '';
        const width = widths[index] ?? 0;
        return right === true ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width));
  return [line(grid[0] ?? []), line(rule), ...cells.map(line)];
}

/** An amount with its decimals; an unknown currency stays in minor units. */
function money(minor: number, currency: string): string {
  const alpha = alphaOf(currency);
  return alpha === undefined ? `${minor} (${currency})` : formatAmount(minor, alpha);
}

type TotalsRow = LedgerReport['totals'][number];
type OriginalRow = LedgerReport['originals'][number];

const totalsColumns: Column<TotalsRow>[] = [
  { title: 'merchant', cell: (row) => row.merchant },
  { title: 'open holds', right: true, cell: (row) => money(row.openHolds, row.currency) },
  { title: 'captured', right: true, cell: (row) => money(row.captured, row.currency) },
  { title: 'refunded', right: true, cell: (row) => money(row.refunded, row.currency) },
  { title: 'net', right: true, cell: (row) => money(row.net, row.currency) },
  { title: 'reversed', right: true, cell: (row) => money(row.reversed, row.currency) },
  { title: 'approvals', right: true, cell: (row) => String(row.approvals) },
  { title: 'declines', right: true, cell: (row) => String(row.declines) },
  { title: 'captures', right: true, cell: (row) => String(row.captures) },
  { title: 'refunds', right: true, cell: (row) => String(row.refunds) },
  { title: 'reversals', right: true, cell: (row) => String(row.reversals) },
];

const originalColumns: Column<OriginalRow>[] = [
  { title: 'terminal', cell: (row) => row.terminal },
  { title: 'rrn', cell: (row) => row.rrn },
  { title: 'kind', cell: (row) => row.kind },
  { title: 'card', cell: (row) => row.pan },
  { title: 'code', cell: (row) => row.code },
  { title: 'approval', cell: (row) => row.approval },
  { title: 'approved', right: true, cell: (row) => money(row.approved, row.currency) },
  { title: 'open', right: true, cell: (row) => money(row.held - row.captured, row.currency) },
  { title: 'captured', right: true, cell: (row) => money(row.captured, row.currency) },
  { title: 'refunded', right: true, cell: (row) => money(row.refunded, row.currency) },
];

/**
 * The lines of a ledger: originals, totals by merchant and currency, and faults.
 *
 * @param report what {@link readLedger} found
 * @param originalsMax how many of the latest originals to list
 */
export function formatLedger(report: LedgerReport, originalsMax: number): string {
  const listed = report.originals.slice(-originalsMax);
  const omitted = report.originals.length - listed.length + report.originalsLeftOut;
  const lines = [
    ...table(originalColumns, listed),
    ...(omitted > 0 ? [`(${omitted} older ones left out)`] : []),
    '',
    ...table(totalsColumns, report.totals),
    '',
    `${report.entries} entries, ${report.faults.length === 0 ? 'in balance' : 'NOT in balance:'}`,
    ...report.faults.map((fault) => `  ${fault}`),
  ];
  return `${lines.join('\n')}\n`;
}
