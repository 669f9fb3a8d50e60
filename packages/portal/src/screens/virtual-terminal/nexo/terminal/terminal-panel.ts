/** The terminal panel: screen state and user input. */

import { ServiceError } from './service-error.ts';
import { type CardEntryMethod, passesLuhn, type TestCard, testCardPin } from './test-cards.ts';

export type MoneyAmount = { readonly amount: number; readonly currency: string };

export type ScreenState =
  | { readonly state: 'Idle' | 'Starting' | 'Off' }
  | {
      readonly state: 'Card';
      readonly sum: MoneyAmount;
      readonly ways: readonly CardEntryMethod[];
      /** The reason for the second request. */
      readonly hint?: 'Insert' | undefined;
    }
  | {
      readonly state: 'Number';
      readonly sum: MoneyAmount;
      readonly digits: string;
      readonly isWrong: boolean;
    }
  | {
      readonly state: 'Pin';
      readonly sum: MoneyAmount;
      readonly typed: number;
      readonly triesLeft: number;
    }
  | { readonly state: 'Signature'; readonly sum: MoneyAmount }
  | { readonly state: 'Busy'; readonly sum?: MoneyAmount | undefined }
  | { readonly state: 'Approved' | 'Reversed'; readonly sum: MoneyAmount }
  | {
      readonly state: 'Declined';
      readonly sum?: MoneyAmount | undefined;
      readonly condition: string;
      readonly text?: string | undefined;
    };

export type TerminalKey =
  | '0'
  | '1'
  | '2'
  | '3'
  | '4'
  | '5'
  | '6'
  | '7'
  | '8'
  | '9'
  | 'Clear'
  | 'Ok'
  | 'Cancel';

export type PresentedCard = { readonly card: TestCard; readonly way: CardEntryMethod };

export type TerminalPanel = ReturnType<typeof createTerminalPanel>;

type PanelHandlers = {
  readonly present?: (presented: PresentedCard) => void;
  readonly key?: (key: Exclude<TerminalKey, 'Cancel'>) => void;
  readonly sign?: () => void;
};

const digitsMost = 19;
const pinLength = { least: 4, most: 12 };
export const pinTries = 3;

const isDigit = (key: TerminalKey): boolean => key.length === 1;

/** The text after a key press. */
function typed(text: string, key: TerminalKey, most: number): string {
  if (key === 'Clear') return text.slice(0, -1);
  return isDigit(key) && text.length < most ? text + key : text;
}

/** @example const { card, way } = await panel.waitForCard(amount, ['Tap', 'Insert'], signal); */
export function createTerminalPanel({ cardMs }: { readonly cardMs: number }) {
  const listeners = new Set<() => void>();
  let screen: ScreenState = { state: 'Starting' };
  let handlers: PanelHandlers & { readonly end?: (fault: ServiceError) => void } = {};

  function show(next: ScreenState): void {
    screen = next;
    for (const listener of listeners) listener();
  }

  /** Waits for user input, cancellation, an abort or the time limit. */
  function wait<Answer>(
    signal: AbortSignal,
    use: (done: (answer: Answer) => void, fail: (fault: ServiceError) => void) => PanelHandlers,
  ): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const over = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        handlers = {};
      };
      const fail = (fault: unknown) => {
        over();
        reject(fault);
      };
      const aborted = () => fail(signal.reason);
      const timer = setTimeout(
        () => fail(new ServiceError('Cancel', 'card_not_presented')),
        cardMs,
      );
      if (signal.aborted) {
        aborted();
        return;
      }
      signal.addEventListener('abort', aborted);
      const done = (answer: Answer) => {
        over();
        resolve(answer);
      };
      handlers = { ...use(done, fail), end: fail };
    });
  }

  /** The terminal displays the keyed number, so that the cardholder can check it. */
  async function waitForNumber(
    sum: MoneyAmount,
    card: TestCard,
    signal: AbortSignal,
  ): Promise<TestCard> {
    let digits = card.number;
    const showNumber = (isWrong: boolean) => show({ state: 'Number', sum, digits, isWrong });
    showNumber(false);
    return wait<TestCard>(signal, (done) => ({
      key(key) {
        if (key === 'Ok' && passesLuhn(digits)) {
          done({ ...card, number: digits });
          return;
        }
        digits = typed(digits, key, digitsMost);
        showNumber(key === 'Ok');
      },
    }));
  }

  return {
    screen: () => screen,
    show,
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    async waitForCard(
      sum: MoneyAmount,
      ways: readonly CardEntryMethod[],
      signal: AbortSignal,
      hint?: 'Insert',
    ): Promise<PresentedCard> {
      show({ state: 'Card', sum, ways, hint });
      const presented = await wait<PresentedCard>(signal, (done) => ({
        present(presented) {
          if (ways.includes(presented.way) && presented.card.ways.includes(presented.way))
            done(presented);
        },
      }));
      if (presented.way !== 'Key') return presented;
      return { way: 'Key', card: await waitForNumber(sum, presented.card, signal) };
    },

    /**
     * Waits for the correct PIN; only the chip compares it. @throws ServiceError after too many
     * attempts
     */
    async waitForPin(sum: MoneyAmount, signal: AbortSignal): Promise<void> {
      let triesLeft = pinTries;
      let pin = '';
      const showPin = () => show({ state: 'Pin', sum, typed: pin.length, triesLeft });
      showPin();
      await wait<true>(signal, (done, fail) => ({
        key(key) {
          if (key === 'Ok' && pin.length >= pinLength.least) {
            if (pin === testCardPin) {
              done(true);
              return;
            }
            triesLeft -= 1;
            pin = '';
            if (triesLeft === 0) {
              fail(new ServiceError('WrongPIN', 'pin_wrong'));
              return;
            }
          } else pin = typed(pin, key, pinLength.most);
          showPin();
        },
      }));
    },

    async waitForSignature(sum: MoneyAmount, signal: AbortSignal): Promise<void> {
      show({ state: 'Signature', sum });
      await wait<true>(signal, (done) => ({ sign: () => done(true) }));
    },

    /** User input; ignored if the panel waits for nothing. */
    present: (presented: PresentedCard) => handlers.present?.(presented),
    press(key: TerminalKey): void {
      if (key === 'Cancel') handlers.end?.(new ServiceError('Cancel', 'cancelled_by_cardholder'));
      else handlers.key?.(key);
    },
    sign: () => handlers.sign?.(),
    /** The page is closed. */
    leave: () => handlers.end?.(new ServiceError('Aborted', 'terminal_closed')),
  };
}
