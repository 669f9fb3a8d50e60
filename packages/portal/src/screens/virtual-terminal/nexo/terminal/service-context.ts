/** The context of a terminal service. */
import type { AnyMessage, Header, Structure, StructureName } from '@switchyard/nexo';
import type { PaymentApi } from './payment-api.ts';
import type { TerminalPanel } from './terminal-panel.ts';
import type { TerminalStorage } from './terminal-storage.ts';

export type TerminalTimes = {
  /** The time limit for the cardholder. */
  readonly cardMs: number;
  /** The validity of a sale request after it was sent. */
  readonly validMs: number;
  /** The pause between two queries of an outcome. */
  readonly enquiryMs: number;
  /** How long the result stays on the screen. */
  readonly endMs: number;
};

export const usualTimes: TerminalTimes = {
  cardMs: 90_000,
  validMs: 20_000,
  enquiryMs: 1_000,
  endMs: 6_000,
};

export type ServiceContext = {
  readonly tsn: string;
  readonly now: () => number;
  readonly randomHex: (bytes: number) => string;
  readonly pause: (ms: number) => Promise<void>;
  readonly platform: PaymentApi;
  readonly storage: TerminalStorage;
  readonly panel: TerminalPanel;
  readonly times: TerminalTimes;
  /** Whether another terminal has replaced this one. */
  readonly isReplaced: () => boolean;
};

/** A service request in progress. */
export type ServiceRequest<Name extends StructureName = StructureName> = {
  readonly header: Header;
  readonly body: Structure<Name>;
  /** Aborted by the point of sale. */
  readonly signal: AbortSignal;
  /** Makes the request uninterruptible. @throws if it is already aborted */
  readonly commit: () => void;
  /** Makes the request abortable again; no money was taken. */
  readonly release: () => void;
};

export type ServiceResponse = AnyMessage['body'];

export const successResponse: Structure<'Response'> = { Result: 'Success' };
