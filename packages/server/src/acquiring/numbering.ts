// Spells terminal ids, trace numbers and dates the way ISO 8583 wants them.
import type { AcquirerReference } from './types.ts';

/**
 * The id at a place of a range such as TERM0001 to TERM9999: a fixed head and a counted tail.
 *
 * @returns undefined past the end of the range.
 */
export function terminalIdAt(
  range: { from: string; to: string },
  index: number,
): string | undefined {
  const tail = /\d+$/.exec(range.from)?.[0] ?? '';
  const head = range.from.slice(0, range.from.length - tail.length);
  const first = Number(tail === '' ? 0 : tail);
  const last = Number(range.to.slice(head.length));
  const place = first + index;
  if (!range.to.startsWith(head) || !Number.isSafeInteger(last) || place > last) return undefined;
  return head + String(place).padStart(tail.length, '0');
}

const stansPerRound = 999_999;

/** Six digits, never 000000, round again after 999999. */
export function stanOf(trace: number): string {
  return String(((trace - 1) % stansPerRound) + 1).padStart(6, '0');
}

type Parts = { year: string; month: string; day: string; time: string };

const zoneFormats = new Map<string, Intl.DateTimeFormat>();
const zonesMax = 600;

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = zoneFormats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    if (zoneFormats.size < zonesMax) zoneFormats.set(timeZone, format);
  }
  return format;
}

let lastSecond = -1;
let lastZone = '';
let lastParts: Parts = { year: '', month: '', day: '', time: '' };

// One formatting a second and zone: Intl is the dearest thing on this path.
function partsAt(now: number, timeZone: string): Parts {
  const second = Math.floor(now / 1000);
  if (second === lastSecond && timeZone === lastZone) return lastParts;
  const part: Record<string, string> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(second * 1000)) part[type] = value;
  lastParts = {
    year: part['year'] ?? '',
    month: part['month'] ?? '',
    day: part['day'] ?? '',
    time: `${part['hour']}${part['minute']}${part['second']}`,
  };
  lastSecond = second;
  lastZone = timeZone;
  return lastParts;
}

const msPerDay = 86_400_000;

/** MMDDhhmmss in UTC and, for the reference number, Y DDD hh. */
function utcAt(now: number): { transmittedAt: string; yearDayHour: string } {
  const iso = new Date(now).toISOString();
  const year = Number(iso.slice(0, 4));
  const day = Math.floor((now - Date.UTC(year, 0, 1)) / msPerDay) + 1;
  const digits = iso.slice(5, 19).replace(/\D/g, '');
  const yearDayHour = iso.slice(3, 4) + String(day).padStart(3, '0') + iso.slice(11, 13);
  return { transmittedAt: digits, yearDayHour };
}

/** Puts the numbers of one message together. */
export function referenceAt(of: {
  trace: number;
  terminalId: string;
  mti: string;
  timeZone: string;
  now: number;
}): AcquirerReference {
  const stan = stanOf(of.trace);
  const { transmittedAt, yearDayHour } = utcAt(of.now);
  const local = partsAt(of.now, of.timeZone);
  return {
    mti: of.mti,
    terminalId: of.terminalId,
    stan,
    rrn: yearDayHour + stan,
    transmittedAt,
    localTime: local.time,
    localDate: local.month + local.day,
  };
}
