/** Days as the filters have them become the instants that lists are asked with. */
import type { Query } from '../api/client.ts';
import { dayBefore, type Formats } from '../session/formats.ts';

/** In the zone of the user; the last day is meant whole. */
export function withInstants(
  { from, to, ...rest }: Readonly<Partial<Record<string, string>>>,
  formats: Formats,
): Query {
  return {
    ...rest,
    from: from === undefined ? undefined : formats.dayStart(from),
    to: to === undefined ? undefined : formats.dayStart(dayBefore(to, -1)),
  };
}
