// Reads a card and enters its PIN.

import { testAmountOf } from '../cards/test-amounts.ts';
import { findTestCard, type TestCard, testCards } from '../cards/test-cards.ts';
import { type ServiceCall, type ServiceContext, ServiceError } from '../context/service-context.ts';

const asksFor = ['Insert, tap or swipe'];

function nextCard({ runtime }: ServiceContext, amount: number): TestCard {
  const card = findTestCard(testAmountOf(amount).card ?? runtime.cardName) ?? testCards[0];
  if (card === undefined) throw new Error('there is no card');
  return card;
}

/** Waits until the time for presenting a card is over. */
async function waitForCardTimeout(
  { sleep, times }: ServiceContext,
  signal: AbortSignal,
): Promise<never> {
  await sleep(times.cardWaitMs, signal);
  throw new ServiceError('Cancel', 'card_not_presented');
}

/** The acquired card of this till; the card of another till belongs to another customer. */
function findAcquiredCard(
  { header }: Pick<ServiceCall, 'header'>,
  { runtime, now }: ServiceContext,
  reference: string | undefined,
): TestCard | undefined {
  const { acquiredCard: held } = runtime;
  const isOfTill = held?.saleId === header.SaleID && now() < held.until;
  const isReferenced = reference === undefined || held?.reference === reference;
  if (isOfTill && isReferenced) return held.card;
  if (reference === undefined) return undefined;
  throw new ServiceError('NotFound', 'card_acquisition_not_found');
}

/**
 * Waits for a card and reads it, unless a card was acquired before.
 *
 * @param request - `reference`: the card acquisition that the payment refers to
 * @throws ServiceError where no card is presented, the card is unreadable, or the holder cancels
 */
export async function readCard(
  call: Pick<ServiceCall, 'signal' | 'header'>,
  context: ServiceContext,
  request: {
    readonly amount: number;
    readonly currency?: string;
    readonly text: string;
    readonly reference?: string | undefined;
  },
): Promise<TestCard> {
  const { show, sleep, times, cardholder } = context;
  const { amount, text, reference } = request;
  const acquiredCard = findAcquiredCard(call, context, reference);
  if (acquiredCard !== undefined) return acquiredCard;
  if (cardholder !== undefined) return cardholder.presentCard(request, call.signal);
  show('Card', text, ...asksFor);
  const card = nextCard(context, amount);
  if (card.behaviour === 'Absent') return waitForCardTimeout(context, call.signal);
  await sleep(times.stepMs, call.signal);
  if (card.behaviour === 'Cancels') throw new ServiceError('Cancel', 'cancelled_by_cardholder');
  if (card.behaviour === 'Unreadable') throw new ServiceError('InvalidCard', 'card_unreadable');
  show('Asking', text, card.label, 'Please wait');
  if (card.behaviour === 'RemovedEarly') {
    await sleep(times.stepMs, call.signal);
    throw new ServiceError('Cancel', 'card_removed');
  }
  return card;
}

/** Enters a PIN; its digits never leave the PIN pad. */
export async function enterPin(
  call: Pick<ServiceCall, 'signal'>,
  { show, sleep, times, cardholder }: ServiceContext,
  { card, text, tries }: { readonly card: TestCard; readonly text: string; readonly tries: number },
): Promise<string> {
  if (cardholder !== undefined) return cardholder.enterPin(text, tries, call.signal);
  const digits = card.pins[Math.min(tries, card.pins.length - 1)] ?? '';
  for (let typed = 0; typed <= digits.length; typed += 1) {
    show('Pin', text, tries === 0 ? 'PIN' : 'Wrong PIN, try again', '*'.repeat(typed));
    await sleep(times.stepMs / digits.length, call.signal);
  }
  return digits;
}
