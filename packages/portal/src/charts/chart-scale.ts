/** Calculates scales and lines of charts. */

/** Rounds up to 1, 2, 2.5 or 5 times a power of ten. */
export function roundUpScale(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * power >= value) ?? 10;
  return step * power;
}

/**
 * An SVG path in a square of 100, through the middle of each column. Missing values interrupt the
 * line.
 */
export function linePath(values: readonly (number | undefined)[], top: number): string {
  const width = 100 / Math.max(1, values.length);
  let isDrawing = false;
  return values
    .map((value, index) => {
      if (value === undefined) {
        isDrawing = false;
        return '';
      }
      const x = ((index + 0.5) * width).toFixed(2);
      const y = (100 - Math.min(1, value / top) * 100).toFixed(2);
      const step = isDrawing ? `L${x} ${y}` : `M${x} ${y}h0.01`;
      isDrawing = true;
      return step;
    })
    .join('');
}

/** An SVG path with a point for each value that has no neighbour. */
export function isolatedPoints(values: readonly (number | undefined)[], top: number): string {
  const alone = values.map((value, index) =>
    values[index - 1] === undefined && values[index + 1] === undefined ? value : undefined,
  );
  return linePath(alone, top);
}
