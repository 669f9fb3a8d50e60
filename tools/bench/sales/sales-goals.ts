// The goals of sales: figures of the platform relative to the fixed line and the bare server of the same run.
import { figure, type Section, type Target } from '../report/report-table.ts';
import { targets } from '../report/targets.ts';

/** `undefined` where the run did not measure it. */
export type GoalFigures = {
  kneePerSecond: number;
  fixedLine: { perSecond: number; postgresUs: number };
  /** The fixed line also runs at its highest rate. */
  postgresUsAtKnee?: number | undefined;
  bareServerKneePerSecond?: number | undefined;
  /** At the same rate. */
  at70: Record<'platform' | 'bareServer', { p99Us: number; cpuUs: { server: number } }>;
  walBytesPerSale: number;
  allocatedBytesPerSale?: number | undefined;
  residentHighestMib: number;
};

type Goal = {
  label: string;
  value: number | undefined;
  unit: 'ratio' | 'bytes' | 'mebibytes';
  target: Target;
};

function ratioOf(value: number | undefined, baseline: number | undefined): number | undefined {
  return value === undefined || baseline === undefined ? undefined : value / baseline;
}

function goalsOf(figures: GoalFigures): Goal[] {
  const { kneePerSecond, fixedLine, bareServerKneePerSecond } = figures;
  const { platform, bareServer } = figures.at70;
  const { saleGoals: goal, residentMib } = targets;
  return [
    {
      label: 'knee / fixed line',
      value: kneePerSecond / fixedLine.perSecond,
      unit: 'ratio',
      target: { atLeast: goal.kneeToFixedLine },
    },
    {
      label: 'knee / knee of the bare server',
      value: ratioOf(kneePerSecond, bareServerKneePerSecond),
      unit: 'ratio',
      target: { atLeast: goal.kneeToBareServer },
    },
    {
      label: 'CPU of the server / of the bare server, same rate',
      value: platform.cpuUs.server / bareServer.cpuUs.server,
      unit: 'ratio',
      target: { atMost: goal.serverCpuToBareServer },
    },
    {
      label: 'CPU of PostgreSQL at the knee / in the fixed line',
      value: ratioOf(figures.postgresUsAtKnee, fixedLine.postgresUs),
      unit: 'ratio',
      target: { atMost: goal.postgresCpuToFixedLine },
    },
    {
      label: 'write-ahead log per sale, at 70 %',
      value: figures.walBytesPerSale,
      unit: 'bytes',
      target: { atMost: goal.walBytes },
    },
    {
      label: 'allocated per sale',
      value: figures.allocatedBytesPerSale,
      unit: 'bytes',
      target: { atMost: goal.allocatedBytes },
    },
    {
      label: 'p99 at 70 % / p99 of the bare server, same rate',
      value: platform.p99Us / bareServer.p99Us,
      unit: 'ratio',
      target: { atMost: goal.p99ToBareServer },
    },
    {
      label: 'memory, highest of the whole run',
      value: figures.residentHighestMib,
      unit: 'mebibytes',
      target: { atMost: residentMib },
    },
  ];
}

export type GoalResult = { label: string; value: number; target: Target; isReached: boolean };

/** Goals without a measured value are left out of the results, and shown as not measured. */
export function compareWithGoals(figures: GoalFigures): {
  results: GoalResult[];
  section: Section;
} {
  const results: GoalResult[] = [];
  const section: Section = { title: 'Goals, relative to the baselines of this run', figures: [] };
  for (const { label, value, unit, target } of goalsOf(figures)) {
    if (value === undefined) {
      section.figures.push({ label, value: 'not measured' });
      continue;
    }
    const row = figure(label, value, unit, target);
    section.figures.push(row);
    results.push({ label, value, target, isReached: row.isReached === true });
  }
  return { results, section };
}
