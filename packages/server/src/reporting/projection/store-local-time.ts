// Computes the local day and hour of a store.
import { settlementDayForTime } from '../../payments/index.ts';

export type LocalTime = {
  /** YYYY-MM-DD: days follow each other without a gap, and never go back. */
  readonly day: string;
  /** 0 to 23. */
  readonly hour: number;
};

/** Time zones change their offset only at full quarters of an hour. */
const quarterMs = 900_000;
const cachedZonesMax = 600;

type CachedZone = { format: Intl.DateTimeFormat; quarter: number; hour: number };

const cachedZones = new Map<string, CachedZone>();

function findHour(at: number, timeZone: string): number {
  const quarter = Math.floor(at / quarterMs);
  const cached = cachedZones.get(timeZone);
  if (cached?.quarter === quarter) return cached.hour;
  const format =
    cached?.format ??
    new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', hourCycle: 'h23' });
  const hour = Number(format.format(at));
  if (cached !== undefined || cachedZones.size < cachedZonesMax)
    cachedZones.set(timeZone, { format, quarter, hour });
  return hour;
}

/** @example const { day, hour } = localTimeAt(Date.now(), 'Europe/Paris'); */
export function localTimeAt(at: number, timeZone: string): LocalTime {
  return { day: settlementDayForTime(at, timeZone).date, hour: findHour(at, timeZone) };
}
