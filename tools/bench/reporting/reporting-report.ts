// Turns the figures of the reports into the table that people read: each beside its target.

import type { BenchOptions } from '../bench-options.ts';
import type { MachineDescription } from '../environment/machine.ts';
import {
  type Figure,
  layOutTable,
  mebibytes,
  microseconds,
  milliseconds,
  percent,
  perSecond,
  type Section,
  seconds,
} from '../report/report-table.ts';
import { machineLines } from '../report/sales-report.ts';
import type { StepResult } from '../sales/fixed-rate-load.ts';
import type { ReportFigures, ReportStep } from './bench-reporting.ts';
import { days, merchants } from './reporting-plan.ts';

/** The targets of the reports. */
export const reportTargets = {
  searchP99Us: 50_000,
  summaryP99Us: 100_000,
  exportedPerSecond: 40_000,
  /** Flat: what an export of a million rows may add to the memory of the server. */
  exportGrowthMib: 64,
  /** The figures count with so many. */
  rows: 10_000_000,
} as const;

function errorsOf(steps: readonly StepResult[]): Figure {
  const kinds = new Map<string, number>();
  for (const [kind, count] of steps.flatMap(({ errors }) => Object.entries(errors))) {
    kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  }
  const value = [...kinds].map(([kind, count]) => `${count} × ${kind}`).join(', ') || 'none';
  return { name: 'errors', value, target: 'none', reached: kinds.size === 0 };
}

function latencies(name: string, step: ReportStep, mostUs: number, isWhole: boolean): Figure[] {
  return [
    { name: `${name}: p50`, value: milliseconds(step.p50Us) },
    {
      name: `${name}: p99`,
      value: milliseconds(step.p99Us),
      target: `under ${milliseconds(mostUs)}`,
      ...(isWhole ? { reached: step.p99Us < mostUs } : {}),
    },
    {
      name: `${name}: server, PostgreSQL`,
      value: `${microseconds(step.cpuUs.server)}, ${microseconds(step.cpuUs.postgres)}`,
    },
  ];
}

function exportSection(exported: ReportFigures['exported'], isWhole: boolean): Section {
  const growthMib = exported.residentHighestMib - exported.residentBeforeMib;
  return {
    title: `An export of ${exported.rows.toLocaleString('en')} payments as CSV`,
    figures: [
      {
        name: 'written',
        value: perSecond(exported.rowsPerSecond),
        target: `at least ${perSecond(reportTargets.exportedPerSecond)}`,
        ...(isWhole ? { reached: exported.rowsPerSecond >= reportTargets.exportedPerSecond } : {}),
      },
      {
        name: 'memory of the server, growth',
        value: mebibytes(growthMib),
        target: `at most ${mebibytes(reportTargets.exportGrowthMib)}`,
        ...(isWhole ? { reached: growthMib <= reportTargets.exportGrowthMib } : {}),
      },
      { name: 'length', value: mebibytes(exported.bytes / 2 ** 20) },
    ],
  };
}

export function writeReportingReport(
  figures: ReportFigures,
  options: BenchOptions,
  machine: MachineDescription,
): string {
  const isWhole = figures.rows >= reportTargets.rows;
  const { search, summaries, pages, wrongSums, exported } = figures;
  const incompleteShare = pages.incomplete / Math.max(1, pages.whole + pages.incomplete);
  const sections: Section[] = [
    {
      title: `Search at ${perSecond(options.rate)}`,
      figures: [
        ...latencies('any two filters', search, reportTargets.searchP99Us, isWhole),
        { name: 'pages that are short and lead on', value: percent(incompleteShare) },
        errorsOf([search]),
      ],
    },
    {
      title: `Summaries of a day at ${perSecond(options.rate)}`,
      figures: [
        ...summaries.flatMap(({ name, step }) =>
          latencies(`by ${name}`, step, reportTargets.summaryP99Us, isWhole),
        ),
        errorsOf(summaries.map(({ step }) => step)),
        {
          name: 'sums that differ from a scan over all payments',
          value: wrongSums.length === 0 ? 'none' : wrongSums.join(', '),
          target: 'none',
          reached: wrongSums.length === 0,
        },
      ],
    },
    exportSection(exported, isWhole),
    {
      title: 'Beside it',
      figures: [
        { name: 'payments read in bulk', value: perSecond(figures.scanRowsPerSecond) },
        { name: 'filling the tables took', value: seconds(figures.fillSeconds) },
        { name: 'memory of the server, highest', value: mebibytes(figures.residentHighestMib) },
      ],
    },
  ];
  const others = Math.max(
    0,
    ...[search, ...summaries.map(({ step }) => step)].map((each) => each.othersShare),
  );
  const description =
    `${figures.rows.toLocaleString('en')} payments of ${merchants} merchants over ${days} days; ` +
    'arrivals of a Poisson process, over TLS';
  const notes = [...machineLines(machine, others), `seed ${options.seed}`, description];
  return [layOutTable(sections), notes.map((line) => `  ${line}\n`).join('')].join('\n');
}
