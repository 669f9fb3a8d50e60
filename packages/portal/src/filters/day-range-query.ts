/** Converts the days of a filter to the instants of a list request. */
import type { Query } from '../api/client.ts';
import { type Formats, isDay, subtractDays } from '../session/locale-formats.ts';

/** Returns undefined for an invalid or incomplete day, so the filter is ignored. */
export const validDay = (text: string | undefined): string | undefined =>
  text !== undefined && isDay(text) ? text : undefined;

/** In the time zone of the user; the last day is included. */
export function withDayRange(
  { from: first, to: last, ...rest }: Readonly<Partial<Record<string, string>>>,
  formats: Formats,
): Query {
  const [from, to] = [validDay(first), validDay(last)];
  return {
    ...rest,
    from: from === undefined ? undefined : formats.dayStart(from),
    to: to === undefined ? undefined : formats.dayStart(subtractDays(to, -1)),
  };
}
