// The figures of the reports, and their sections of the report.
import type { BenchOptions } from '../bench-options.ts';
import type { BenchResult } from '../report/report.ts';
import {
  errorFigure,
  figure,
  grouped,
  latencyFigures,
  noneFigure,
  perSecond,
  type Section,
} from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import type { CostedStep } from '../sales/measured-step.ts';
import { days, merchants } from './payment-mix.ts';
import type { ExportFigures } from './reporting-export.ts';

export type ReportFigures = {
  rows: number;
  fillSeconds: number;
  search: CostedStep;
  /** Pages that were full or the last, and pages that were short and had a next page. */
  pages: { whole: number; incomplete: number };
  summaries: { name: string; step: CostedStep }[];
  /** Currencies whose sums are not those of a scan over all payments. */
  wrongSums: string[];
  scanRowsPerSecond: number;
  exported: ExportFigures;
  residentHighestMib: number;
};

function exportSection(exported: ExportFigures, isLarge: boolean): Section {
  const growthMib = exported.residentHighestMib - exported.residentBeforeMib;
  const speed = { atLeast: targets.reporting.exportedPerSecond, isJudged: isLarge };
  const growth = { atMost: targets.reporting.exportGrowthMib, isJudged: isLarge };
  return {
    title: `An export of ${grouped(exported.rows)} payments as CSV`,
    figures: [
      figure('written', exported.rowsPerSecond, 'perSecond', speed),
      figure('memory of the server, growth', growthMib, 'mebibytes', growth),
      figure('length', exported.bytes / 2 ** 20, 'mebibytes'),
    ],
  };
}

export function reportReporting(figures: ReportFigures, { rate }: BenchOptions): BenchResult {
  const { search, summaries, pages, wrongSums, exported, rows } = figures;
  const isLarge = rows >= targets.reporting.rows;
  const searchTarget = { under: targets.reporting.searchP99Us, isJudged: isLarge };
  const summaryTarget = { under: targets.reporting.summaryP99Us, isJudged: isLarge };
  const incompleteShare = pages.incomplete / Math.max(1, pages.whole + pages.incomplete);
  const steps = summaries.map(({ step }) => step);
  return {
    figures,
    sections: [
      {
        title: `Search at ${perSecond(rate)}`,
        figures: [
          ...latencyFigures('any two filters', search, searchTarget),
          figure('pages that are short and lead on', incompleteShare, 'percent'),
          errorFigure('errors', [search]),
        ],
      },
      {
        title: `Summaries of a day at ${perSecond(rate)}`,
        figures: [
          ...summaries.flatMap(({ name, step }) =>
            latencyFigures(`by ${name}`, step, summaryTarget),
          ),
          errorFigure('errors', steps),
          noneFigure(
            'sums that differ from a scan over all payments',
            wrongSums.length,
            wrongSums.join(', ') || 'none',
          ),
        ],
      },
      exportSection(exported, isLarge),
      {
        title: 'Beside it',
        figures: [
          figure('payments read in bulk', figures.scanRowsPerSecond, 'perSecond'),
          figure('filling the tables took', figures.fillSeconds, 'seconds'),
          figure('memory of the server, highest', figures.residentHighestMib, 'mebibytes'),
        ],
      },
    ],
    othersShare: Math.max(0, search.othersShare, ...steps.map((each) => each.othersShare)),
    notes: [
      `${grouped(rows)} payments of ${merchants} merchants over ${days} days; ` +
        'arrivals of a Poisson process, over TLS',
    ],
  };
}
