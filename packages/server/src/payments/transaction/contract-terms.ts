// What of a contract decides when a hold lapses, and when and how a capture is settled. Pure.

import { midnight, type SettlementDay, settlementDayAt } from './settlement-date.ts';
import { openAmount } from './state-machine.ts';
import type { LoadedTransaction, SaleFacts } from './transaction.ts';

/** What is usual is left out. */
type SettlementFacts = Pick<SaleFacts, 'holdDays' | 'cutOverTime' | 'captureTransport'>;

type Terms = { holdDays: number; cutOverTime: string; captureTransport: 'Advice' | 'File' };

export function settlementFactsOf(
  kind: SaleFacts['kind'],
  { holdDays, cutOverTime, captureTransport }: Terms,
): SettlementFacts {
  const facts: SettlementFacts = {};
  if (cutOverTime !== midnight) facts.cutOverTime = cutOverTime;
  if (kind !== 'Authorization') return facts;
  facts.holdDays = holdDays;
  if (captureTransport === 'File') facts.captureTransport = captureTransport;
  return facts;
}

const msPerDay = 86_400_000;

/** Epoch ms at which a hold that was made then lapses; undefined for what holds nothing. */
export function holdEndOf(madeAt: string, { holdDays }: SettlementFacts): number | undefined {
  return holdDays === undefined ? undefined : Date.parse(madeAt) + holdDays * msPerDay;
}

/** Whether what is still open of a sale may not be captured any more. */
export function hasLapsed(
  { row }: LoadedTransaction,
  facts: SettlementFacts,
  now: number,
): boolean {
  const end = holdEndOf(row.createdAt, facts);
  if (end === undefined || now < end) return false;
  return row.position.phase === 'Approved' && openAmount(row.position) > 0;
}

/** The day to which a capture of that moment belongs. */
export function settlementDayOf(facts: SaleFacts, at: number): SettlementDay {
  return settlementDayAt(at, facts.timeZone, facts.cutOverTime);
}
