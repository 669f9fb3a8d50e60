// Turns figures into the table that people read: each beside its target.
import { bestRun } from '../baseline/sale-baseline-client.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { MachineDescription } from '../environment/machine.ts';
import type { SalesFigures, SoakFigures } from '../sales/bench-sales.ts';
import type { StatusFigures } from '../sales/bench-status.ts';
import { median } from '../sales/find-knee.ts';
import { heldDefinition } from '../sales/knee-run.ts';
import type { MeasuredStep } from '../sales/load-client.ts';
import type { ProfileLine } from './profile-report.ts';
import type { Profile } from './profile-step.ts';
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
  slopeOfPoints,
} from './report-table.ts';
import type { StatementCost } from './statement-costs.ts';

/** The targets of the platform. */
export const salesTargets = {
  kneePerSecond: 1000,
  shareOfBare: 0.5,
  p99Us: 50_000,
  serverCpuUs: 280,
  residentMib: 300,
  firstStartSeconds: 15,
  secondStartSeconds: 5,
  p99GrowthShare: 0.25,
  readsPerSale: 3,
  /** Flat: over the time of the run the line through the samples rises by at most this. */
  memoryGrowthShare: 0.05,
} as const;

const fullTablesRows = 10_000_000;
const functionsMax = 30;
/** What the bench itself and the system need, and a little more. */
const quietShare = 0.04;
const loadOfQuiet = 0.5;

