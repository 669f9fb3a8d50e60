// The public interface of the acquirer host.

export type { Clock } from '../clock.ts';
export type { HostKey, HostKeys, KeyUse } from './connection/exchange-keys.ts';
export {
  type AmountRule,
  type AnswerDelivery,
  amountRule,
} from './decisions/test-amounts-and-cards.ts';
export type { LedgerSnapshot } from './ledger/ledger.ts';
export type { LedgerTotals, OriginalTransaction } from './ledger/ledger-entries.ts';
export { type LedgerReport, readLedger } from './ledger/read-ledger.ts';
export {
  type AcquirerHost,
  type AcquirerHostOptions,
  type HostLog,
  startAcquirerHost,
} from './server.ts';
