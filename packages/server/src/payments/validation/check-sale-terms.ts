// Checks a sale against the clock and the terms of the acquirer contract.
import {
  type CaptureMode,
  type Instrument,
  type ProcessRequest,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import { bytesOf, decodeTlv, leavesOf } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';
import { type Clock, dayMs, hourMs, type Metrics } from '../../platform/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import { isAccountVerification } from './validate-sale-request.ts';

/** An account verification captures nothing, so the capture modes of the contract do not apply. */
export const chooseCaptureMode = (
  request: ProcessRequest,
  { defaultCaptureMode }: Pick<AcquirerContract, 'defaultCaptureMode'>,
): CaptureMode =>
  isAccountVerification(request) ? 'Deferred' : (request.captureMode ?? defaultCaptureMode);

/**
 * @throws ProblemError currency_not_supported, capture_mode_not_supported, partial_approval_not_supported,
 *   clear_card_data_refused
 */
export function checkContractTerms(request: ProcessRequest, contract: AcquirerContract): void {
  const { currency, partialApproval, instrument } = request;
  if (!contract.currencies.includes(currency)) {
    const detail = 'The acquirer contract does not include this currency.';
    throwFieldProblem('currency_not_supported', '/currency', detail);
  }
  const mode = chooseCaptureMode(request, contract);
  if (!isAccountVerification(request) && !contract.captureModes.includes(mode)) {
    const detail = `The acquirer contract does not allow ${mode}.`;
    throwFieldProblem('capture_mode_not_supported', '/captureMode', detail);
  }
  if (partialApproval === true && !contract.partialApproval) {
    const detail = 'The acquirer contract does not allow partial approval.';
    throwFieldProblem('partial_approval_not_supported', '/partialApproval', detail);
  }
  if (contract.clearCardData === 'Refused' && holdsClearCardData(instrument)) {
    const detail = 'The acquirer contract does not accept unencrypted card data.';
    throwProblem('clear_card_data_refused', detail);
  }
}

/** Track 1, track 2 and the card number. */
const cardNumberTags = ['56', '57', '5A'];

/** Clear data may come beside encrypted data, such as a clear track 2 beside encrypted chip data. */
function holdsClearCardData({ card, track2, emvData }: Instrument): boolean {
  if (card !== undefined || track2 !== undefined) return true;
  if (emvData === undefined) return false;
  const chipTags = leavesOf(decodeTlv(bytesOf(emvData)));
  return cardNumberTags.some((tag) => chipTags.has(tag));
}

const maxUtcOffsetMs = 12 * hourMs;

type CardExpiry = { /** YYMM */ expiry: string };

/** @throws ProblemError too_late, card_expired_input, currency_unknown */
export function checkTimeLimits(request: ProcessRequest, card: CardExpiry, now: number): void {
  checkNotAfter(request, now);
  checkCardExpiry(card, now);
  checkCurrencyActive(request, now);
}

/** @throws ProblemError currency_unknown */
export function checkCurrencyActive({ currency }: ProcessRequest, time: number): void {
  if (isActiveCurrency(currency, time)) return;
  const detail = 'The currency was not active in ISO 4217 at the time of the sale.';
  throwFieldProblem('currency_unknown', '/currency', detail);
}

/** Epoch ms. Date.parse does not accept a leap second. */
export const parseRequestTime = (time: string): number =>
  Date.parse(time.replace(/:60(?=[.Zz+-])/, ':59'));

/** @throws ProblemError too_late */
export function checkNotAfter({ notAfter }: ProcessRequest, now: number): void {
  if (notAfter === undefined || parseRequestTime(notAfter) >= now) return;
  throwProblem('too_late', 'The request arrived after its notAfter time.');
}

/** @throws ProblemError card_expired_input */
export function checkCardExpiry(card: CardExpiry, time: number): void {
  // A month ends when it has ended in every time zone.
  const month = new Date(time - maxUtcOffsetMs).toISOString().slice(2, 7).replace('-', '');
  if (card.expiry >= month) return;
  throwFieldProblem('card_expired_input', '/instrument', 'The card has expired.');
}

/** Time zones differ by up to a day, and midnight may pass before the request arrives. */
const toleranceDays = 2;

/**
 * A wrong date does not refuse the sale: the issuer verifies the data that the chip signed.
 *
 * @example createTerminalClockCheck({ clock, metrics }).recordDate('261122');
 */
export function createTerminalClockCheck({ clock, metrics }: { clock: Clock; metrics: Metrics }) {
  const deviationCounter = metrics.counter({
    name: 'switchyard_terminal_clock_wrong_total',
    help: 'Chip sales whose terminal date differs by more than two days',
  });
  return {
    /** @param date YYMMDD */
    recordDate(date: string | undefined): void {
      if (date === undefined) return;
      const isoDate = `20${date.slice(0, 2)}-${date.slice(2, 4)}-${date.slice(4)}`;
      const noon = Date.parse(`${isoDate}T12:00:00Z`);
      const isNear = Math.abs(clock.now() - noon) <= toleranceDays * dayMs;
      if (!isNear) deviationCounter.inc();
    },
  };
}

export type TerminalClockCheck = ReturnType<typeof createTerminalClockCheck>;
