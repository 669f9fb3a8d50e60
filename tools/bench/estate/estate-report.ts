// Turns the figures of an estate into the table that people read: each beside its target.

import type { BenchOptions } from '../bench-options.ts';
import type { MachineDescription } from '../environment/machine.ts';
import {
  type Figure,
  layOutTable,
  mebibytes,
  microseconds,
  milliseconds,
  perSecond,
  type Section,
  seconds,
} from '../report/report-table.ts';
import { machineLines, profileSections } from '../report/sales-report.ts';
import type { StepResult } from '../sales/fixed-rate-load.ts';
import { configurationTitles, type EstateFigures, type EstateStep } from './bench-estate.ts';
import { queryTitles } from './estate-queries.ts';

/** The targets of an estate. */
export const estateTargets = {
  searchP99Us: 20_000,
  configurationP99Us: 10_000,
  devicesPerSecond: 1000,
  /** The figures count with so many. */
  devices: 1_000_000,
  organizations: 2000,
} as const;

function errorsOf(steps: readonly StepResult[]): Figure {
  const kinds = new Map<string, number>();
  for (const [kind, count] of steps.flatMap(({ errors }) => Object.entries(errors))) {
    kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  }
  const value = [...kinds].map(([kind, count]) => `${count} × ${kind}`).join(', ') || 'none';
  return { name: 'errors', value, target: 'none', reached: kinds.size === 0 };
}

function latencies(name: string, step: EstateStep, p99MostUs: number, isWhole: boolean): Figure[] {
  return [
    {
      name: `${name}: p50`,
      value: milliseconds(step.p50Us),
    },
    {
      name: `${name}: p99`,
      value: milliseconds(step.p99Us),
      target: `under ${milliseconds(p99MostUs)}`,
      ...(isWhole ? { reached: step.p99Us < p99MostUs } : {}),
    },
    {
      name: `${name}: server, PostgreSQL`,
      value: `${microseconds(step.cpuUs.server)}, ${microseconds(step.cpuUs.postgres)}`,
    },
  ];
}

/** A smaller estate says nothing about a large one. */
const counts = ({ devices, organizations }: EstateFigures) =>
  devices >= estateTargets.devices && organizations >= estateTargets.organizations;

function searches(figures: EstateFigures, { rate }: BenchOptions): Section {
  const { searches: all } = figures;
  const isWhole = counts(figures);
  return {
    title: `Search at ${perSecond(rate)}, while devices are added`,
    figures: [
      ...all.flatMap(({ name, step }) =>
        latencies(queryTitles[name], step, estateTargets.searchP99Us, isWhole),
      ),
      errorsOf(all.map(({ step }) => step)),
      {
        name: 'devices added meanwhile',
        value: perSecond(
          all.reduce((sum, { inserts }) => sum + inserts.achievedPerSecond, 0) / all.length,
        ),
      },
      { ...errorsOf(all.map(({ inserts }) => inserts)), name: 'errors of these' },
    ],
  };
}

function listing({ listing: walk }: EstateFigures): Section {
  const zeroFigure = (name: string, count: number): Figure => ({
    name,
    value: String(count),
    target: 'none',
    reached: count === 0,
  });
  return {
    title: `A list of ${walk.before.toLocaleString('en')} devices, page by page, while others are added`,
    figures: [
      { name: 'seen', value: walk.listed.toLocaleString('en') },
      { name: 'added meanwhile', value: walk.added.toLocaleString('en') },
      zeroFigure('seen twice', walk.doubled),
      zeroFigure('missed', walk.missed),
      { name: 'time', value: `${seconds(walk.seconds)} for ${walk.pages} pages` },
    ],
  };
}

function configuration(figures: EstateFigures, { rate }: BenchOptions): Section {
  const { service, device } = figures.configuration;
  const most = estateTargets.configurationP99Us;
  const isWhole = counts(figures);
  return {
    title: `Effective configuration at a device, at ${perSecond(rate)}`,
    figures: [
      ...latencies(configurationTitles.service, service, most, isWhole),
      ...latencies(configurationTitles.device, device, most, isWhole),
      errorsOf([service, device]),
    ],
  };
}

function imports({ imported }: EstateFigures): Section {
  const { runs, linesPerSecond, devicesPerSecond, bareRowsPerSecond, cpuUs } = imported;
  const failed = runs.flatMap((run) => run.failed);
  return {
    title: 'Bulk import',
    figures: [
      { name: 'lines', value: perSecond(linesPerSecond) },
      {
        name: 'devices, each a place and its hardware',
        value: perSecond(devicesPerSecond),
        target: `at least ${perSecond(estateTargets.devicesPerSecond)}`,
        reached: devicesPerSecond >= estateTargets.devicesPerSecond,
      },
      ...runs.map((run, at) => ({
        name: `request ${at + 1}: ${run.lines.toLocaleString('en')} lines`,
        value: seconds(run.seconds),
      })),
      {
        name: 'a line: server, PostgreSQL',
        value: `${microseconds(cpuUs.server)}, ${microseconds(cpuUs.postgres)}`,
      },
      { name: 'the same rows by pg alone', value: perSecond(bareRowsPerSecond) },
      {
        name: 'lines over rows of pg alone',
        value: (linesPerSecond / bareRowsPerSecond).toFixed(2),
      },
      {
        name: 'lines that failed',
        value: failed.length === 0 ? 'none' : `${failed.length}: ${failed[0]}`,
        target: 'none',
        reached: failed.length === 0,
      },
    ],
  };
}

export function writeEstateReport(
  figures: EstateFigures,
  options: BenchOptions,
  machine: MachineDescription,
): string {
  const sections: Section[] = [
    searches(figures, options),
    listing(figures),
    configuration(figures, options),
    imports(figures),
    {
      title: 'Beside it',
      figures: [
        { name: 'filling the tables took', value: seconds(figures.fillSeconds) },
        { name: 'memory of the server, highest', value: mebibytes(figures.residentHighestMib) },
      ],
    },
  ];
  const others = Math.max(0, ...figures.searches.map(({ step }) => step.othersShare));
  const description =
    `${figures.devices.toLocaleString('en')} devices in ` +
    `${figures.organizations.toLocaleString('en')} organisations, a fifth of them in the largest; ` +
    'half of the questions go there; arrivals of a Poisson process, over TLS';
  const notes = [...machineLines(machine, others), `seed ${options.seed}`, description];
  const lines = notes.map((line) => `  ${line}\n`).join('');
  return [layOutTable(sections), ...profileSections(figures.profile), lines].join('\n');
}
