/** The front of the terminal: what its screen shows, and what hands do to it. */

import { ServiceFault } from './service-error.ts';
import { passesLuhn, rightPin, type TestCard, type Way } from './test-cards.ts';

export type Sum = { readonly amount: number; readonly currency: string };

export type Screen =
  | { readonly state: 'Idle' | 'Starting' | 'Off' }
  | {
      readonly state: 'Card';
      readonly sum: Sum;
      readonly ways: readonly Way[];
      /** Why it is asked again. */
      readonly hint?: 'Insert' | undefined;
    }
  | {
      readonly state: 'Number';
      readonly sum: Sum;
      readonly digits: string;
      readonly isWrong: boolean;
    }
  | {
      readonly state: 'Pin';
      readonly sum: Sum;
      readonly typed: number;
      readonly triesLeft: number;
    }
  | { readonly state: 'Signature'; readonly sum: Sum }
  | { readonly state: 'Busy'; readonly sum?: Sum | undefined }
  | { readonly state: 'Approved' | 'Reversed'; readonly sum: Sum }
  | {
      readonly state: 'Declined';
      readonly sum?: Sum | undefined;
      readonly condition: string;
      readonly text?: string | undefined;
    };

export type Key =
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

export type Presented = { readonly card: TestCard; readonly way: Way };

export type Panel = ReturnType<typeof createPanel>;

type Hands = {
  readonly present?: (presented: Presented) => void;
  readonly key?: (key: Exclude<Key, 'Cancel'>) => void;
  readonly sign?: () => void;
};

const digitsMost = 19;
const pinLength = { least: 4, most: 12 };
export const pinTries = 3;

const isDigit = (key: Key): boolean => key.length === 1;

/** What is left of a text after a key. */
function typed(text: string, key: Key, most: number): string {
  if (key === 'Clear') return text.slice(0, -1);
  return isDigit(key) && text.length < most ? text + key : text;
}

/** @example const { card, way } = await panel.waitForCard(sum, ['Tap', 'Insert'], signal); */
export function createPanel({ cardMs }: { readonly cardMs: number }) {
  const listeners = new Set<() => void>();
  let screen: Screen = { state: 'Starting' };
  let hands: Hands & { readonly end?: (fault: ServiceFault) => void } = {};

  function show(next: Screen): void {
    screen = next;
    for (const listener of listeners) listener();
  }

  /** Until hands have done it, the holder stops, the till aborts, or nobody is there. */
  function wait<Answer>(
    signal: AbortSignal,
    use: (done: (answer: Answer) => void, fail: (fault: ServiceFault) => void) => Hands,
  ): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const over = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        hands = {};
      };
      const fail = (fault: unknown) => {
        over();
        reject(fault);
      };
      const aborted = () => fail(signal.reason);
      const timer = setTimeout(
        () => fail(new ServiceFault('Cancel', 'card_not_presented')),
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
      hands = { ...use(done, fail), end: fail };
    });
  }

  /** The number is typed by its holder: the terminal shows it, as it has no other way to be checked. */
  async function waitForNumber(sum: Sum, card: TestCard, signal: AbortSignal): Promise<TestCard> {
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
      sum: Sum,
      ways: readonly Way[],
      signal: AbortSignal,
      hint?: 'Insert',
    ): Promise<Presented> {
      show({ state: 'Card', sum, ways, hint });
      const presented = await wait<Presented>(signal, (done) => ({
        present(presented) {
          if (ways.includes(presented.way) && presented.card.ways.includes(presented.way)) done(presented);
        },
      }));
      if (presented.way !== 'Key') return presented;
      return { way: 'Key', card: await waitForNumber(sum, presented.card, signal) };
    },

    /** Until it is right: the chip compares it, and it stays between the two. @throws ServiceFault */
    async waitForPin(sum: Sum, signal: AbortSignal): Promise<void> {
      let triesLeft = pinTries;
      let pin = '';
      const showPin = () => show({ state: 'Pin', sum, typed: pin.length, triesLeft });
      showPin();
      await wait<true>(signal, (done, fail) => ({
        key(key) {
          if (key === 'Ok' && pin.length >= pinLength.least) {
            if (pin === rightPin) {
              done(true);
              return;
            }
            triesLeft -= 1;
            pin = '';
            if (triesLeft === 0) {
              fail(new ServiceFault('WrongPIN', 'pin_wrong'));
              return;
            }
          } else pin = typed(pin, key, pinLength.most);
          showPin();
        },
      }));
    },

    async waitForSignature(sum: Sum, signal: AbortSignal): Promise<void> {
      show({ state: 'Signature', sum });
      await wait<true>(signal, (done) => ({ sign: () => done(true) }));
    },

    /** What hands do; where nothing waits for it, nothing happens. */
    present: (presented: Presented) => hands.present?.(presented),
    press(key: Key): void {
      if (key === 'Cancel') hands.end?.(new ServiceFault('Cancel', 'cancelled_by_cardholder'));
      else hands.key?.(key);
    },
    sign: () => hands.sign?.(),
    /** Nobody stands before it any more. */
    leave: () => hands.end?.(new ServiceFault('Aborted', 'terminal_closed')),
  };
}
