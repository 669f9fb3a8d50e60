// The door of the acquirer host.
export { type LedgerReport, readLedger } from './audit.ts';
export type { Original, Totals } from './book.ts';
export type { Clock } from './clock.ts';
export type { HostKey, HostKeys, KeyUse } from './keys.ts';
export type { LedgerSnapshot } from './ledger.ts';
export { type AmountRule, amountRule, type Delivery } from './rules.ts';
export {
  type AcquirerHost,
  type AcquirerHostOptions,
  type HostLog,
  startAcquirerHost,
} from './server.ts';
