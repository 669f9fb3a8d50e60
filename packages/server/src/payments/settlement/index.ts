// The door to the time of payments: holds that lapse, and days of settlement.
export { midnight, type SettlementDay, settlementDayAt } from './day.ts';
export { createExpiry, type Expiry, expiredStep } from './expiry.ts';
export {
  hasLapsed,
  holdEndOf,
  type SettlementFacts,
  settlementDayOf,
  settlementFactsOf,
} from './terms.ts';
