// The options and the interface of the simulated terminal.
import type { CardholderInput } from '@switchyard/contract';
import type { PinPadKeys } from '../cards/pin-pad.ts';
import type { TerminalFault } from '../cards/test-amounts.ts';
import type { TerminalPlatform } from '../platform/payments-api.ts';
import type {
  ScreenContent,
  TerminalChannel,
  TerminalEvent,
  TerminalTimes,
} from './service-context.ts';

/**
 * The options of a simulated terminal.
 *
 * @example
 * const options: TerminalOptions = { tsn: 'AXIUM_DX8000-10000001', dataDir: 'terminal', platform, keys, now, random };
 */
export type TerminalOptions = {
  /** Its serial name, which is also the POIID in messages. */
  readonly tsn: string;
  /** Directory of the state that survives a restart. */
  readonly dataDir: string;
  readonly platform: TerminalPlatform;
  readonly keys: PinPadKeys;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly random: (size: number) => Uint8Array;
  readonly times?: Partial<TerminalTimes>;
  /** ISO 3166, three digits; default 250, France. */
  readonly countryNumeric?: string;
  /** Whether services need a login first; default no. */
  readonly loginRequired?: boolean;
  /** Whether a person presents cards, enters the PIN and signs, with `input`; default no. */
  readonly isManual?: boolean;
  readonly onEvent?: (event: TerminalEvent) => void;
};

/**
 * The simulated terminal.
 *
 * @example
 * await terminal.receive(text, channel);
 */
export type Terminal = {
  readonly tsn: string;
  /**
   * Processes a message; resolves after all its answers are sent. False where the terminal rejects it: it cannot be
   * decrypted, is not protected, or the terminal is off.
   */
  receive(text: string | Uint8Array, channel: TerminalChannel): Promise<boolean>;
  /** Sends event notifications to this channel until it is detached. */
  attach(channel: TerminalChannel): () => void;
  screen(): ScreenContent;
  /** An action of the cardholder at a manual terminal. */
  input(input: CardholderInput): void;
  /** The card of the next payments. */
  setCard(name: string): void;
  /** The fault of the next payment. */
  setFault(fault: TerminalFault | undefined): void;
  setPaper(hasPaper: boolean): void;
  setBusy(isBusy: boolean): void;
  setMaintenance(isInMaintenance: boolean): void;
  /** Whether the platform is reachable. */
  setReachable(isReachable: boolean): void;
  /** The input of the customer for an InputCommand. */
  setInput(command: string, text: string): void;
  /** Loses its power and restarts with its stored state. */
  reboot(): Promise<void>;
  /** Number of reversals and uploads that the platform has not confirmed. */
  pendingCounts(): { readonly reversals: number; readonly uploads: number };
  stop(): Promise<void>;
};
