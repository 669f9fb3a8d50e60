// Contract terms for authorization expiry and settlement. Pure.
import { midnight, type SettlementDay, settlementDayForTime } from './settlement-date.ts';
import { remainingAuthorized } from './state-machine.ts';
import type { AuthorizationContext, TransactionRecord } from './transaction.ts';

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

const msPerDay = 86_400_000;

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
