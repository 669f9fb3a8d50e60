// The door to the time of payments: holds that lapse, and days of settlement.
export { settlementDayAt } from './day.ts';
export { createExpiry } from './expiry.ts';
export {
  hasLapsed,
  holdEndOf,
  settlementDayOf,
  settlementFactsOf,
} from './terms.ts';