export function machineLines(machine: MachineDescription, othersShare: number): string[] {
  const isLoud = othersShare > quietShare || machine.loadBefore > loadOfQuiet;
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB; ${machine.system}, Node ${machine.node}`,
    `load before the run ${machine.loadBefore.toFixed(2)}; CPU used by others: ${percent(othersShare)}`,
    ...(isLoud ? ['NOT A QUIET MACHINE: repeat this run before you believe it'] : []),
  ];
}

function conditions(
  machine: MachineDescription,
  { seed }: BenchOptions,
  step: MeasuredStep,
): string {
  const lines = [...machineLines(machine, step.othersShare), `seed ${seed}`, heldDefinition];
  return lines.map((line) => `  ${line}\n`).join('');
}

/** Per answer; the target is for sales, which alone reach the acquirer. */
function costs(title: string, step: MeasuredStep): Section {
  const { cpuUs } = step;
  const all = cpuUs.server + cpuUs.postgres + cpuUs.simulator + cpuUs.load;
  const target = {
    target: `under ${salesTargets.serverCpuUs} µs`,
    reached: cpuUs.server < salesTargets.serverCpuUs,
  };
  return {
    title,
    figures: [
      {
        name: 'server',
        value: microseconds(cpuUs.server),
        ...(step.kind === 'sales' ? target : {}),
      },
      { name: 'PostgreSQL', value: microseconds(cpuUs.postgres) },
      { name: 'acquirer simulator', value: microseconds(cpuUs.simulator) },
      { name: 'load generator', value: microseconds(cpuUs.load) },
      { name: 'all', value: microseconds(all) },
      { name: 'machine busy', value: percent(step.busyShare) },
    ],
  };
}

function speed(figures: SalesFigures): Section {
  const { kneePerSecond, barePerSecond, at70 } = figures;
  const ratio = kneePerSecond / barePerSecond;
  const callers = figures.baselineRuns.map((run) => bestRun(run).callers).join(', ');
  const knees = figures.knees.map((knee) => perSecond(knee.perSecond)).join(', ');
  return {
    title: 'Speed',
    figures: [
      {
        name: 'knee',
        value: perSecond(kneePerSecond),
        target: `at least ${perSecond(salesTargets.kneePerSecond)}`,
        reached: kneePerSecond >= salesTargets.kneePerSecond,
      },
      { name: 'knees of the rounds', value: knees || 'given' },
      { name: 'bare line', value: perSecond(barePerSecond) },
      { name: 'its best number of callers', value: callers },
      {
        name: 'knee over bare line',
        value: ratio.toFixed(2),
        target: `at least ${salesTargets.shareOfBare}`,
        reached: ratio >= salesTargets.shareOfBare,
      },
      { name: `p50 at 70 % (${perSecond(at70.ratePerSecond)})`, value: milliseconds(at70.p50Us) },
      {
        name: 'p99 at 70 %',
        value: milliseconds(at70.p99Us),
        target: `under ${milliseconds(salesTargets.p99Us)}`,
        reached: at70.p99Us < salesTargets.p99Us,
      },
      {
        name: 'p99.9, longest at 70 %',
        value: `${milliseconds(at70.p999Us)}, ${milliseconds(at70.maxUs)}`,
      },
      errorFigure('errors at 70 %', [at70]),
      errorFigure('errors while warming up', figures.warmUp),
    ],
  };
}

function errorsOf(steps: readonly MeasuredStep[]): string {
  const kinds = steps.flatMap(({ errors }) =>
    Object.entries(errors).map(([kind, count]) => `${count} × ${kind}`),
  );
  return kinds.join(', ') || 'none';
}

function errorFigure(name: string, steps: readonly MeasuredStep[]): Figure {
  const value = errorsOf(steps);
  return { name, value, target: 'none', reached: value === 'none' };
}

function startFigures({ starts }: SalesFigures): Figure[] {
  if (starts === undefined) return [];
  return [
    {
      name: 'first start, new data directory',
      value: seconds(starts.firstSeconds),
      target: `under ${salesTargets.firstStartSeconds} s`,
      reached: starts.firstSeconds < salesTargets.firstStartSeconds,
    },
    {
      name: 'second start, same directory',
      value: seconds(starts.secondSeconds),
      target: `under ${salesTargets.secondStartSeconds} s`,
      reached: starts.secondSeconds < salesTargets.secondStartSeconds,
    },
  ];
}

function soakFigures(soak: SoakFigures): Figure[] {
  const first = soak[0]?.residentMib ?? 0;
  const slope = slopeOfPoints(
    soak.map(({ minute, residentMib }) => ({ x: minute, y: residentMib })),
  );
  const growth = (slope * soak.length) / first;
  const worst = Math.max(...soak.map(({ step }) => step.p99Us));
  return [
    ...soak.map(({ minute, residentMib }) => ({
      name: `after minute ${minute}`,
      value: mebibytes(residentMib),
    })),
    { name: 'slope', value: `${slope.toFixed(2)} MiB a minute` },
    {
      name: `growth over ${soak.length} minutes`,
      value: percent(growth),
      target: `at most ${percent(salesTargets.memoryGrowthShare)}`,
      reached: growth <= salesTargets.memoryGrowthShare,
    },
    { name: 'worst p99 of a minute', value: milliseconds(worst) },
  ];
}

function memory(figures: SalesFigures): Section {
  return {
    title: 'Memory of the server process',
    figures: [
      { name: 'after 70 %', value: mebibytes(figures.residentAt70Mib) },
      {
        name: 'highest of the whole run',
        value: mebibytes(figures.residentHighestMib),
        target: `under ${salesTargets.residentMib} MiB`,
        reached: figures.residentHighestMib < salesTargets.residentMib,
      },
      ...(figures.soak === undefined ? [] : soakFigures(figures.soak)),
    ],
  };
}

function fullTables({ full }: SalesFigures): Section {
  if (full === undefined) return { title: 'Full tables', figures: [] };
  const { before, after } = full;
  const medianOf = (steps: readonly MeasuredStep[], name: 'p50Us' | 'p99Us') =>
    median(steps.map((step) => step[name]));
  const growth = medianOf(after, 'p99Us') / medianOf(before, 'p99Us') - 1;
  const beforeAndAfter = (name: 'p50Us' | 'p99Us') =>
    `${milliseconds(medianOf(before, name))}, ${milliseconds(medianOf(after, name))}`;
  return {
    title: `With ${full.rows.toLocaleString('en')} transactions in the tables, the same rate; medians of ${after.length} steps`,
    figures: [
      { name: 'p50 before, with them', value: beforeAndAfter('p50Us') },
      { name: 'p99 before, with them', value: beforeAndAfter('p99Us') },
      {
        name: 'growth of p99',
        value: percent(growth),
        target: `at most ${percent(salesTargets.p99GrowthShare)}`,
        ...(full.rows >= fullTablesRows ? { reached: growth <= salesTargets.p99GrowthShare } : {}),
      },
      {
        name: 'PostgreSQL',
        value: microseconds(median(after.map(({ cpuUs }) => cpuUs.postgres))),
      },
      errorFigure('errors', [...before, ...after]),
      { name: 'filling took', value: seconds(full.fillSeconds) },
    ],
  };
}

function profileSection(title: string, lines: ProfileLine[]): Section {
  return {
    title,
    figures: lines
      .slice(0, functionsMax)
      .map(({ name: what, share }) => ({ name: what, value: `${(share * 100).toFixed(1)} %` })),
  };
}

function statementSection(statements: StatementCost[]): Section {
  return {
    title: 'PostgreSQL, time in its statements for each request',
    figures: statements.map((each) => ({
      name: each.statement,
      value: `${microseconds(each.usEach)}`,
      target:
        `${each.callsEach.toFixed(3)} calls, ${each.rowsPerCall.toFixed(1)} rows a call, ` +
        `${each.logBytesEach.toFixed(0)} bytes of log`,
    })),
  };
}

export function profileSections(profile: Profile | undefined): string[] {
  if (profile === undefined) return [];
  return [
    layOutTable([profileSection('Server, self time by function', profile.functions)]),
    layOutTable([profileSection('Server, self time by package or file', profile.packages)]),
    layOutTable([statementSection(profile.statements)]),
  ];
}

export function writeSalesReport(
  figures: SalesFigures,
  options: BenchOptions,
  machine: MachineDescription,
): string {
  const atKnee = figures.knees.at(-1)?.step;
  const sections = [
    speed(figures),
    ...(atKnee === undefined ? [] : [costs('CPU per sale at the knee', atKnee)]),
    costs('CPU per sale at 70 %, where more of it goes into waking up', figures.at70),
    memory(figures),
    { title: 'Start, to the first answered request', figures: startFigures(figures) },
    fullTables(figures),
  ];
  const notes = `${conditions(machine, options, figures.at70)}  ${salesMeans(options)}\n`;
  return [layOutTable(sections), ...profileSections(figures.profile), notes].join('\n');
}

function salesMeans({ terminals, connections, cards }: BenchOptions): string {
  return (
    `sales: half keyed, half with chip data, captured at once; ${cards} cards, ${terminals} ` +
    `terminals, ${connections} TLS connections, arrivals of a Poisson process`
  );
}

export function writeStatusReport(
  figures: StatusFigures,
  options: BenchOptions,
  machine: MachineDescription,
): string {
  const { reads, salesPerSecond, at70 } = figures;
  const ratio = reads.perSecond / salesPerSecond;
  const sections: Section[] = [
    {
      title: 'Status reads',
      figures: [
        { name: 'knee of reads', value: perSecond(reads.perSecond) },
        { name: 'knee of sales', value: perSecond(salesPerSecond) },
        {
          name: 'reads over sales',
          value: ratio.toFixed(2),
          target: `at least ${salesTargets.readsPerSale}`,
          reached: ratio >= salesTargets.readsPerSale,
        },
        { name: `p50 at 70 % (${perSecond(at70.ratePerSecond)})`, value: milliseconds(at70.p50Us) },
        { name: 'p99 at 70 %', value: milliseconds(at70.p99Us) },
        errorFigure('errors at 70 %', [at70]),
      ],
    },
    ...(reads.step === undefined ? [] : [costs('CPU per read at the knee', reads.step)]),
    costs('CPU per read at 70 %', at70),
    {
      title: 'Memory of the server process',
      figures: [{ name: 'highest', value: mebibytes(figures.residentHighestMib) }],
    },
  ];
  const mix = 'reads: finished transactions, half by the server’s identifier, half by the client’s';
  const notes = `${conditions(machine, options, at70)}  ${mix}\n`;
  return [layOutTable(sections), ...profileSections(figures.profile), notes].join('\n');
}
