/** Days as the filters have them become the instants that lists are asked with. */
import type { Query } from '../api/client.ts';
import { dayBefore, type Formats, isDay } from '../session/locale-formats.ts';

/** What is no day, such as one that is half typed, narrows nothing. */
export const dayIn = (text: string | undefined): string | undefined =>
  text !== undefined && isDay(text) ? text : undefined;

/** In the zone of the user; the last day is meant whole. */
export function withInstants(
  { from: first, to: last, ...rest }: Readonly<Partial<Record<string, string>>>,
  formats: Formats,
): Query {
  const [from, to] = [dayIn(first), dayIn(last)];
  return {
    ...rest,
    from: from === undefined ? undefined : formats.dayStart(from),
    to: to === undefined ? undefined : formats.dayStart(dayBefore(to, -1)),
  };
}
