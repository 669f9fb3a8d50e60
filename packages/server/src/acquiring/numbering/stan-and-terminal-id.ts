// Formats terminal ids (DE41), STAN (DE11), RRN (DE37) and times for ISO 8583.
import type { AcquirerReference } from '../spi/acquirer-spi.ts';

/**
 * Returns the terminal id at an offset in a range such as TERM0001 to TERM9999.
 *
 * @returns undefined past the end of the range.
 */
export function terminalIdAt(
  range: { from: string; to: string },
  offset: number,
): string | undefined {
  const digits = /\d+$/.exec(range.from)?.[0] ?? '';
  const prefix = range.from.slice(0, range.from.length - digits.length);
  const first = Number(digits === '' ? 0 : digits);
  const last = Number(range.to.slice(prefix.length));
  const terminalNumber = first + offset;
  if (!range.to.startsWith(prefix) || !Number.isSafeInteger(last) || terminalNumber > last)
    return undefined;
  return prefix + String(terminalNumber).padStart(digits.length, '0');
}

const maxStan = 999_999;

/** Six digits; 000001 follows 999999. */
export function formatStan(traceNumber: number): string {
  return String(((traceNumber - 1) % maxStan) + 1).padStart(6, '0');
}

type LocalDateTime = { time: string; date: string };
type CachedZone = { format: Intl.DateTimeFormat; second: number; local: LocalDateTime };

const zoneCache = new Map<string, CachedZone>();
const maxCachedZones = 600;

function getCachedZone(timeZone: string): CachedZone {
  let zone = zoneCache.get(timeZone);
  if (zone === undefined) {
    const format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      hourCycle: 'h23',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    zone = { format, second: -1, local: { time: '', date: '' } };
    if (zoneCache.size < maxCachedZones) zoneCache.set(timeZone, zone);
  }
  return zone;
}

// Formats once per second and zone: Intl is the most expensive call in this path.
function formatLocalDateTime(now: number, timeZone: string): LocalDateTime {
  const zone = getCachedZone(timeZone);
  const second = Math.floor(now / 1000);
  if (second === zone.second) return zone.local;
  const parts: Record<string, string> = {};
  for (const { type, value } of zone.format.formatToParts(second * 1000)) parts[type] = value;
  zone.local = {
    time: `${parts['hour']}${parts['minute']}${parts['second']}`,
    date: `${parts['month']}${parts['day']}`,
  };
  zone.second = second;
  return zone.local;
}

const msPerDay = 86_400_000;

/** MMDDhhmmss in UTC (DE7), and YDDDhh for the RRN (DE37). */
type UtcFields = { transmittedAt: string; yearDayHour: string };

let cachedUtcSecond = -1;
let cachedUtcFields: UtcFields = { transmittedAt: '', yearDayHour: '' };

function formatUtcFields(now: number): UtcFields {
  const second = Math.floor(now / 1000);
  if (second === cachedUtcSecond) return cachedUtcFields;
  const iso = new Date(now).toISOString();
  const year = Number(iso.slice(0, 4));
  const day = Math.floor((now - Date.UTC(year, 0, 1)) / msPerDay) + 1;
  cachedUtcFields = {
    transmittedAt: iso.slice(5, 19).replace(/\D/g, ''),
    yearDayHour: iso.slice(3, 4) + String(day).padStart(3, '0') + iso.slice(11, 13),
  };
  cachedUtcSecond = second;
  return cachedUtcFields;
}

/** Builds the reference of one message. */
export function buildReference(input: {
  trace: number;
  terminalId: string;
  mti: string;
  timeZone: string;
  now: number;
  /** Epoch ms of the transaction, if it is earlier than now. */
  doneAt?: number | undefined;
}): AcquirerReference {
  const stan = formatStan(input.trace);
  const { transmittedAt, yearDayHour } = formatUtcFields(input.now);
  const local = formatLocalDateTime(input.doneAt ?? input.now, input.timeZone);
  return {
    mti: input.mti,
    terminalId: input.terminalId,
    stan,
    rrn: yearDayHour + stan,
    transmittedAt,
    localTime: local.time,
    localDate: local.date,
  };
}
