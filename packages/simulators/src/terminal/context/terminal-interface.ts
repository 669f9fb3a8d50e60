// What a simulated terminal is made of, and what can be done with it.
import type { PinPadKeys } from '../cards/pin-pad.ts';
import type { TerminalFault } from '../cards/test-amounts.ts';
import type { TerminalPlatform } from '../platform/payments-api.ts';
import type {
  TerminalChannel,
  TerminalEvent,
  TerminalScreen,
  TerminalTimes,
} from './service-context.ts';

/**
 * What a simulated terminal is made of.
 *
 * @example
 * const options: TerminalOptions = { tsn: 'AXIUM_DX8000-10000001', dataDir: 'terminal', platform, keys, now, random };
 */
export type TerminalOptions = {
  /** Its name, and that of the till's requests: the POIID. */
  readonly tsn: string;
  /** Where it keeps what it has to know after a restart. */
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
  readonly onEvent?: (happening: TerminalEvent) => void;
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
   * Takes a message; resolves once everything that it leads to was sent. False where it was not taken: it
   * does not open, is not protected, or the terminal is off.
   */
  receive(text: string | Uint8Array, channel: TerminalChannel): Promise<boolean>;
  /** Events go over this channel too, until it is detached. */
  attach(channel: TerminalChannel): () => void;
  screen(): TerminalScreen;
  /** Shown to the next payments. */
  setCard(name: string): void;
  /** Of the next payment. */
  setFault(fault: TerminalFault | undefined): void;
  setPaper(hasPaper: boolean): void;
  setBusy(isBusy: boolean): void;
  setMaintenance(isInMaintenance: boolean): void;
  /** Whether the platform can be reached. */
  setReachable(isReachable: boolean): void;
  /** What is typed when an input of this kind is asked for. */
  setInput(command: string, text: string): void;
  /** Loses its power, and is back a moment later with what it had written down. */
  reboot(): Promise<void>;
  /** What it still owes the platform. */
  pendingCounts(): { readonly reversals: number; readonly uploads: number };
  stop(): Promise<void>;
};
