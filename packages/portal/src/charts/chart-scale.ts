/** The arithmetic of charts. */

/** The next of 1, 2, 2.5 and 5 times a power of ten at or above a value. */
export function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * power >= value) ?? 10;
  return step * power;
}

/** A line through the middles of columns in a square of 100; where a value is lacking it is broken. */
export function pathOf(values: readonly (number | undefined)[], top: number): string {
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

/** Values without a neighbour, which no line can show: a point for each. */
export function pointsOf(values: readonly (number | undefined)[], top: number): string {
  const alone = values.map((value, index) =>
    values[index - 1] === undefined && values[index + 1] === undefined ? value : undefined,
  );
  return pathOf(alone, top);
}
