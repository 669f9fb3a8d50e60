// The figures of sales and of reads, and their sections of the report.
import type { BaselineRun } from '../baseline/sale-baseline-process.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { StartTimes } from '../environment/measure-npm-start.ts';
import type { Profile } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import {
  errorFigure,
  type Figure,
  figure,
  milliseconds,
  perSecond,
  type Section,
  slopeOfPoints,
} from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import { median } from './find-knee.ts';
import { heldDefinition, type KneeResult } from './knee-run.ts';
import type { MeasuredStep } from './load-generator.ts';

export type SoakFigures = { minute: number; residentMib: number; step: MeasuredStep }[];
export type FullTablesFigures = {
  rows: number;
  fillSeconds: number;
  before: MeasuredStep[];
  after: MeasuredStep[];
};

export type SalesFigures = {
  starts?: StartTimes;
  warmUp: MeasuredStep[];
  baselineRuns: BaselineRun[];
  knees: KneeResult[];
  /** Medians, sales a second. */
  kneePerSecond: number;
  barePerSecond: number;
  at70: MeasuredStep;
  residentAt70Mib: number;
  residentHighestMib: number;
  /** The same steps before the tables were filled, and after. */
  full?: FullTablesFigures;
  soak?: SoakFigures;
  profile?: Profile;
};

export type StatusFigures = {
  salesPerSecond: number;
  reads: KneeResult;
  at70: MeasuredStep;
  residentHighestMib: number;
  profile?: Profile;
};

export function bestRun(run: BaselineRun): BaselineRun[number] {
  return run.reduce((best, each) => (each.salesPerSecond > best.salesPerSecond ? each : best));
}

const fullTablesRows = 10_000_000;

/** Per answer; the target is for sales, which alone reach the acquirer. */
function costs(title: string, { kind, cpuUs, busyShare }: MeasuredStep): Section {
  const all = cpuUs.server + cpuUs.postgres + cpuUs.simulator + cpuUs.load;
  const target = kind === 'sales' ? { under: targets.serverCpuUs } : undefined;
  return {
    title,
    figures: [
      figure('server', cpuUs.server, 'microseconds', target),
      figure('PostgreSQL', cpuUs.postgres, 'microseconds'),
      figure('acquirer simulator', cpuUs.simulator, 'microseconds'),
      figure('load generator', cpuUs.load, 'microseconds'),
      figure('all', all, 'microseconds'),
      figure('machine busy', busyShare, 'percent'),
    ],
  };
}

function speed(figures: SalesFigures): Section {
  const { kneePerSecond, barePerSecond, baselineRuns, at70 } = figures;
  const knees = figures.knees.map((knee) => perSecond(knee.perSecond)).join(', ');
  const callers = baselineRuns.map((run) => bestRun(run).callers).join(', ');
  const share = kneePerSecond / barePerSecond;
  return {
    title: 'Speed',
    figures: [
      figure('knee', kneePerSecond, 'perSecond', { atLeast: targets.kneePerSecond }),
      { label: 'knees of the rounds', value: knees || 'given' },
      figure('baseline', barePerSecond, 'perSecond'),
      { label: 'its best number of callers', value: callers },
      figure('knee relative to baseline', share, 'ratio', { atLeast: targets.ratioToBaseline }),
      figure(`p50 at 70 % (${perSecond(at70.ratePerSecond)})`, at70.p50Us, 'milliseconds'),
      figure('p99 at 70 %', at70.p99Us, 'milliseconds', { under: targets.p99Us }),
      {
        label: 'p99.9, longest at 70 %',
        value: `${milliseconds(at70.p999Us)}, ${milliseconds(at70.maxUs)}`,
      },
      errorFigure('errors at 70 %', [at70]),
      errorFigure('errors while warming up', figures.warmUp),
    ],
  };
}

const startFigures = ({ firstSeconds, secondSeconds }: StartTimes): Figure[] => [
  figure('first start, new data directory', firstSeconds, 'seconds', {
    under: targets.firstStartSeconds,
  }),
  figure('second start, same directory', secondSeconds, 'seconds', {
    under: targets.secondStartSeconds,
  }),
];

