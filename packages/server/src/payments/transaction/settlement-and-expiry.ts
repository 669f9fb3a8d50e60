// The settlement day of a capture and the expiry of an authorization, as the acquirer contract says. Pure.
import { dayMs, isoDay } from '../../platform/index.ts';
import { remainingAuthorized } from './state-machine.ts';
import type { AuthorizationContext, TransactionRecord } from './transaction.ts';

export type SettlementDay = {
  /** YYYY-MM-DD. */
  date: string;
  /** Epoch ms at which the next settlement day begins. */
  endsAt: number;
};

export const midnight = '00:00';

const msPerMinute = 60_000;
const msPerDay = dayMs;
const maxCachedZones = 600;

type UtcOffsetFunction = (at: number) => number;

const offsetFunctionByZone = new Map<string, UtcOffsetFunction>();

/** The returned function gives local time minus UTC in ms. */
function getUtcOffsetFunction(timeZone: string): UtcOffsetFunction {
  const cached = offsetFunctionByZone.get(timeZone);
  if (cached !== undefined) return cached;
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  const offsetAt: UtcOffsetFunction = (at) => {
    // Such as `3/10/2026, GMT-05:00`; `GMT` alone is UTC.
    const [, sign = '+', hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(format.format(at)) ?? [];
    const offset = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
    return (sign === '-' ? -offset : offset) * msPerMinute;
  };
  if (offsetFunctionByZone.size < maxCachedZones) offsetFunctionByZone.set(timeZone, offsetAt);
  return offsetAt;
}

/**
 * Of a local time that occurs twice, the first occurrence; of one that is skipped, the time of the change.
 *
 * @param localTimeMs the local time as if it were UTC, epoch ms
 */
function firstTimeAtLocalClock(localTimeMs: number, offsetAt: UtcOffsetFunction): number {
  const offsetBefore = offsetAt(localTimeMs - msPerDay);
  const earlyMs = localTimeMs - offsetBefore;
  if (offsetAt(earlyMs) === offsetBefore) return earlyMs;
  const offsetAfter = offsetAt(localTimeMs + msPerDay);
  const lateMs = localTimeMs - offsetAfter;
  if (offsetAt(lateMs) === offsetAfter) return lateMs;
  let [low, high] = [lateMs, earlyMs];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === offsetBefore) low = middle;
    else high = middle;
  }
  return high;
}

/** @param day midnight of the date as if it were UTC, epoch ms */
function endOfSettlementDay(day: number, cutOver: string, offsetAt: UtcOffsetFunction): number {
  const [hour = 0, minute = 0] = cutOver.split(':').map(Number);
  const minutes = hour * 60 + minute;
  const localTimeMs = minutes === 0 ? day + msPerDay : day + minutes * msPerMinute;
  return firstTimeAtLocalClock(localTimeMs, offsetAt);
}

type SettlementDayWindow = SettlementDay & { from: number };

const settlementDayByZone = new Map<string, SettlementDayWindow>();

/**
 * Settlement days have no gap and no overlap, also when daylight saving time changes.
 *
 * @param cutOver `HH:MM` local time at which the next settlement day begins
 * @example settlementDayForTime(Date.now(), 'Europe/Paris', '22:00').date
 */
export function settlementDayForTime(
  at: number,
  timeZone: string,
  cutOver = midnight,
): SettlementDay {
  const key = `${timeZone}|${cutOver}`;
  const cached = settlementDayByZone.get(key);
  if (cached !== undefined && at >= cached.from && at < cached.endsAt) return cached;
  const offsetAt = getUtcOffsetFunction(timeZone);
  const local = at + offsetAt(at);
  let day = local - (((local % msPerDay) + msPerDay) % msPerDay) - msPerDay;
  let from = endOfSettlementDay(day - msPerDay, cutOver, offsetAt);
  let endsAt = endOfSettlementDay(day, cutOver, offsetAt);
  while (at >= endsAt) {
    day += msPerDay;
    from = endsAt;
    endsAt = endOfSettlementDay(day, cutOver, offsetAt);
  }
  const window = { date: isoDay(day), from, endsAt };
  if (settlementDayByZone.size < maxCachedZones || cached !== undefined)
    settlementDayByZone.set(key, window);
  return window;
}

/** Default values are omitted. */
type SettlementContext = Pick<
  AuthorizationContext,
  'holdDays' | 'cutOverTime' | 'captureTransport'
>;

export function settlementContext(
  kind: AuthorizationContext['kind'],
  terms: { holdDays: number; cutOverTime: string; captureTransport: 'Advice' | 'File' },
): SettlementContext {
  const context: SettlementContext = {};
  if (terms.cutOverTime !== midnight) context.cutOverTime = terms.cutOverTime;
  if (kind !== 'Authorization') return context;
  context.holdDays = terms.holdDays;
  if (terms.captureTransport === 'File') context.captureTransport = 'File';
  return context;
}

/** Epoch ms of the authorization expiry; undefined without an authorization hold. */
export function authorizationExpiresAt(
  createdAt: string,
  { holdDays }: SettlementContext,
): number | undefined {
  return holdDays === undefined ? undefined : Date.parse(createdAt) + holdDays * msPerDay;
}

export function isAuthorizationExpired(
  { row }: TransactionRecord,
  context: SettlementContext,
  now: number,
): boolean {
  const expiresAt = authorizationExpiresAt(row.createdAt, context);
  if (expiresAt === undefined || now < expiresAt) return false;
  return row.position.phase === 'Approved' && remainingAuthorized(row.position) > 0;
}

export function settlementDayForContext(context: AuthorizationContext, at: number): SettlementDay {
  return settlementDayForTime(at, context.timeZone, context.cutOverTime);
}
