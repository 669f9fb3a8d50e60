// The public interface of the reference provider of QR payments.
export { type BrokenMode, brokenModes } from './fault-modes.ts';
export {
  type PlatformPayment,
  type QrLedger,
  type QrLedgerPayment,
  type QrLedgerTotals,
  qrLedgerDifferences,
  readQrLedger,
} from './payment-ledger.ts';
export type { QrPlatformSettings } from './platform-connection.ts';
export {
  type QrProviderOptions,
  type QrProviderServer,
  setQrProviderDown,
  startQrProvider,
} from './server.ts';
