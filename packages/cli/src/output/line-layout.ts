/** Lines of what goes on, one below the other as it happens. */

import type { Colour, Paint } from './colours.ts';
import { cutInFront, cutTo, visible, widthOf } from './escape-text.ts';

const gap = '  ';
const msWidth = 7;

/** The time of day in UTC, which is the time that the platform writes. */
export const timeOf = (iso: string): string => iso.slice(11, 23);

export const padded = (text: string, cells: number): string =>
  text + ' '.repeat(Math.max(0, cells - widthOf(text)));

export const msText = (ms: number): string => `${String(ms).padStart(msWidth)} ms`;

export function statusColour(status: number | undefined): Colour {
  if (status === undefined || status >= 500) return 'red';
  if (status >= 400) return 'yellow';
  return status >= 300 ? 'cyan' : 'green';
}

/** Parts that are there, side by side. */
export const sideBySide = (parts: readonly string[]): string =>
  parts.filter((part) => part !== '').join(gap);

/** What is left of a line behind what stands there already; undefined where nothing is cut. */
export const roomBehind = (cells: number, width: number | undefined): number | undefined =>
  width === undefined ? undefined : Math.max(0, width - cells - gap.length);

export function fitted(text: string, room: number | undefined, keepsEnd = false): string {
  const shown = visible(text);
  if (room === undefined) return shown;
  return keepsEnd ? cutInFront(shown, room) : cutTo(shown, room);
}

/** Below the line that it explains. */
export const below = (text: string, indent: number, width: number | undefined, paint: Paint) =>
  ' '.repeat(indent) + paint('dim', fitted(text, width === undefined ? undefined : width - indent));
