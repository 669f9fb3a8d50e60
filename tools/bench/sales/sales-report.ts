// The figures of sales and of reads, and their sections of the report.
import { bestRuns, type CallersRun } from '../baseline/measure-callers.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { StartTimes } from '../environment/measure-npm-start.ts';
import type { Profile } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import {
  errorFigure,
  type Figure,
  figure,
  microseconds,
  milliseconds,
  perSecond,
  type Section,
  slopeOfPoints,
  type Target,
} from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import { median } from './find-knee.ts';
import { heldDefinition, type KneeResult } from './knee-run.ts';
import type { MeasuredStep } from './load-generator.ts';
import { compareWithGoals } from './sales-goals.ts';

export type SoakFigures = { minute: number; residentMib: number; step: MeasuredStep }[];
export type FullTablesFigures = {
  rows: number;
  fillSeconds: number;
  before: MeasuredStep[];
  after: MeasuredStep[];
};

export type ProcessesFigures = {
  processes: number;
  /** One process before and after the steps of several, at the same total rate. */
  one: MeasuredStep[];
  several: MeasuredStep[];
};

export type SalesFigures = {
  starts?: StartTimes;
  warmUp: MeasuredStep[];
  baselineRuns: CallersRun[][];
  fixedRuns: CallersRun[][];
  bareServer: { knees: KneeResult[]; at70: MeasuredStep; walBytesPerSale: number };
  knees: KneeResult[];
  /** Medians, sales a second. */
  kneePerSecond: number;
  barePerSecond: number;
  at70: MeasuredStep;
  walBytesPerSale: number;
  residentAt70Mib: number;
  residentHighestMib: number;
  processes?: ProcessesFigures;
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

const saleTarget: Target = { under: targets.serverCpuUs };

/** Per answer. */
function costs(title: string, { cpuUs, busyShare }: MeasuredStep, target?: Target): Section {
  const all = cpuUs.server + cpuUs.postgres + cpuUs.simulator + cpuUs.load;
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

const listKnees = (knees: readonly KneeResult[]) =>
  knees.map((knee) => perSecond(knee.perSecond)).join(', ') || 'given';
const medianKnee = (knees: readonly KneeResult[]) =>
  median(knees.map(({ perSecond: rate }) => rate));

function speed(figures: SalesFigures): Section {
  const { kneePerSecond, barePerSecond, baselineRuns, at70 } = figures;
  const share = kneePerSecond / barePerSecond;
  return {
    title: 'Speed',
    figures: [
      figure('knee', kneePerSecond, 'perSecond', { atLeast: targets.kneePerSecond }),
      { label: 'knees of the rounds', value: listKnees(figures.knees) },
      figure('baseline', barePerSecond, 'perSecond'),
      { label: 'its best number of callers', value: listCallers(baselineRuns) },
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

const listCallers = (rounds: readonly CallersRun[][]) =>
  bestRuns(rounds)
    .map(({ callers }) => callers)
    .join(', ');

function fixedLineMedians({ fixedRuns }: SalesFigures) {
  const runs = bestRuns(fixedRuns);
  return {
    perSecond: median(runs.map(({ salesPerSecond }) => salesPerSecond)),
    clientUs: median(runs.map(({ cpuUs }) => cpuUs.server)),
    postgresUs: median(runs.map(({ cpuUs }) => cpuUs.postgres)),
  };
}

function fixedLine(figures: SalesFigures): Section {
  const { perSecond: rate, clientUs, postgresUs } = fixedLineMedians(figures);
  return {
    title: 'Fixed line: two minimal commits per sale, without the platform',
    figures: [
      figure('highest rate', rate, 'perSecond'),
      { label: 'its best number of connections', value: listCallers(figures.fixedRuns) },
      figure('CPU of PostgreSQL per sale', postgresUs, 'microseconds'),
      figure('CPU of the client per sale', clientUs, 'microseconds'),
    ],
  };
}

function bareServer({ knees, at70, walBytesPerSale }: SalesFigures['bareServer']): Section[] {
  const atKnee = knees.at(-1)?.step;
  const rate = perSecond(at70.ratePerSecond);
  return [
    {
      title: 'Bare server: Fastify, two minimal commits and one exchange with the acquirer',
      figures: [
        ...(knees.length === 0 ? [] : [figure('knee', medianKnee(knees), 'perSecond')]),
        { label: 'knees of the rounds', value: listKnees(knees) },
        figure(`p50 at ${rate}`, at70.p50Us, 'milliseconds'),
        figure(`p99 at ${rate}`, at70.p99Us, 'milliseconds'),
        figure(`write-ahead log per sale at ${rate}`, walBytesPerSale, 'bytes'),
        errorFigure(`errors at ${rate}`, [at70]),
      ],
    },
    ...(atKnee ? [costs('CPU per sale of the bare server at its knee', atKnee)] : []),
    costs(`CPU per sale of the bare server at ${rate}`, at70),
  ];
}

function goals(figures: SalesFigures) {
  const { knees, at70, kneePerSecond, walBytesPerSale, residentHighestMib } = figures;
  const kneeSteps = knees.flatMap(({ step }) => step ?? []);
  return compareWithGoals({
    kneePerSecond,
    fixedLine: fixedLineMedians(figures),
    postgresUsAtKnee: median(kneeSteps.map(({ cpuUs }) => cpuUs.postgres)) || undefined,
    bareServerKneePerSecond: medianKnee(figures.bareServer.knees) || undefined,
    at70: { platform: at70, bareServer: figures.bareServer.at70 },
    walBytesPerSale,
    allocatedBytesPerSale: figures.profile?.allocatedBytesEach,
    residentHighestMib,
  });
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
  const cpuOf = (steps: readonly MeasuredStep[]) =>
    median(steps.map(({ cpuUs }) => cpuUs.server + cpuUs.postgres));
  const goal = targets.fullTables;
  const isJudged = rows >= goal.rows;
  return {
    title: `With ${rows.toLocaleString('en')} transactions in the tables, the same rate; medians of ${after.length} steps`,
    figures: [
      { label: 'p50 before, with them', value: beforeAndAfter('p50Us') },
      { label: 'p99 before, with them', value: beforeAndAfter('p99Us') },
      figure('growth of p99', growth, 'percent', { atMost: goal.p99GrowthShare, isJudged }),
      figure('growth of CPU, server and PostgreSQL', cpuOf(after) / cpuOf(before) - 1, 'percent', {
        atMost: goal.cpuGrowthShare,
        isJudged,
      }),
      figure('PostgreSQL', postgresUs, 'microseconds'),
      errorFigure('errors', [...before, ...after]),
      figure('filling took', fillSeconds, 'seconds'),
    ],
  };
}

function severalProcesses({ processes, one, several }: ProcessesFigures): Section {
  const medians = (name: 'server' | 'postgres') =>
    [one, several].map((steps) => median(steps.map(({ cpuUs }) => cpuUs[name])));
  const oneAndSeveral = (values: readonly number[]) => values.map(microseconds).join(', ');
  const [server = [], postgres = []] = [medians('server'), medians('postgres')];
  const sumOf = (index: number) => (server[index] ?? 0) + (postgres[index] ?? 0);
  return {
    title: `${processes} server processes on one database and one process, the same total rate; medians`,
    figures: [
      { label: 'CPU of the servers per sale, one, several', value: oneAndSeveral(server) },
      { label: 'CPU of PostgreSQL per sale, one, several', value: oneAndSeveral(postgres) },
      figure('growth of CPU, server and PostgreSQL', sumOf(1) / sumOf(0) - 1, 'percent', {
        atMost: targets.processesCpuGrowthShare,
      }),
      {
        label: 'p99, one, several',
        value: [one, several]
          .map((steps) => milliseconds(median(steps.map(({ p99Us }) => p99Us))))
          .join(', '),
      },
      errorFigure('errors', [...one, ...several]),
    ],
  };
}

export function reportSales(
  figures: SalesFigures,
  { terminals, connections, cards }: BenchOptions,
): BenchResult {
  const { at70, starts, processes, full, knees } = figures;
  const atKnee = knees.at(-1)?.step;
  const { results, section } = goals(figures);
  return {
    figures: { ...figures, goals: results },
    profile: figures.profile,
    sections: [
      speed(figures),
      ...(atKnee ? [costs('CPU per sale at the knee', atKnee, saleTarget)] : []),
      costs('CPU per sale at 70 %, where more of it goes into waking up', at70, saleTarget),
      fixedLine(figures),
      ...bareServer(figures.bareServer),
      section,
      memory(figures),
      {
        title: 'Start, to the first answered request',
        figures: starts ? startFigures(starts) : [],
      },
      ...(processes ? [severalProcesses(processes)] : []),
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
