// Lays figures out for people: one line each, with what it should be and whether it is.

export type Figure = {
  name: string;
  /** As it is shown, with its unit. */
  value: string;
  /** The target, if there is one. */
  target?: string;
  reached?: boolean;
};

export type Section = { title: string; figures: Figure[] };

const statusTexts = { true: '✓', false: '✗ missed' } as const;

/** @example process.stdout.write(layOut([{ title: 'Speed', figures }])); */
export function layOutTable(sections: readonly Section[]): string {
  const all = sections.flatMap(({ figures }) => figures);
  const widthOf = (pick: (figure: Figure) => string) =>
    Math.max(0, ...all.map((figure) => pick(figure).length));
  const nameWidth = widthOf(({ name }) => name);
  const valueWidth = widthOf(({ value }) => value);
  const targetWidth = widthOf(({ target = '' }) => target);
  const line = ({ name, value, target = '', reached }: Figure) => {
    const statusText = reached === undefined ? '' : statusTexts[`${reached}`];
    const cells = [name.padEnd(nameWidth), value.padStart(valueWidth), target.padEnd(targetWidth)];
    return `  ${cells.join('   ')}   ${statusText}`.trimEnd();
  };
  return sections
    .filter(({ figures }) => figures.length > 0)
    .map(({ title, figures }) => `${title}\n${figures.map(line).join('\n')}\n`)
    .join('\n');
}

export const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`;
export const milliseconds = (us: number) => `${(us / 1000).toFixed(1)} ms`;
export const microseconds = (us: number) => `${us.toFixed(0)} µs`;
export const mebibytes = (value: number) => `${value.toFixed(0)} MiB`;
export const seconds = (value: number) => `${value.toFixed(2)} s`;
export const percent = (share: number) => `${(share * 100).toFixed(0)} %`;

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
