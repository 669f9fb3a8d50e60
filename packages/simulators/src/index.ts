// The public interface of the package.

export type { HostKey, HostKeys, KeyUse } from './acquirer-host/connection/exchange-keys.ts';
export type { ResponseChanges } from './acquirer-host/decisions/change-response.ts';
export {
  type AmountRule,
  type AnswerDelivery,
  amountRule,
} from './acquirer-host/decisions/test-amounts-and-cards.ts';
export type { LedgerSnapshot } from './acquirer-host/ledger/ledger.ts';
export type { LedgerTotals, OriginalTransaction } from './acquirer-host/ledger/ledger-entries.ts';
export { type LedgerReport, readLedger } from './acquirer-host/ledger/read-ledger.ts';
export {
  type AcquirerHost,
  type AcquirerHostOptions,
  type HostLog,
  startAcquirerHost,
} from './acquirer-host/server.ts';
export type { Clock } from './clock.ts';

// The public interface of the reference acquirer of the HTTP/JSON acquirer SPI.
export {
  type HttpAcquirer,
  type HttpAcquirerOptions,
  startHttpAcquirer,
} from './http-acquirer/server.ts';

// The public interface of the reference provider of QR payments.
export { type FaultMode, faultModes } from './qr-provider/fault-modes.ts';
export {
  type PlatformPayment,
  type QrLedger,
  type QrLedgerPayment,
  type QrLedgerTotals,
  qrLedgerDifferences,
  readQrLedger,
} from './qr-provider/payment-ledger.ts';
export type { QrPlatformSettings } from './qr-provider/platform-accounts.ts';
export {
  type QrProviderOptions,
  type QrProviderServer,
  setQrProviderDown,
  startQrProvider,
} from './qr-provider/server.ts';

export type { PinPadKeys } from './terminal/cards/pin-pad.ts';
export {
  type TerminalFault,
  terminalFaults,
  terminalTestAmounts,
} from './terminal/cards/test-amounts.ts';
export {
  type CardBehaviour,
  type CardholderVerification,
  type TestCard,
  testCards,
  walletCards,
} from './terminal/cards/test-cards.ts';
export {
  type CloudChannel,
  type CloudOptions,
  connectToCloud,
} from './terminal/connections/cloud-connector.ts';
export {
  type LocalListener,
  type LocalOptions,
  listenLocally,
} from './terminal/connections/local-listener.ts';
export type {
  ScreenContent,
  TerminalChannel,
  TerminalEvent,
  TerminalTimes,
} from './terminal/context/service-context.ts';
export type { Terminal, TerminalOptions } from './terminal/context/terminal-interface.ts';
export type { DeviceConnection } from './terminal/platform/device-http-client.ts';
export {
  connectTerminalPlatform,
  type PlatformAnswer,
  type TerminalPlatform,
} from './terminal/platform/payments-api.ts';
export {
  type StartedTerminal,
  type StartOptions,
  startTerminal,
} from './terminal/start-terminal.ts';
export { createTerminal } from './terminal/terminal.ts';
