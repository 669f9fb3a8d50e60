// The public interface of the simulated terminal.

export type { PinPadKeys } from './cards/pin-pad.ts';
export { type TerminalFault, terminalFaults, terminalTestAmounts } from './cards/test-amounts.ts';
export {
  type CardBehaviour,
  type CardholderVerification,
  type TestCard,
  testCards,
  walletCards,
} from './cards/test-cards.ts';
export {
  type CloudChannel,
  type CloudOptions,
  connectToCloud,
} from './connections/cloud-connector.ts';
export {
  type LocalListener,
  type LocalOptions,
  listenLocally,
} from './connections/local-listener.ts';
export type {
  ScreenContent,
  TerminalChannel,
  TerminalEvent,
  TerminalTimes,
} from './context/service-context.ts';
export type { Terminal, TerminalOptions } from './context/terminal-interface.ts';
export type { DeviceConnection } from './platform/device-http-client.ts';
export {
  connectTerminalPlatform,
  type PlatformAnswer,
  type TerminalPlatform,
} from './platform/payments-api.ts';
export { type StartedTerminal, type StartOptions, startTerminal } from './start-terminal.ts';
export { createTerminal } from './terminal.ts';
