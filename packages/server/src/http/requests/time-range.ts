// Reads the span of time that a list or an export is asked for.
import { defined, refuse } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';

export type TimeRange = { readonly from?: string; readonly to?: string };

/** An offset can lead into the year behind, which has five digits and a sign. */
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');
const leapSecond = /:60(?=[.Zz+-])/;

/**
 * A time of RFC 3339 that the database takes too: nothing was recorded before 1970, and a leap second
 * is the one before it.
 *
 * @throws Refusal field_invalid
 */
export function parseTimestamp(text: string, pointer: string): string {
  const ms = Date.parse(text.replace(leapSecond, ':59'));
  if (Number.isFinite(ms)) return isoTime(Math.min(lastMs, Math.max(0, ms)));
  const detail = 'Is no time after RFC 3339.';
  return refuse('field_invalid', `${pointer.slice(1)} is no time.`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

/** Whether a time that we have written is one, and none before there was anything to record. */
export function isTimestamp(text: string): boolean {
  const ms = Date.parse(text);
  return ms >= 0 && isoTime(ms) === text;
}

/** @example const { from, to } = spanOf(query); */
export function parseTimeRange({ from, to }: TimeRange): TimeRange {
  return defined({
    from: from === undefined ? undefined : parseTimestamp(from, '?from'),
    to: to === undefined ? undefined : parseTimestamp(to, '?to'),
  });
}
