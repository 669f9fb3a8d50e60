// The cardholder of a manual terminal: a person presents cards, enters the PIN and signs.
import {
  type CardEntry,
  type CardholderInput,
  type CardholderPrompt,
  passesLuhn,
} from '@switchyard/contract';
import { exponentOf } from '@switchyard/money';
import { findTestCard, type TestCard, walletCards } from '../cards/test-cards.ts';
import { pause } from '../context/pause.ts';
import {
  type Cardholder,
  type CardRequest,
  type ScreenContent,
  ServiceError,
} from '../context/service-context.ts';

const pinTriesMax = 3;
/** EUR 50.00 or KWD 50.000; JPY 5000, because a yen is worth about as much as a cent. */
const contactlessLimit = { major: 50, withoutMinorUnits: 5_000 };

/** Above the contactless limit, only a device with its own cardholder verification is enough. */
function isAboveContactlessLimit(card: TestCard, { amount, currency }: CardRequest): boolean {
  if (card.entry !== 'Tap' || card.verification === 'Device' || currency === undefined)
    return false;
  const exponent = exponentOf(currency);
  const { major, withoutMinorUnits } = contactlessLimit;
  return amount > (exponent === 0 ? withoutMinorUnits : major * 10 ** exponent);
}

const canBeRead = (name: string, entry: CardEntry): boolean =>
  walletCards.some((card) => card.name === name && card.entries.includes(entry));

/** The card as the terminal reads it; undefined where it cannot be read in this way. */
function presentedCard({
  name,
  entry,
  number,
}: CardholderInput & { type: 'Card' }): TestCard | undefined {
  const card = findTestCard(name);
  if (card === undefined || !canBeRead(name, entry)) return undefined;
  if (number !== undefined && !passesLuhn(number)) return undefined;
  const isVerified = entry === 'Chip' || entry === 'MagStripe' || card.verification === 'Device';
  return {
    ...card,
    entry,
    number: (entry === 'Keyed' ? number : undefined) ?? card.number,
    verification: isVerified ? card.verification : 'None',
  };
}

/** @param timeLimitMs - how long the terminal waits for each input */
export function createCardholder(
  display: (screen: ScreenContent) => void,
  timeLimitMs: number,
): Cardholder & { input(input: CardholderInput): void } {
  let accept: ((input: CardholderInput) => void) | undefined;

  /**
   * Waits for an input that `answerOf` accepts.
   *
   * @throws ServiceError `timeoutReason` after the time limit, or Stop; the reason of the signal once it is aborted
   */
  async function waitFor<Answer>(
    signal: AbortSignal,
    timeoutReason: 'card_not_presented' | 'pin_not_entered' | 'signature_missing_reversed',
    answerOf: (input: CardholderInput) => Answer | undefined,
  ): Promise<Answer> {
    const answered = new Promise<Answer>((resolve, reject) => {
      accept = (input) => {
        const answer = answerOf(input);
        if (answer !== undefined) resolve(answer);
        else if (input.type === 'Cancel')
          reject(new ServiceError('Cancel', 'cancelled_by_cardholder'));
      };
    });
    const waitEnd = new AbortController();
    const timeLimit = pause(timeLimitMs, AbortSignal.any([signal, waitEnd.signal])).then(() => {
      throw new ServiceError('Cancel', timeoutReason);
    });
    try {
      return await Promise.race([answered, timeLimit]);
    } finally {
      accept = undefined;
      waitEnd.abort();
    }
  }

  function show(state: ScreenContent['state'], lines: string[], prompt: CardholderPrompt): void {
    display({ state, lines, prompt });
  }

  function waitForCard(
    text: string,
    entries: readonly CardEntry[],
    signal: AbortSignal,
  ): Promise<TestCard> {
    show('Card', [text, entries.length === 1 ? 'Insert' : 'Insert, tap or swipe'], {
      type: 'Card',
      entries,
    });
    return waitFor(signal, 'card_not_presented', (input) =>
      input.type === 'Card' && entries.includes(input.entry) ? presentedCard(input) : undefined,
    );
  }

  return {
    /** An input is ignored where the terminal does not wait for it. */
    input: (input: CardholderInput) => accept?.(input),

    async presentCard(request, signal) {
      const { text } = request;
      const card = await waitForCard(text, ['Tap', 'Chip', 'MagStripe', 'Keyed'], signal);
      return isAboveContactlessLimit(card, request) ? waitForCard(text, ['Chip'], signal) : card;
    },

    async insertCard({ name }, text, signal) {
      return canBeRead(name, 'Chip') ? waitForCard(text, ['Chip'], signal) : undefined;
    },

    async enterPin(text, tries, signal) {
      if (tries >= pinTriesMax) throw new ServiceError('WrongPIN', 'pin_wrong');
      show('Pin', [text, 'PIN'], { type: 'Pin', triesLeft: pinTriesMax - tries });
      return waitFor(signal, 'pin_not_entered', (input) =>
        input.type === 'Pin' ? input.digits : undefined,
      );
    },

    async sign(text, signal) {
      show('Message', [text, 'Please sign'], { type: 'Signature' });
      try {
        return await waitFor(signal, 'signature_missing_reversed', ({ type }) =>
          type === 'Signature' ? true : undefined,
        );
      } catch (error) {
        if (error instanceof ServiceError) return false;
        throw error;
      }
    },
  };
}
