// Checks a sale against the clock and the terms of the acquirer contract.
import { type ProcessRequest, refuse, refuseField } from '@switchyard/contract';
import { isActiveCurrency } from '@switchyard/money';
import type { Clock, Metrics } from '../../platform/index.ts';
import { isAccountVerification } from './validate-sale-request.ts';

type SaleContractTerms = {
  currencies: readonly string[];
  captureModes: readonly string[];
  defaultCaptureMode: 'Immediate' | 'Deferred';
  clearCardData: 'Allowed' | 'Refused';
  partialApproval: boolean;
};

/**
 * @throws Refusal currency_not_supported, capture_mode_not_supported, partial_approval_not_supported,
 *   clear_card_data_refused
 */
export function chooseCaptureMode(
  request: ProcessRequest,
  terms: SaleContractTerms,
): 'Immediate' | 'Deferred' {
  if (!terms.currencies.includes(request.currency)) {
    refuseField(
      'currency_not_supported',
      '/currency',
      'The acquirer contract does not include this currency.',
    );
  }
  const { encrypted, token } = request.instrument;
  // An account verification captures nothing, so the capture modes of the contract do not apply.
  const isZeroAmount = isAccountVerification(request);
  const mode = isZeroAmount ? 'Deferred' : (request.captureMode ?? terms.defaultCaptureMode);
  if (!isZeroAmount && !terms.captureModes.includes(mode)) {
    refuseField(
      'capture_mode_not_supported',
      '/captureMode',
      `The acquirer contract does not allow ${mode}.`,
    );
  }
  if (request.partialApproval === true && !terms.partialApproval) {
    refuseField(
      'partial_approval_not_supported',
      '/partialApproval',
      'The acquirer contract does not allow partial approval.',
    );
  }
  const isClear = encrypted === undefined && token === undefined;
  if (terms.clearCardData === 'Refused' && isClear) {
    refuse(
      'clear_card_data_refused',
      'The acquirer contract does not accept unencrypted card data.',
    );
  }
  return mode;
}

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
  refuseField(
    'currency_unknown',
    '/currency',
    'The currency was not active in ISO 4217 at the time of the sale.',
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
  refuseField('card_expired_input', '/instrument', 'The card has expired.');
}

const dayMs = 86_400_000;
/** Time zones differ by up to a day, and midnight may pass before the request arrives. */
const toleranceDays = 2;

/**
 * A wrong date does not refuse the sale: the issuer verifies the data that the chip signed.
 *
 * @example createTerminalClockCheck({ clock, metrics }).checkDate('261122');
 */
export function createTerminalClockCheck({ clock, metrics }: { clock: Clock; metrics: Metrics }) {
  const deviationCounter = metrics.counter({
    name: 'switchyard_terminal_clock_wrong_total',
    help: 'Chip sales whose terminal date differs by more than two days',
  });
  return {
    /** @param date YYMMDD */
    checkDate(date: string | undefined): boolean {
      if (date === undefined) return true;
      const isoDate = `20${date.slice(0, 2)}-${date.slice(2, 4)}-${date.slice(4)}`;
      const day = Date.parse(`${isoDate}T12:00:00Z`);
      const isNear = Math.abs(clock.now() - day) <= toleranceDays * dayMs;
      if (!isNear) deviationCounter.inc();
      return isNear;
    },
  };
}

export type TerminalClockCheck = ReturnType<typeof createTerminalClockCheck>;
