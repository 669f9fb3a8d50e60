// Time checks: notAfter, card expiry and currency validity.
import { type ProcessRequest, refuse } from '@switchyard/contract';
import { isActiveCurrency } from '@switchyard/money';

const maxUtcOffsetMs = 12 * 3_600_000;

/**
 * What was right yesterday and is wrong today.
 *
 * @throws Refusal too_late, card_expired_input, currency_unknown
 */
export function checkTimeLimits(
  request: ProcessRequest,
  card: { expiry: string },
  now: number,
): void {
  checkNotAfter(request, now);
  checkCardExpiry(card, now);
  checkCurrencyActive(request, now);
}

/** Whether payments were made in the currency at a time. @throws Refusal currency_unknown */
export function checkCurrencyActive(
  { currency }: Pick<ProcessRequest, 'currency'>,
  time: number,
): void {
  if (isActiveCurrency(currency, time)) return;
  refuse('currency_unknown', 'The currency was not active in ISO 4217 at the time of the sale.', {
    errors: [{ pointer: '/currency', code: 'currency_unknown', detail: 'Not active at the time.' }],
  });
}

/** @throws Refusal too_late */
export function checkNotAfter({ notAfter }: ProcessRequest, now: number): void {
  // A leap second cannot be told apart from the second after it.
  const limit = notAfter?.replace(/:60(?=[.Zz+-])/, ':59');
  if (limit === undefined || Date.parse(limit) >= now) return;
  refuse('too_late', 'The request arrived after its notAfter time.');
}

/** Whether the card was good at a time. @throws Refusal card_expired_input */
export function checkCardExpiry(card: { expiry: string }, time: number): void {
  // A month is over once it is over everywhere on earth.
  const day = new Date(time - maxUtcOffsetMs);
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const month = twoDigits(day.getUTCFullYear() % 100) + twoDigits(day.getUTCMonth() + 1);
  if (card.expiry >= month) return;
  refuse('card_expired_input', 'The card has expired.', {
    errors: [
      {
        pointer: '/instrument',
        code: 'card_expired_input',
        detail: 'Its month of expiry is over.',
      },
    ],
  });
}
