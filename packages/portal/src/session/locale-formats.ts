/** Formats numbers, money and times by the locale, time zone and pattern of the user. */
import { exponentOf } from '@switchyard/money';

export type Formats = {
  /** Formats minor units; the code of an unknown currency is displayed unchanged. */
  money(minor: number | bigint, currency: string): string;
  number(value: number, options?: Intl.NumberFormatOptions): string;
  percent(share: number): string;
  /** Date and time. */
  time(at: string | number): string;
  /** With seconds and milliseconds, for timelines. */
  exactTime(at: string | number): string;
  date(at: string | number): string;
  /** Formats the day `2026-03-01`, without a time zone. */
  day(day: string): string;
  /** The day `2026-03-01` of an instant, in the time zone of the user. */
  dayOf(at: number): string;
  /** The instant when a day begins in the time zone of the user. */
  dayStart(day: string): string;
  readonly zone: string;
  readonly locale: string;
};

export type FormatOptions = {
  readonly locale: string;
  readonly zone: string;
  readonly pattern?: string | undefined;
};

const dayMs = 86_400_000;

type Parts = Readonly<Record<string, string>>;

function partsOf(format: Intl.DateTimeFormat, at: number): Parts {
  return Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
}

/** The supported fields of Unicode date patterns (TR 35). */
const patternWords: Readonly<Record<string, (parts: Parts) => string>> = {
  yyyy: (parts) => parts['year'] ?? '',
  yy: (parts) => (parts['year'] ?? '').slice(-2),
  MM: (parts) => parts['month'] ?? '',
  M: (parts) => String(Number(parts['month'])),
  dd: (parts) => parts['day'] ?? '',
  d: (parts) => String(Number(parts['day'])),
  HH: (parts) => parts['hour'] ?? '',
  H: (parts) => String(Number(parts['hour'])),
  hh: (parts) => String(hourOf12(parts)).padStart(2, '0'),
  h: (parts) => String(hourOf12(parts)),
  mm: (parts) => parts['minute'] ?? '',
  ss: (parts) => parts['second'] ?? '',
  a: (parts) => (Number(parts['hour']) < 12 ? 'AM' : 'PM'),
};

function hourOf12(parts: Parts): number {
  return Number(parts['hour']) % 12 || 12;
}

/** Returns undefined for a pattern with other fields; then the locale decides. */
export function readPattern(pattern: string): ((parts: Parts) => string) | undefined {
  const written = pattern.replaceAll('YYYY', 'yyyy').replaceAll('DD', 'dd');
  const pieces = written.match(/'[^']*'|([A-Za-z])\1*|[^A-Za-z']+/g) ?? [];
  if (pieces.join('') !== written || !/yy/.test(written)) return undefined;
  const writers = pieces.map((piece) => {
    if (piece.startsWith("'")) return () => piece.slice(1, -1);
    if (!/^[A-Za-z]/.test(piece)) return () => piece;
    return Object.hasOwn(patternWords, piece) ? patternWords[piece] : undefined;
  });
  if (writers.includes(undefined)) return undefined;
  return (parts) => writers.map((write) => write?.(parts) ?? '').join('');
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== null;
  } catch {
    return false;
  }
}

/** The decimals come from ISO 4217, because the browser may use others. */
function moneyWriter(locale: string): Formats['money'] {
  const cache = new Map<string, Intl.NumberFormat>();
  function formatOf(currency: string): { format: Intl.NumberFormat; exponent: number } | undefined {
    try {
      const exponent = exponentOf(currency);
      const digits = { minimumFractionDigits: exponent, maximumFractionDigits: exponent };
      const style = { style: 'currency', currency, currencyDisplay: 'code' } as const;
      const format = cache.get(currency) ?? new Intl.NumberFormat(locale, { ...style, ...digits });
      cache.set(currency, format);
      return { format, exponent };
    } catch {
      return undefined;
    }
  }
  return (minor, currency) => {
    const currencyFormat = formatOf(currency);
    if (currencyFormat === undefined) return `${minor} ${currency}`;
    const { format, exponent } = currencyFormat;
    const text = String(minor < 0 ? -minor : minor).padStart(exponent + 1, '0');
    const whole = exponent === 0 ? text : `${text.slice(0, -exponent)}.${text.slice(-exponent)}`;
    // A text, because a number cannot hold large totals exactly.
    return format.format(`${minor < 0 ? '-' : ''}${whole}` as Intl.StringNumericLiteral);
  };
}

export function createFormats({ locale, zone: requestedZone, pattern }: FormatOptions): Formats {
  const zone = isZone(requestedZone) ? requestedZone : 'UTC';
  const plain = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: zone,
  });
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: zone });
  const days = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
  const exact = new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    timeZone: zone,
  });
  const digits = new Intl.DateTimeFormat('en-GB', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZone: zone,
  });
  const write = pattern === undefined ? undefined : readPattern(pattern);
  const ms = (at: string | number): number => (typeof at === 'number' ? at : Date.parse(at));
  const or = (at: string | number, show: (value: number) => string): string => {
    const value = ms(at);
    return Number.isNaN(value) ? String(at) : show(value);
  };

  /** Years have four digits, because a date input gives `0002-03-05` while the user types 2026. */
  function dayOf(at: number): string {
    const { year = '', month, day } = partsOf(digits, at);
    return `${year.padStart(4, '0')}-${month}-${day}`;
  }

  /** The offset of the time zone to UTC at an instant, in milliseconds. */
  function offsetAt(at: number): number {
    const { hour, minute, second } = partsOf(digits, at);
    const localMs = Date.parse(`${dayOf(at)}T${hour}:${minute}:${second}Z`);
    return localMs - Math.floor(at / 1_000) * 1_000;
  }

  const numbers = new Intl.NumberFormat(locale);
  const percents = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  return {
    money: moneyWriter(locale),
    number: (value, options) =>
      (options === undefined ? numbers : new Intl.NumberFormat(locale, options)).format(value),
    percent: (share) => percents.format(share),
    time: (at) => or(at, (value) => write?.(partsOf(digits, value)) ?? plain.format(value)),
    exactTime: (at) => or(at, (value) => exact.format(value)),
    date: (at) => or(at, (value) => dates.format(value)),
    day: (day) => or(`${day}T00:00:00Z`, (value) => days.format(value)),
    dayOf,
    dayStart(day) {
      const utc = Date.parse(`${day}T00:00:00Z`);
      const first = utc - offsetAt(utc);
      // The offset may change at night for daylight saving time.
      const start = utc - offsetAt(first);
      return new Date(dayOf(start) === day ? start : first).toISOString();
    },
    zone,
    locale,
  };
}

/** The day a number of days earlier. */
export function subtractDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - days * dayMs).toISOString().slice(0, 10);
}

const firstDay = '1970-01-01';
/** The next day would have a five-digit year. */
const lastDay = '9999-12-30';

/** Whether a text is a valid day. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text < firstDay || text > lastDay) return false;
  return Number.isFinite(Date.parse(`${text}T00:00:00Z`)) && subtractDays(text, 0) === text;
}
