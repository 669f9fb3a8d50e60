/** What a service of the terminal works with. */
import type { AnyMessage, Header, Structure, StructureName } from '@switchyard/nexo';
import type { TerminalPlatform } from './payment-api.ts';
import type { Panel } from './terminal-panel.ts';
import type { Keeper } from './terminal-storage.ts';

export type TerminalTimes = {
  /** Until nobody is waited for any more. */
  readonly cardMs: number;
  /** How long the platform may take a sale after it was sent. */
  readonly validMs: number;
  /** Between two questions what became of a sale. */
  readonly enquiryMs: number;
  /** How long an end is shown. */
  readonly endMs: number;
};

export const usualTimes: TerminalTimes = {
  cardMs: 90_000,
  validMs: 20_000,
  enquiryMs: 1_000,
  endMs: 6_000,
};

export type Inside = {
  readonly tsn: string;
  readonly now: () => number;
  readonly randomHex: (bytes: number) => string;
  readonly pause: (ms: number) => Promise<void>;
  readonly platform: TerminalPlatform;
  readonly keeper: Keeper;
  readonly panel: Panel;
  readonly times: TerminalTimes;
  /** Whether this is the terminal still: another one may have taken its name. */
  readonly isReplaced: () => boolean;
};

/** One request that is worked on. */
export type Work<Name extends StructureName = StructureName> = {
  readonly header: Header;
  readonly body: Structure<Name>;
  /** The till has aborted it. */
  readonly signal: AbortSignal;
  /** From here on nothing aborts it. @throws where somebody has done so already */
  readonly commit: () => void;
  /** Nothing was taken, and it may be aborted again. */
  readonly release: () => void;
};

export type Reply = AnyMessage['body'];

export const succeeded: Structure<'Response'> = { Result: 'Success' };
