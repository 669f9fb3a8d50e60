// The parameters of every service: the call with its till, and the parts of the terminal.
import type { CardholderPrompt } from '@switchyard/contract';
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
 * The connection to a till.
 *
 * @example
 * await terminal.receive(text, { isTwoWay: true, send: (text) => socket.send(text), drop: () => socket.terminate() });
 */
export type TerminalChannel = {
  /** Whether the terminal can send messages that are not an answer. */
  readonly isTwoWay: boolean;
  /** Protects messages; with it the terminal rejects unprotected messages. */
  readonly protection?: Protection | undefined;
  send(text: string): void;
  /** Closes the connection. */
  drop(): void;
};

/**
 * The display of the terminal.
 *
 * @example
 * const screen: TerminalScreen = { state: 'Card', lines: ['12.50 EUR', 'Insert, tap or swipe'] };
 */
export type ScreenContent = {
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
  /** The input for which a manual terminal waits. */
  readonly prompt?: CardholderPrompt;
};

/**
 * An event in the terminal, for a log or a screen. It contains no card data.
 *
 * @example
 * const event: TerminalEvent = { type: 'Printed', lines: ['SALE', '12.50 EUR'] };
 */
export type TerminalEvent =
  | { readonly type: 'Screen'; readonly screen: ScreenContent }
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

/** A card from a card acquisition: the next payment of the same till uses it. */
export type AcquiredCard = {
  readonly card: TestCard;
  /** The card acquisition that read it. */
  readonly reference: string;
  readonly saleId: string;
  /** Expiry, epoch milliseconds. */
  readonly until: number;
};

/** The state of the running terminal; a restart resets it. */
export type RuntimeState = {
  hasPaper: boolean;
  isInMaintenance: boolean;
  isBusy: boolean;
  /** The terminal is still resolving work from before the restart and starts no new service. */
  isRecovering: boolean;
  isReachable: boolean;
  fault: TerminalFault | undefined;
  /** The card of the next payment. */
  cardName: string;
  /** The card in the reader, from a card acquisition. */
  acquiredCard: AcquiredCard | undefined;
  /** SaleCapabilities of the tills, by SaleID. */
  readonly capabilities: Map<string, readonly string[]>;
  lastReceipt: readonly string[];
  /** The input of the customer, by InputCommand. */
  readonly inputs: Map<string, string>;
};

/** Times of the terminal. */
export type TerminalTimes = {
  /** Between two steps of a person. */
  readonly stepMs: number;
  /** How long the terminal waits for a card. */
  readonly cardWaitMs: number;
  /** Delay of a late answer. */
  readonly lateAnswerMs: number;
  /** Duration of a restart. */
  readonly rebootMs: number;
  /** Between two status requests for a sale. */
  readonly enquiryMs: number;
  /** How long the platform may accept a sale after it was sent. */
  readonly saleValidMs: number;
};

/** What the terminal asks a cardholder for. */
export type CardRequest = {
  readonly amount: number;
  /** Absent where no amount is paid. */
  readonly currency?: string | undefined;
  /** Amount as text for the display. */
  readonly text: string;
};

/** The person at a manual terminal. Each call ends with the signal, with Stop and after the time limit. */
export type Cardholder = {
  presentCard(request: CardRequest, signal: AbortSignal): Promise<TestCard>;
  /** The chip of a card that was tapped; undefined where the card has none. */
  insertCard(card: TestCard, text: string, signal: AbortSignal): Promise<TestCard | undefined>;
  /** @throws ServiceError `WrongPIN` after three wrong PINs */
  enterPin(text: string, tries: number, signal: AbortSignal): Promise<string>;
  /** False where the cardholder does not sign. */
  sign(text: string, signal: AbortSignal): Promise<boolean>;
};

export type ServiceContext = {
  readonly poiId: string;
  readonly serialNumber: string;
  /** ISO 3166, three digits. */
  readonly countryNumeric: string;
  readonly now: () => number;
  /** The signal is aborted when the power goes off; get it before the work that it ends. */
  readonly power: () => AbortSignal;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: (size: number) => Uint8Array;
  readonly times: TerminalTimes;
  readonly platform: TerminalPlatform;
  readonly pad: PinPad;
  readonly store: TerminalStore;
  readonly runtime: RuntimeState;
  readonly show: (state: ScreenContent['state'], ...lines: string[]) => void;
  readonly emit: (event: TerminalEvent) => void;
  /** Absent where the terminal simulates the cardholder. */
  readonly cardholder: Cardholder | undefined;
  /** Asks the cashier; undefined where the till does not support it or does not answer. */
  readonly askCashier: (
    call: { readonly header: Header; readonly channel: TerminalChannel },
    question: string,
  ) => Promise<boolean | undefined>;
};

/** One service request in progress. */
export type ServiceCall<Name extends StructureName = StructureName> = {
  readonly header: Header;
  readonly body: Structure<Name>;
  readonly channel: TerminalChannel;
  /** Aborted by the till, or by a power loss; check it after each await. */
  readonly signal: AbortSignal;
  /** From now on the till cannot abort the service. */
  readonly preventAbort: () => void;
  /** Sets a fault for sending the answer. */
  readonly injectFault: (fault: TerminalFault) => void;
};

export type ReplyBody = AnyMessage['body'];
export type ServiceHandler<Name extends StructureName> = (
  call: ServiceCall<Name>,
  context: ServiceContext,
) => Promise<ReplyBody> | ReplyBody;

/** The error that ends a service with a failure. */
export class ServiceError extends Error {
  readonly condition: OpenValue<'ErrorCondition'>;
  /** The `refusalReason` of `AdditionalResponse`. */
  readonly additional: RefusalReason | undefined;
  /** Identifier of the transaction, where there is one. */
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

/** The terminal lost its power: it sends no answer. */
export class PowerLostError extends Error {}

export const successResponse: Structure<'Response'> = { Result: 'Success' };
