// The day to which a capture belongs: a store's day, by its time zone and the hour of cut-over. Pure.

export type SettlementDay = {
  /** YYYY-MM-DD. */
  date: string;
  /** Epoch ms of the first moment of the next one. */
  endsAt: number;
};

/** The end of the day itself. */
export const midnight = '00:00';

const msPerMinute = 60_000;
const msPerDay = 86_400_000;
const zonesMax = 600;

type OffsetAt = (at: number) => number;

const offsets = new Map<string, OffsetAt>();

/** How far the clocks of a zone are ahead of UTC at a moment, ms. */
function offsetsOf(timeZone: string): OffsetAt {
  const known = offsets.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const offsetAt: OffsetAt = (at) => {
    const second = Math.floor(at / 1000) * 1000;
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(second)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, part['second'] ?? 0) - second;
  };
  if (offsets.size < zonesMax) offsets.set(timeZone, offsetAt);
  return offsetAt;
}

/**
 * The first moment at which the clocks of a zone show a time or a later one. An hour that comes
 * twice counts when it comes first, and one that is left out when it would have come.
 *
 * @param wall the time on the clock, as if it were UTC, epoch ms
 */
function firstMoment(wall: number, offsetAt: OffsetAt): number {
  const before = offsetAt(wall - msPerDay);
  const early = wall - before;
  if (offsetAt(early) === before) return early;
  const after = offsetAt(wall + msPerDay);
  const late = wall - after;
  if (offsetAt(late) === after) return late;
  // The clocks jump over it: it is the moment of the jump.
  let [low, high] = [late, early];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** When the day of a date ends, which is named by its midnight as if that were UTC. */
function endOf(day: number, cutOver: string, offsetAt: OffsetAt): number {
  const [hour = 0, minute = 0] = cutOver.split(':').map(Number);
  const minutes = hour * 60 + minute;
  const wall = minutes === 0 ? day + msPerDay : day + minutes * msPerMinute;
  return firstMoment(wall, offsetAt);
}

type Window = SettlementDay & { from: number };

const windows = new Map<string, Window>();

/**
 * The settlement day of a moment. Days follow each other without a gap and never go back, whatever
 * the clocks do.
 *
 * @param cutOver `HH:MM` on the store's clocks, from which on the next day counts
 * @example settlementDayAt(Date.now(), 'Europe/Paris', '22:00').date
 */
export function settlementDayAt(at: number, timeZone: string, cutOver = midnight): SettlementDay {
  const key = `${timeZone}|${cutOver}`;
  const known = windows.get(key);
  if (known !== undefined && at >= known.from && at < known.endsAt) return known;
  const offsetAt = offsetsOf(timeZone);
  const local = at + offsetAt(at);
  let day = local - (((local % msPerDay) + msPerDay) % msPerDay) - msPerDay;
  let from = endOf(day - msPerDay, cutOver, offsetAt);
  let endsAt = endOf(day, cutOver, offsetAt);
  while (at >= endsAt) {
    day += msPerDay;
    from = endsAt;
    endsAt = endOf(day, cutOver, offsetAt);
  }
  const window = { date: new Date(day).toISOString().slice(0, 10), from, endsAt };
  if (windows.size < zonesMax || known !== undefined) windows.set(key, window);
  return window;
}
