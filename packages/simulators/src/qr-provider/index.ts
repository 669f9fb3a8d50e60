// The door of the reference provider of QR payments.
export { type BrokenMode, brokenModes } from './broken.ts';
export {
  differencesOf,
  type OtherPayment,
  type QrLedger,
  type QrLedgerPayment,
  type QrLedgerTotals,
  readQrLedger,
} from './ledger.ts';
export type { QrPlatformFacts } from './platform.ts';
export {
  type QrProviderOptions,
  type QrProviderServer,
  setQrProviderDown,
  startQrProvider,
} from './server.ts';
