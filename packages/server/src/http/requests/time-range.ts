// Parses the query parameters from and to of lists and exports.
import { defined, throwProblem } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';

export type TimeRange = { readonly from?: string; readonly to?: string };

/** An offset can lead into the year 10000, which has five digits and a sign. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');
const leapSecond = /:60(?=[.Zz+-])/;

/**
 * A time of RFC 3339, limited to years that the database accepts. A time before 1970 becomes 1970, and a
 * leap second becomes the second before it.
 *
 * @throws ProblemError field_invalid
 */
export function parseTimestamp(text: string, pointer: string): string {
  const ms = Date.parse(text.replace(leapSecond, ':59'));
  if (Number.isFinite(ms)) return isoTime(Math.min(lastMs, Math.max(0, ms)));
  const detail = 'Must be a time in RFC 3339 format, for example 2026-03-01T12:30:00Z.';
  return throwProblem('field_invalid', `${pointer.slice(1)} is not a time in RFC 3339 format.`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

/** Whether a text is a time as the platform writes it, from 1970 on. */
export function isTimestamp(text: string): boolean {
  const ms = Date.parse(text);
  return ms >= 0 && isoTime(ms) === text;
}

/** @example const { from, to } = parseTimeRange(query); */
export function parseTimeRange({ from, to }: TimeRange): TimeRange {
  return defined({
    from: from === undefined ? undefined : parseTimestamp(from, '?from'),
    to: to === undefined ? undefined : parseTimestamp(to, '?to'),
  });
}
