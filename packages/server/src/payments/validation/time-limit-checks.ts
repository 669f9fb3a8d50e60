// Time checks: notAfter, card expiry and currency validity.
import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';
import { isActiveCurrency } from '@switchyard/money';

const maxUtcOffsetMs = 12 * 3_600_000;

type CardExpiry = { /** YYMM */ expiry: string };

/** @throws Refusal too_late, card_expired_input, currency_unknown */
export function checkTimeLimits(request: ProcessRequest, card: CardExpiry, now: number): void {
  checkNotAfter(request, now);
  checkCardExpiry(card, now);
  checkCurrencyActive(request, now);
}

/** @throws Refusal currency_unknown */
export function checkCurrencyActive(
  { currency }: Pick<ProcessRequest, 'currency'>,
  time: number,
): void {
  if (isActiveCurrency(currency, time)) return;
  refuse(
    'currency_unknown',
    'The currency was not active in ISO 4217 at the time of the sale.',
    fieldError('/currency', 'currency_unknown', 'Not active at the time.'),
  );
}

/** Epoch ms. Date.parse does not accept a leap second. */
export const parseRequestTime = (time: string): number =>
  Date.parse(time.replace(/:60(?=[.Zz+-])/, ':59'));

/** @throws Refusal too_late */
export function checkNotAfter({ notAfter }: ProcessRequest, now: number): void {
  if (notAfter === undefined || parseRequestTime(notAfter) >= now) return;
  refuse('too_late', 'The request arrived after its notAfter time.');
}

/** @throws Refusal card_expired_input */
export function checkCardExpiry(card: CardExpiry, time: number): void {
  // A month ends when it has ended in every time zone.
  const day = new Date(time - maxUtcOffsetMs);
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const month = twoDigits(day.getUTCFullYear() % 100) + twoDigits(day.getUTCMonth() + 1);
  if (card.expiry >= month) return;
  refuse(
    'card_expired_input',
    'The card has expired.',
    fieldError('/instrument', 'card_expired_input', 'Its month of expiry is over.'),
  );
}
