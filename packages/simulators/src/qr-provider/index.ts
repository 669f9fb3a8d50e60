// The door of the reference provider of QR payments.
export { type BrokenMode, brokenModes } from './fault-modes.ts';
export {
  differencesOf,
  type OtherPayment,
  type QrLedger,
  type QrLedgerPayment,
  type QrLedgerTotals,
  readQrLedger,
} from './payment-ledger.ts';
export type { QrPlatformFacts } from './platform-connection.ts';
export {
  type QrProviderOptions,
  type QrProviderServer,
  setQrProviderDown,
  startQrProvider,
} from './server.ts';
