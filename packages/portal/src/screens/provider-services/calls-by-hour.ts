/** Groups the calls of a day by hour. */
import type { ServiceCalls } from '@switchyard/contract';

const hourMs = 3_600_000;
const hourCount = 24;

export type HourlyCalls = {
  readonly at: number;
  readonly answered: number;
  readonly failed: number;
};

/** Hours without calls are included. */
export function callsByHour({ to, hours }: ServiceCalls): HourlyCalls[] {
  const last = Math.floor(Date.parse(to) / hourMs) * hourMs;
  const hoursByTime = new Map(hours.map((hour) => [Date.parse(hour.at), hour]));
  return Array.from({ length: hourCount }, (_, index) => {
    const at = last - (hourCount - 1 - index) * hourMs;
    const { answered = 0, failed = 0 } = hoursByTime.get(at) ?? {};
    return { at, answered, failed };
  });
}
