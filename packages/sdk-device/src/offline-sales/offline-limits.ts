/** Decides which sales a terminal may make offline; pure rules without a clock or a file. */
import { createHmac } from 'node:crypto';
import type { ProcessRequest } from '@switchyard/contract';

/**
 * Limits of the sales in the queue. A missing limit means no limit, except for `count`.
 *
 * @example
 * const limits: OfflineLimits = {
 *   count: 200, sums: { EUR: 500_000 }, amounts: { EUR: 5_000 }, ageHours: 72,
 *   perCard: { count: 2, sums: { EUR: 8_000 } },
 * };
 */
export type OfflineLimits = {
  /** How many sales may wait at a time; default 1,000. */
  readonly count?: number;
  /** The sum of all waiting sales, by currency, in minor units. Other currencies are refused. */
  readonly sums?: Readonly<Record<string, number>>;
  /** The floor limit: the highest amount of one sale, by currency. Other currencies are refused. */
  readonly amounts?: Readonly<Record<string, number>>;
  /** The terminal makes no more offline sales when the oldest sale has waited for this time. */
  readonly ageHours?: number;
  /** Limits of one card among the waiting sales. */
  readonly perCard?: {
    readonly count?: number;
    readonly sums?: Readonly<Record<string, number>>;
  };
};

/**
 * Why a terminal may not make an offline sale.
 *
 * @example
 * if (error.code === 'offline_amount') askForAnotherWay();
 */
export type OfflineRefusalReason =
  | 'offline_count'
  | 'offline_sum'
  | 'offline_amount'
  | 'offline_age'
  | 'offline_card_count'
  | 'offline_card_sum'
  | 'offline_card_unknown'
  | 'offline_kind';

export type QueuedSale = {
  readonly amount: number;
  readonly currency: string;
  readonly authorizedAt: number;
  readonly card?: string | undefined;
};

const defaultCount = 1_000;
const hourMs = 3_600_000;
const exceedsLimit = (
  limits: Readonly<Record<string, number>> | undefined,
  currency: string,
  sum: number,
) => limits !== undefined && sum > (limits[currency] ?? 0);

/** @returns the reason of the refusal, or undefined */
export function findOfflineRefusal(
  sale: Omit<QueuedSale, 'authorizedAt'>,
  queued: readonly QueuedSale[],
  limits: OfflineLimits,
  now: number,
): OfflineRefusalReason | undefined {
  const { amount, currency, card } = sale;
  const sumOf = (sales: readonly QueuedSale[]) =>
    sales.reduce((sum, each) => (each.currency === currency ? sum + each.amount : sum), amount);
  if (queued.length >= (limits.count ?? defaultCount)) return 'offline_count';
  if (exceedsLimit(limits.amounts, currency, amount)) return 'offline_amount';
  if (exceedsLimit(limits.sums, currency, sumOf(queued))) return 'offline_sum';
  const oldest = Math.min(...queued.map(({ authorizedAt }) => authorizedAt), now);
  if (limits.ageHours !== undefined && now - oldest >= limits.ageHours * hourMs)
    return 'offline_age';
  if (limits.perCard === undefined) return undefined;
  if (card === undefined) return 'offline_card_unknown';
  const salesOfCard = queued.filter((each) => each.card === card);
  if (salesOfCard.length >= (limits.perCard.count ?? Number.POSITIVE_INFINITY))
    return 'offline_card_count';
  return exceedsLimit(limits.perCard.sums, currency, sumOf(salesOfCard))
    ? 'offline_card_sum'
    : undefined;
}

/** False for sales that need the platform: for example with a PIN or a partial approval. */
export function isOfflineCapable(sale: ProcessRequest): boolean {
  const { pinblock, confirmWithinSeconds, partialApproval, orderChannel, purpose, captureMode } =
    sale;
  return (
    pinblock === undefined &&
    confirmWithinSeconds === undefined &&
    partialApproval !== true &&
    orderChannel === undefined &&
    purpose === undefined &&
    captureMode !== 'Deferred' &&
    sale.amount > 0
  );
}

const trackPattern = /^;?(\d{12,19})[=D]/i;
const chipPanPattern = /5A([0-9A-F]{2})/gi;
const chipTrackPattern = /57[0-9A-F]{2}(\d{12,19})D/i;

/** The card number, if the terminal can read it; undefined for encrypted card data. */
function readCardNumber({ instrument }: ProcessRequest): string | undefined {
  const { card, track2, emvData } = instrument as {
    card?: { number?: string };
    track2?: string;
    emvData?: string;
  };
  if (card?.number !== undefined) return card.number;
  if (track2 !== undefined) return trackPattern.exec(track2)?.[1];
  if (emvData === undefined) return undefined;
  const track = chipTrackPattern.exec(emvData)?.[1];
  if (track !== undefined) return track;
  for (const { index, 1: length = '' } of emvData.matchAll(chipPanPattern)) {
    const digits = emvData.slice(index + 4, index + 4 + Number.parseInt(length, 16) * 2);
    if (/^\d{12,19}F?$/i.test(digits)) return digits.replace(/F$/i, '');
  }
  return undefined;
}

/** Identifies a card among offline sales by a keyed hash, of which only half is stored. */
export function hashCardNumber(sale: ProcessRequest, key: Buffer): string | undefined {
  const number = readCardNumber(sale);
  if (number === undefined) return undefined;
  return createHmac('sha256', key).update(number).digest('hex').slice(0, 32);
}
