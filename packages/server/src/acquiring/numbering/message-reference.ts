// The reference of a message: message type, terminal id (DE41), STAN (DE11), RRN (DE37) and times for ISO 8583.
import { builtInHosts, compileReferencePattern } from '@switchyard/iso8583';
import { dayMs, isoTime } from '../../platform/index.ts';
import type { AcquirerReference, AcquirerRequestKind, NumberFormats } from '../spi/acquirer-spi.ts';

const mtiByKind: Readonly<Record<AcquirerRequestKind, string>> = {
  Authorization: '0100',
  Sale: '0200',
  OfflineSale: '0220',
  Capture: '0220',
  Refund: '0200',
  Reversal: '0420',
};

/** @returns the terminal id at an offset in a range such as TERM0001 to TERM9999, or undefined past its end */
export function terminalIdAt(
  range: { from: string; to: string },
  offset: number,
): string | undefined {
  const digits = /\d+$/.exec(range.from)?.[0] ?? '';
  const prefix = range.from.slice(0, range.from.length - digits.length);
  const last = Number(range.to.slice(prefix.length));
  const terminalNumber = Number(digits) + offset;
  if (!range.to.startsWith(prefix) || !Number.isSafeInteger(last) || terminalNumber > last)
    return undefined;
  return prefix + String(terminalNumber).padStart(digits.length, '0');
}

const { traceNumber, retrievalReference } = builtInHosts['iso1987-binary'];
const canonicalFormats: NumberFormats = {
  traceNumber,
  formatRetrievalReference: compileReferencePattern(retrievalReference.pattern),
};

/** 1 follows the highest number; 0 is not used. */
export function formatStan(
  traceNumber: number,
  { traceNumber: { digits } }: Pick<NumberFormats, 'traceNumber'> = canonicalFormats,
): string {
  const maxStan = 10 ** digits - 1;
  return String(((traceNumber - 1) % maxStan) + 1).padStart(digits, '0');
}

/** Computes once per second: Intl is the most expensive call in this path. */
function oncePerSecond<Value>(compute: (epochMs: number) => Value): (now: number) => Value {
  let cached: { second: number; value: Value } | undefined;
  return (now) => {
    const second = Math.floor(now / 1000);
    if (cached?.second !== second) cached = { second, value: compute(second * 1000) };
    return cached.value;
  };
}

const msPerDay = dayMs;

/** MMDDhhmmss in UTC (DE7), and year, day of the year and hour for the RRN (DE37). */
const formatUtcFields = oncePerSecond((epochMs) => {
  const iso = isoTime(epochMs);
  const day = Math.floor((epochMs - Date.UTC(Number(iso.slice(0, 4)), 0, 1)) / msPerDay) + 1;
  return {
    transmittedAt: iso.slice(5, 19).replace(/\D/g, ''),
    year: iso.slice(0, 4),
    day: String(day),
    hour: iso.slice(11, 13),
  };
});

type LocalDateTime = Pick<AcquirerReference, 'localTime' | 'localDate'>;

function createLocalFormat(timeZone: string): (now: number) => LocalDateTime {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  return oncePerSecond((epochMs) => {
    const parts: Record<string, string> = {};
    for (const { type, value } of format.formatToParts(epochMs)) parts[type] = value;
    return {
      localTime: `${parts['hour']}${parts['minute']}${parts['second']}`,
      localDate: `${parts['month']}${parts['day']}`,
    };
  });
}

const localFormats = new Map<string, (now: number) => LocalDateTime>();
const maxCachedZones = 600;

function formatLocalDateTime(now: number, timeZone: string): LocalDateTime {
  let format = localFormats.get(timeZone);
  if (format === undefined) {
    format = createLocalFormat(timeZone);
    if (localFormats.size < maxCachedZones) localFormats.set(timeZone, format);
  }
  return format(now);
}

export type MessageNumbers = {
  terminalId: string;
  /** Counts the messages of the terminal. */
  terminalNumber: number;
  /** Counts the messages of the link. */
  linkNumber: number;
};

/** Builds the reference of one message; `occurredAt` is epoch ms, for a transaction earlier than now. */
export function buildReference(
  message: { kind: AcquirerRequestKind; timeZone: string; occurredAt?: number | undefined },
  { terminalId, terminalNumber, linkNumber }: MessageNumbers,
  now: number,
  formats: NumberFormats = canonicalFormats,
): AcquirerReference {
  const { kind, timeZone, occurredAt = now } = message;
  const isUniqueOnLink = formats.traceNumber.uniqueBy === 'Link';
  const stan = formatStan(isUniqueOnLink ? linkNumber : terminalNumber, formats);
  const { transmittedAt, ...utcParts } = formatUtcFields(now);
  const { localTime, localDate } = formatLocalDateTime(occurredAt, timeZone);
  const rrn = formats.formatRetrievalReference({ ...utcParts, stan, number: String(linkNumber) });
  return { mti: mtiByKind[kind], terminalId, stan, rrn, transmittedAt, localTime, localDate };
}
