// Formats terminal ids (DE41), STAN (DE11), RRN (DE37) and times for ISO 8583.
import type { AcquirerReference } from '../spi/acquirer-spi.ts';

/**
 * Returns the terminal id at an offset in a range such as TERM0001 to TERM9999.
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

/** Six digits; 000001 follows 999999. */
export function stanOf(trace: number): string {
  return String(((trace - 1) % stansPerRound) + 1).padStart(6, '0');
}

type Local = { time: string; date: string };
type Zone = { format: Intl.DateTimeFormat; second: number; local: Local };

const zones = new Map<string, Zone>();
const zonesMax = 600;

function zoneOf(timeZone: string): Zone {
  let zone = zones.get(timeZone);
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
    if (zones.size < zonesMax) zones.set(timeZone, zone);
  }
  return zone;
}

// Formats once per second and zone: Intl is the most expensive call in this path.
function localAt(now: number, timeZone: string): Local {
  const zone = zoneOf(timeZone);
  const second = Math.floor(now / 1000);
  if (second === zone.second) return zone.local;
  const part: Record<string, string> = {};
  for (const { type, value } of zone.format.formatToParts(second * 1000)) part[type] = value;
  zone.local = {
    time: `${part['hour']}${part['minute']}${part['second']}`,
    date: `${part['month']}${part['day']}`,
  };
  zone.second = second;
  return zone.local;
}

const msPerDay = 86_400_000;

/** MMDDhhmmss in UTC (DE7), and YDDDhh for the RRN (DE37). */
type Utc = { transmittedAt: string; yearDayHour: string };

let utcSecond = -1;
let utc: Utc = { transmittedAt: '', yearDayHour: '' };

function utcAt(now: number): Utc {
  const second = Math.floor(now / 1000);
  if (second === utcSecond) return utc;
  const iso = new Date(now).toISOString();
  const year = Number(iso.slice(0, 4));
  const day = Math.floor((now - Date.UTC(year, 0, 1)) / msPerDay) + 1;
  utc = {
    transmittedAt: iso.slice(5, 19).replace(/\D/g, ''),
    yearDayHour: iso.slice(3, 4) + String(day).padStart(3, '0') + iso.slice(11, 13),
  };
  utcSecond = second;
  return utc;
}

/** Builds the reference of one message. */
export function referenceAt(of: {
  trace: number;
  terminalId: string;
  mti: string;
  timeZone: string;
  now: number;
  /** Epoch ms of the transaction, if it is earlier than now. */
  doneAt?: number | undefined;
}): AcquirerReference {
  const stan = stanOf(of.trace);
  const { transmittedAt, yearDayHour } = utcAt(of.now);
  const local = localAt(of.doneAt ?? of.now, of.timeZone);
  return {
    mti: of.mti,
    terminalId: of.terminalId,
    stan,
    rrn: yearDayHour + stan,
    transmittedAt,
    localTime: local.time,
    localDate: local.date,
  };
}
