// Lays figures out for people: one line each, with its target and whether it is reached.

export type Figure = { label: string; value: string; target?: string; isReached?: boolean };
export type Section = { title: string; figures: Figure[] };

/** Writes a number with its unit. */
export type Unit = (value: number) => string;

export const perSecond: Unit = (value) => `${Math.round(value).toLocaleString('en')}/s`;
export const milliseconds: Unit = (us) => `${(us / 1000).toFixed(1)} ms`;
export const microseconds: Unit = (us) => `${us.toFixed(0)} µs`;
export const mebibytes: Unit = (value) => `${value.toFixed(0)} MiB`;
const bytes: Unit = (value) => `${Math.round(value).toLocaleString('en')} B`;
export const seconds: Unit = (value) => `${value.toFixed(2)} s`;
export const percent: Unit = (share) => `${(share * 100).toFixed(0)} %`;
export const ratio: Unit = (value) => value.toFixed(2);
export const grouped: Unit = (value) => value.toLocaleString('en');

const units = {
  perSecond,
  milliseconds,
  microseconds,
  mebibytes,
  bytes,
  seconds,
  percent,
  ratio,
  grouped,
};

/** `isJudged` is false where the run is too small to say whether the target is reached. */
export type Target = ({ under: number } | { atMost: number } | { atLeast: number }) & {
  isJudged?: boolean;
};

function compare(value: number, target: Target): [comparison: string, limit: number, ok: boolean] {
  if ('under' in target) return ['under', target.under, value < target.under];
  if ('atMost' in target) return ['at most', target.atMost, value <= target.atMost];
  return ['at least', target.atLeast, value >= target.atLeast];
}

/** @example figure('knee', 1250, 'perSecond', { atLeast: 1000 }) */
export function figure(
  label: string,
  value: number,
  unit: keyof typeof units | Unit,
  target?: Target,
): Figure {
  const write = typeof unit === 'string' ? units[unit] : unit;
  if (target === undefined) return { label, value: write(value) };
  const [comparison, limit, isReached] = compare(value, target);
  const row = { label, value: write(value), target: `${comparison} ${write(limit)}` };
  return target.isJudged === false ? row : { ...row, isReached };
}

/** @param text shown in place of the number */
export function noneFigure(label: string, count: number, text = String(count)): Figure {
  return { label, value: text, target: 'none', isReached: count === 0 };
}

type WithErrors = { errors: Readonly<Record<string, number>> };

/** Errors of all steps by their kind, or `none`. */
export function listErrors(steps: readonly WithErrors[]): string {
  const counts = new Map<string, number>();
  for (const [kind, count] of steps.flatMap(({ errors }) => Object.entries(errors))) {
    counts.set(kind, (counts.get(kind) ?? 0) + count);
  }
  return [...counts].map(([kind, count]) => `${count} × ${kind}`).join(', ') || 'none';
}

export function errorFigure(label: string, steps: readonly WithErrors[]): Figure {
  const value = listErrors(steps);
  return { label, value, target: 'none', isReached: value === 'none' };
}

type CostedStep = {
  p50Us: number;
  p99Us: number;
  cpuUs: { server: number; postgres: number };
};

/** The latency of one kind of request and its CPU time. */
export function latencyFigures(
  name: string,
  { p50Us, p99Us, cpuUs }: CostedStep,
  p99Target: Target,
): Figure[] {
  return [
    figure(`${name}: p50`, p50Us, 'milliseconds'),
    figure(`${name}: p99`, p99Us, 'milliseconds', p99Target),
    {
      label: `${name}: server, PostgreSQL`,
      value: `${microseconds(cpuUs.server)}, ${microseconds(cpuUs.postgres)}`,
    },
  ];
}

const statusTexts = { true: '✓', false: '✗ missed' } as const;

/** @example process.stdout.write(layOutTable([{ title: 'Speed', figures }])); */
export function layOutTable(sections: readonly Section[]): string {
  const all = sections.flatMap(({ figures }) => figures);
  const widthOf = (pick: (figure: Figure) => string) =>
    Math.max(0, ...all.map((each) => pick(each).length));
  const labelWidth = widthOf(({ label }) => label);
  const valueWidth = widthOf(({ value }) => value);
  const targetWidth = widthOf(({ target = '' }) => target);
  const line = ({ label, value, target = '', isReached }: Figure) => {
    const statusText = isReached === undefined ? '' : statusTexts[`${isReached}`];
    const cells = [
      label.padEnd(labelWidth),
      value.padStart(valueWidth),
      target.padEnd(targetWidth),
    ];
    return `  ${cells.join('   ')}   ${statusText}`.trimEnd();
  };
  return sections
    .filter(({ figures }) => figures.length > 0)
    .map(({ title, figures }) => `${title}\n${figures.map(line).join('\n')}\n`)
    .join('\n');
}

/** Least squares: how much `y` grows while `x` grows by one. */
export function slopeOfPoints(points: readonly { x: number; y: number }[]): number {
  const mean = (pick: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const meanX = mean(({ x }) => x);
  const meanY = mean(({ y }) => y);
  const above = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