function soakFigures(soak: SoakFigures): Figure[] {
  const first = soak[0]?.residentMib ?? 0;
  const points = soak.map(({ minute, residentMib }) => ({ x: minute, y: residentMib }));
  const slope = slopeOfPoints(points);
  const growth = (slope * soak.length) / first;
  const worst = Math.max(...soak.map(({ step }) => step.p99Us));
  return [
    ...soak.map(({ minute, residentMib }) =>
      figure(`after minute ${minute}`, residentMib, 'mebibytes'),
    ),
    { label: 'slope', value: `${slope.toFixed(2)} MiB a minute` },
    figure(`growth over ${soak.length} minutes`, growth, 'percent', {
      atMost: targets.memoryGrowthShare,
    }),
    figure('worst p99 of a minute', worst, 'milliseconds'),
  ];
}

function memory({ residentAt70Mib, residentHighestMib, soak = [] }: SalesFigures): Section {
  const target = { under: targets.residentMib };
  return {
    title: 'Memory of the server process',
    figures: [
      figure('after 70 %', residentAt70Mib, 'mebibytes'),
      figure('highest of the whole run', residentHighestMib, 'mebibytes', target),
      ...(soak.length === 0 ? [] : soakFigures(soak)),
    ],
  };
}

function fullTables({ rows, fillSeconds, before, after }: FullTablesFigures): Section {
  const medianOf = (steps: readonly MeasuredStep[], name: 'p50Us' | 'p99Us') =>
    median(steps.map((step) => step[name]));
  const growth = medianOf(after, 'p99Us') / medianOf(before, 'p99Us') - 1;
  const beforeAndAfter = (name: 'p50Us' | 'p99Us') =>
    `${milliseconds(medianOf(before, name))}, ${milliseconds(medianOf(after, name))}`;
  const postgresUs = median(after.map(({ cpuUs }) => cpuUs.postgres));
  const target = { atMost: targets.p99GrowthShare, isJudged: rows >= fullTablesRows };
  return {
    title: `With ${rows.toLocaleString('en')} transactions in the tables, the same rate; medians of ${after.length} steps`,
    figures: [
      { label: 'p50 before, with them', value: beforeAndAfter('p50Us') },
      { label: 'p99 before, with them', value: beforeAndAfter('p99Us') },
      figure('growth of p99', growth, 'percent', target),
      figure('PostgreSQL', postgresUs, 'microseconds'),
      errorFigure('errors', [...before, ...after]),
      figure('filling took', fillSeconds, 'seconds'),
    ],
  };
}

export function reportSales(
  figures: SalesFigures,
  { terminals, connections, cards }: BenchOptions,
): BenchResult {
  const { at70, starts, full, knees } = figures;
  const atKnee = knees.at(-1)?.step;
  return {
    figures,
    profile: figures.profile,
    sections: [
      speed(figures),
      ...(atKnee ? [costs('CPU per sale at the knee', atKnee)] : []),
      costs('CPU per sale at 70 %, where more of it goes into waking up', at70),
      memory(figures),
      {
        title: 'Start, to the first answered request',
        figures: starts ? startFigures(starts) : [],
      },
      ...(full ? [fullTables(full)] : []),
    ],
    othersShare: at70.othersShare,
    notes: [
      heldDefinition,
      `sales: half keyed, half with chip data, captured at once; ${cards} cards, ${terminals} ` +
        `terminals, ${connections} TLS connections, arrivals of a Poisson process`,
    ],
  };
}

export function reportStatus(figures: StatusFigures): BenchResult {
  const { reads, salesPerSecond, at70, residentHighestMib } = figures;
  const share = reads.perSecond / salesPerSecond;
  return {
    figures,
    profile: figures.profile,
    sections: [
      {
        title: 'Status reads',
        figures: [
          figure('knee of reads', reads.perSecond, 'perSecond'),
          figure('knee of sales', salesPerSecond, 'perSecond'),
          figure('reads over sales', share, 'ratio', { atLeast: targets.readsPerSale }),
          figure(`p50 at 70 % (${perSecond(at70.ratePerSecond)})`, at70.p50Us, 'milliseconds'),
          figure('p99 at 70 %', at70.p99Us, 'milliseconds'),
          errorFigure('errors at 70 %', [at70]),
        ],
      },
      ...(reads.step ? [costs('CPU per read at the knee', reads.step)] : []),
      costs('CPU per read at 70 %', at70),
      {
        title: 'Memory of the server process',
        figures: [figure('highest', residentHighestMib, 'mebibytes')],
      },
    ],
    othersShare: at70.othersShare,
    notes: [
      heldDefinition,
      'reads: finished transactions, half by the server’s identifier, half by the client’s',
    ],
  };
}
