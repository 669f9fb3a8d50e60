// The door of the simulated terminal.
export {
  type CardBehaviour,
  type CardEntry,
  type TestCard,
  testCards,
  type Verification,
} from './cards.ts';
export { type CloudChannel, type CloudOptions, connectToCloud } from './cloud.ts';
export type { DeviceFacts } from './device-calls.ts';
export { type LocalListener, type LocalOptions, listenLocally } from './local.ts';
export type { Terminal, TerminalOptions } from './options.ts';
export type { PinPadKeys } from './pin-pad.ts';
export { type Asked, connectTerminalPlatform, type TerminalPlatform } from './platform.ts';
export { type StartedTerminal, type StartOptions, startTerminal } from './started.ts';
export { amountStories, type TerminalFault, terminalFaults } from './stories.ts';
export { createTerminal } from './terminal.ts';
export type {
  TerminalChannel,
  TerminalHappening,
  TerminalScreen,
  TerminalTimes,
} from './work.ts';
