// Turns the figures of a capture of all into the table that people read: each beside its target.

import type { BenchOptions } from '../bench-options.ts';
import type { MachineDescription } from '../environment/machine.ts';
import {
  layOutTable,
  mebibytes,
  microseconds,
  milliseconds,
  percent,
  perSecond,
  type Section,
  seconds,
} from '../report/report-table.ts';
import { machineLines, profileSections } from '../report/sales-report.ts';
import { heldDefinition } from '../sales/knee-run.ts';
import type { CaptureAllFigures } from './bench-capture-all.ts';

/** The targets: so many captures in so long, and little effect on sales. */
export const captureAllGoals = {
  items: 100_000,
  captureSeconds: 90,
  p99GrowthShare: 0.2,
} as const;

const errorsOf = (figures: CaptureAllFigures) =>
  [...figures.before, ...figures.during]
    .flatMap(({ errors }) => Object.entries(errors).map(([kind, count]) => `${count} × ${kind}`))
    .join(', ') || 'none';

function captures(figures: CaptureAllFigures): Section {
  const { items, captureSeconds } = figures;
  // Fewer items have as much less time.
  const limit = (captureAllGoals.captureSeconds * items) / captureAllGoals.items;
  return {
    title: `Capture of ${items.toLocaleString('en')} authorised sales of one merchant`,
    figures: [
      {
        name: 'from the request to the end',
        value: seconds(captureSeconds),
        target: `at most ${seconds(limit)}`,
        reached: captureSeconds <= limit,
      },
      { name: 'captures', value: perSecond(items / captureSeconds) },
      {
        name: 'captured, failed',
        value: `${figures.succeeded}, ${figures.failed}`,
        target: 'none failed',
        reached: figures.succeeded === items,
      },
      { name: 'server for one capture', value: microseconds(figures.captureCpuUs) },
      { name: 'server at its highest', value: mebibytes(figures.residentHighestMib) },
    ],
  };
}

function sales(figures: CaptureAllFigures, { rate }: BenchOptions): Section {
  const { p99BeforeUs, p99DuringUs } = figures;
  const growth = p99DuringUs / p99BeforeUs - 1;
  return {
    title: `Sales beside it, ${perSecond(rate)}; medians of the steps`,
    figures: [
      { name: 'p99 before', value: milliseconds(p99BeforeUs) },
      { name: 'p99 during', value: milliseconds(p99DuringUs) },
      {
        name: 'growth',
        value: percent(growth),
        target: `at most ${percent(captureAllGoals.p99GrowthShare)}`,
        reached: growth <= captureAllGoals.p99GrowthShare,
      },
      { name: 'steps before, during', value: `${figures.before.length}, ${figures.during.length}` },
      { name: 'errors', value: errorsOf(figures) },
    ],
  };
}

export function writeCaptureAllReport(
  figures: CaptureAllFigures,
  options: BenchOptions,
  machine: MachineDescription,
): string {
  const others = Math.max(0, ...figures.during.map(({ othersShare }) => othersShare));
  const conditions = [...machineLines(machine, others), `seed ${options.seed}`, heldDefinition];
  const notes = conditions.map((line) => `  ${line}\n`).join('');
  const parts = profileSections(figures.profile);
  return [layOutTable([captures(figures), sales(figures, options)]), ...parts, notes].join('\n');
}
