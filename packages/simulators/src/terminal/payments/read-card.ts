// A card at the terminal: shown, read, verified.

import { storyOf } from '../cards/test-amounts.ts';
import { cardNamed, type TestCard, testCards } from '../cards/test-cards.ts';
import { type Inside, ServiceFault, type Work } from '../context/service-context.ts';

const asksFor = ['Insert, tap or swipe'];

function nextCard({ moment }: Inside, amount: number): TestCard {
  const named = cardNamed(storyOf(amount).card ?? moment.cardName) ?? testCards[0];
  if (named === undefined) throw new Error('there is no card');
  return named;
}

/** Waits for as long as the terminal does, and then for nobody. */
async function waitInVain({ sleep, times }: Inside, signal: AbortSignal): Promise<never> {
  await sleep(times.card, signal);
  throw new ServiceFault('Cancel', 'card_not_presented');
}

/** The card that was read for this till: that of another one is of another customer. */
function heldCard(
  { header }: Pick<Work, 'header'>,
  { moment, now }: Inside,
  reference: string | undefined,
): TestCard | undefined {
  const { held } = moment;
  const isHeld = held?.saleId === header.SaleID && now() < held.until;
  const isMeant = reference === undefined || held?.reference === reference;
  if (isHeld && isMeant) return held.card;
  if (reference === undefined) return undefined;
  throw new ServiceFault('NotFound', 'card_acquisition_not_found');
}

/**
 * Has a card shown and reads it, where none is held.
 *
 * @param asked - `reference`: the acquisition that has to have read it
 * @throws ServiceFault where none is, where it cannot be read, or where its holder gives up
 */
export async function readCard(
  work: Pick<Work, 'signal' | 'header'>,
  inside: Inside,
  asked: {
    readonly amount: number;
    readonly text: string;
    readonly reference?: string | undefined;
  },
): Promise<TestCard> {
  const { show, sleep, times } = inside;
  const { amount, text, reference } = asked;
  const held = heldCard(work, inside, reference);
  if (held !== undefined) return held;
  show('Card', text, ...asksFor);
  const card = nextCard(inside, amount);
  if (card.behaviour === 'Absent') return waitInVain(inside, work.signal);
  await sleep(times.step, work.signal);
  if (card.behaviour === 'Cancels') throw new ServiceFault('Cancel', 'cancelled_by_cardholder');
  if (card.behaviour === 'Unreadable') throw new ServiceFault('InvalidCard', 'card_unreadable');
  show('Asking', text, card.label, 'Please wait');
  if (card.behaviour === 'RemovedEarly') {
    await sleep(times.step, work.signal);
    throw new ServiceFault('Cancel', 'card_removed');
  }
  return card;
}

/** Has a PIN typed: digits, which stay inside of the pad. */
export async function typePin(
  work: Pick<Work, 'signal'>,
  { show, sleep, times }: Inside,
  { card, text, tries }: { readonly card: TestCard; readonly text: string; readonly tries: number },
): Promise<string> {
  const digits = card.pins[Math.min(tries, card.pins.length - 1)] ?? '';
  for (let typed = 0; typed <= digits.length; typed += 1) {
    show('Pin', text, tries === 0 ? 'PIN' : 'Wrong PIN, try again', '*'.repeat(typed));
    await sleep(times.step / digits.length, work.signal);
  }
  return digits;
}
