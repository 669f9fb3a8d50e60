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
const zonesMax = 600;

type Zone = { format: Intl.DateTimeFormat; quarter: number; hour: number };

const zones = new Map<string, Zone>();

function hourAt(at: number, timeZone: string): number {
  const quarter = Math.floor(at / quarterMs);
  const known = zones.get(timeZone);
  if (known?.quarter === quarter) return known.hour;
  const format =
    known?.format ??
    new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', hourCycle: 'h23' });
  const hour = Number(format.format(at));
  if (known !== undefined || zones.size < zonesMax) zones.set(timeZone, { format, quarter, hour });
  return hour;
}

/** @example const { day, hour } = localTimeAt(Date.now(), 'Europe/Paris'); */
export function localTimeAt(at: number, timeZone: string): LocalTime {
  return { day: settlementDayForTime(at, timeZone).date, hour: hourAt(at, timeZone) };
}
