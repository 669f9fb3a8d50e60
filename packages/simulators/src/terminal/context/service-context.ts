// What every service of the terminal is given: the request, its till, and the inside of the terminal.
import type {
  AnyMessage,
  Header,
  OpenValue,
  Protection,
  RefusalReason,
  Structure,
  StructureName,
} from '@switchyard/nexo';
import type { PinPad } from '../cards/pin-pad.ts';
import type { TerminalFault } from '../cards/test-amounts.ts';
import type { TestCard } from '../cards/test-cards.ts';
import type { TerminalPlatform } from '../platform/payments-api.ts';
import type { TerminalStore } from '../storage/terminal-store.ts';

/**
 * The way to a till, as the terminal sees it.
 *
 * @example
 * await terminal.receive(text, { isTwoWay: true, send: (text) => socket.send(text), drop: () => socket.terminate() });
 */
export type TerminalChannel = {
  /** Whether messages can go to the till that it did not ask for. */
  readonly isTwoWay: boolean;
  /** Protects what is sent; with it nothing is taken that is not protected. */
  readonly protection?: Protection | undefined;
  send(text: string): void;
  /** Breaks the connection off. */
  drop(): void;
};

/**
 * What the terminal shows.
 *
 * @example
 * const screen: TerminalScreen = { state: 'Card', lines: ['12.50 EUR', 'Insert, tap or swipe'] };
 */
export type TerminalScreen = {
  readonly state:
    | 'Idle'
    | 'Card'
    | 'Pin'
    | 'Asking'
    | 'Approved'
    | 'Declined'
    | 'Message'
    | 'OutOfService';
  readonly lines: readonly string[];
};

/**
 * What happens in the terminal, for a log or a screen. Nothing in it is card data.
 *
 * @example
 * const happening: TerminalHappening = { type: 'Printed', lines: ['SALE', '12.50 EUR'] };
 */
export type TerminalEvent =
  | { readonly type: 'Screen'; readonly screen: TerminalScreen }
  | { readonly type: 'Printed'; readonly lines: readonly string[] }
  | { readonly type: 'Sound' }
  | {
      readonly type: 'Received' | 'Sent';
      readonly category: string;
      readonly kind: string;
      readonly serviceId?: string;
      readonly saleId: string;
      readonly result?: string;
      readonly condition?: string;
      readonly event?: string;
    }
  | { readonly type: 'Ignored'; readonly reason: string }
  | { readonly type: 'Fault'; readonly fault: string }
  | {
      readonly type: 'Payment';
      readonly transactionId: string;
      readonly state: string;
      readonly amount: number;
      readonly currency: string;
    };

/** A card that was read before anything is paid: the next payment of the same till is paid by it. */
export type AcquiredCard = {
  readonly card: TestCard;
  /** The transaction that has read it. */
  readonly reference: string;
  readonly saleId: string;
  /** It is forgotten then, epoch milliseconds. */
  readonly until: number;
};

/** How the terminal is at this moment; what stands here is gone when it starts anew. */
export type RuntimeState = {
  hasPaper: boolean;
  isInMaintenance: boolean;
  isBusy: boolean;
  /** What was pending at the start is not found out yet: there is no room for anything new. */
  isRecovering: boolean;
  isReachable: boolean;
  fault: TerminalFault | undefined;
  /** Shown to the next payment. */
  cardName: string;
  /** In the reader, of a card acquisition. */
  acquiredCard: AcquiredCard | undefined;
  /** What tills said that they can show and ask, by SaleID. */
  readonly capabilities: Map<string, readonly string[]>;
  lastReceipt: readonly string[];
  /** What is typed into the terminal, by the command that asks for it. */
  readonly inputs: Map<string, string>;
};

/** Pauses of the terminal, ms. */
export type TerminalTimes = {
  /** Between two steps of a person. */
  readonly stepMs: number;
  /** Until nobody is waited for any more. */
  readonly cardWaitMs: number;
  /** By which an answer is late. */
  readonly lateAnswerMs: number;
  /** To start anew. */
  readonly rebootMs: number;
  /** Between two questions what became of a sale. */
  readonly enquiryMs: number;
  /** How long the platform may take a sale after it was sent. */
  readonly saleValidMs: number;
};

export type ServiceContext = {
  readonly poiId: string;
  readonly serialNumber: string;
  /** ISO 3166, three digits. */
  readonly countryNumeric: string;
  readonly now: () => number;
  /** Aborted when the terminal goes off; taken before the work that it ends. */
  readonly power: () => AbortSignal;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: (size: number) => Uint8Array;
  readonly times: TerminalTimes;
  readonly platform: TerminalPlatform;
  readonly pad: PinPad;
  readonly store: TerminalStore;
  readonly runtime: RuntimeState;
  readonly show: (state: TerminalScreen['state'], ...lines: string[]) => void;
  readonly emit: (happening: TerminalEvent) => void;
  /** Asks the till, where it said that it can be asked; nothing where it cannot, or does not answer. */
  readonly askCashier: (
    call: { readonly header: Header; readonly channel: TerminalChannel },
    question: string,
  ) => Promise<boolean | undefined>;
};

/** One request that is worked on. */
export type ServiceCall<Name extends StructureName = StructureName> = {
  readonly header: Header;
  readonly body: Structure<Name>;
  readonly channel: TerminalChannel;
  /** The till has aborted it, or the terminal has lost its power: looked at after all that is waited for. */
  readonly signal: AbortSignal;
  /** From here on nothing aborts it. */
  readonly preventAbort: () => void;
  /** Puts a fault on the way of the answer. */
  readonly injectFault: (fault: TerminalFault) => void;
};

export type ReplyBody = AnyMessage['body'];
export type ServiceHandler<Name extends StructureName> = (
  call: ServiceCall<Name>,
  context: ServiceContext,
) => Promise<ReplyBody> | ReplyBody;

/** What a service ends with that does not succeed. */
export class ServiceError extends Error {
  readonly condition: OpenValue<'ErrorCondition'>;
  /** The `refusalReason` of `AdditionalResponse`. */
  readonly additional: RefusalReason | undefined;
  /** The terminal's name of the transaction, where there is one. */
  readonly transactionId: string | undefined;

  constructor(
    condition: OpenValue<'ErrorCondition'>,
    additional?: RefusalReason,
    transactionId?: string,
  ) {
    super(`${condition} ${additional ?? ''}`);
    this.condition = condition;
    this.additional = additional;
    this.transactionId = transactionId;
  }
}

/** The terminal loses its power: nothing is answered. */
export class PowerLostError extends Error {}

export const successResponse: Structure<'Response'> = { Result: 'Success' };
