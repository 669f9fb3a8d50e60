/** Parts of the lines of running output, such as `logs tail`: time, status, duration. */

import type { Colour, Paint } from './colours.ts';
import { displayWidth, escapeText, truncateEnd, truncateStart } from './escape-text.ts';

const gap = '  ';
const msWidth = 7;

export const utcTimeOfDay = (iso: string): string => iso.slice(11, 23);

export const padToWidth = (text: string, cells: number): string =>
  text + ' '.repeat(Math.max(0, cells - displayWidth(text)));

export const formatMilliseconds = (ms: number): string => `${String(ms).padStart(msWidth)} ms`;

export function statusColour(status: number | undefined): Colour {
  if (status === undefined || status >= 500) return 'red';
  if (status >= 400) return 'yellow';
  return status >= 300 ? 'cyan' : 'green';
}

/** Joins the non-empty parts with a gap. */
export const joinColumns = (parts: readonly string[]): string =>
  parts.filter((part) => part !== '').join(gap);

/** The cells that remain in a line after `cells`; undefined if lines are not cut. */
export const remainingWidth = (cells: number, width: number | undefined): number | undefined =>
  width === undefined ? undefined : Math.max(0, width - cells - gap.length);

export function fitToWidth(text: string, maxWidth: number | undefined, keepsEnd = false): string {
  const escaped = escapeText(text);
  if (maxWidth === undefined) return escaped;
  return keepsEnd ? truncateStart(escaped, maxWidth) : truncateEnd(escaped, maxWidth);
}

/** A dimmed second line, indented below the line that it explains. */
export const indentedLine = (
  text: string,
  indent: number,
  width: number | undefined,
  paint: Paint,
) =>
  ' '.repeat(indent) +
  paint('dim', fitToWidth(text, width === undefined ? undefined : width - indent));
