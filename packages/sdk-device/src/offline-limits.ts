/** What a terminal may sell on its own: rules without a clock or a file. */
import { createHmac } from 'node:crypto';
import type { ProcessRequest } from '@switchyard/contract';

/**
 * Limits of the sales that wait in a queue. What is left out is not limited, but for the count.
 *
 * @example
 * const limits: OfflineLimits = {
 *   count: 200, sums: { EUR: 500_000 }, amounts: { EUR: 5_000 }, ageHours: 72,
 *   perCard: { count: 2, sums: { EUR: 8_000 } },
 * };
 */
export type OfflineLimits = {
  /** Sales that wait at a time; 1,000 where it is left out. */
  readonly count?: number;
  /** All that wait, by currency, in minor units; a currency that is not named is not sold. */
  readonly sums?: Readonly<Record<string, number>>;
  /** One sale, by currency: the floor limit. A currency that is not named is not sold. */
  readonly amounts?: Readonly<Record<string, number>>;
  /** Nothing more is sold once the oldest sale has waited for so long. */
  readonly ageHours?: number;
  /** Of one card, among those that wait. */
  readonly perCard?: {
    readonly count?: number;
    readonly sums?: Readonly<Record<string, number>>;
  };
};

/**
 * Why a terminal may not sell on its own.
 *
 * @example
 * if (error.code === 'offline_amount') askForAnotherWay();
 */
export type OfflineRefusal =
  | 'offline_count'
  | 'offline_sum'
  | 'offline_amount'
  | 'offline_age'
  | 'offline_card_count'
  | 'offline_card_sum'
  | 'offline_card_unknown'
  | 'offline_kind';

export type Waiting = {
  readonly amount: number;
  readonly currency: string;
  readonly authorizedAt: number;
  readonly card?: string | undefined;
};

const defaultCount = 1_000;
const hourMs = 3_600_000;
const above = (
  limits: Readonly<Record<string, number>> | undefined,
  currency: string,
  sum: number,
) => limits !== undefined && sum > (limits[currency] ?? 0);

/** @returns why not, or undefined */
export function refusalOf(
  sale: Omit<Waiting, 'authorizedAt'>,
  waiting: readonly Waiting[],
  limits: OfflineLimits,
  now: number,
): OfflineRefusal | undefined {
  const { amount, currency, card } = sale;
  const sumOf = (sales: readonly Waiting[]) =>
    sales.reduce((sum, each) => (each.currency === currency ? sum + each.amount : sum), amount);
  if (waiting.length >= (limits.count ?? defaultCount)) return 'offline_count';
  if (above(limits.amounts, currency, amount)) return 'offline_amount';
  if (above(limits.sums, currency, sumOf(waiting))) return 'offline_sum';
  const oldest = Math.min(...waiting.map(({ authorizedAt }) => authorizedAt), now);
  if (limits.ageHours !== undefined && now - oldest >= limits.ageHours * hourMs)
    return 'offline_age';
  if (limits.perCard === undefined) return undefined;
  if (card === undefined) return 'offline_card_unknown';
  const ofCard = waiting.filter((each) => each.card === card);
  if (ofCard.length >= (limits.perCard.count ?? Number.POSITIVE_INFINITY))
    return 'offline_card_count';
  return above(limits.perCard.sums, currency, sumOf(ofCard)) ? 'offline_card_sum' : undefined;
}

/** What can be decided later only by the platform: no PIN, no confirmation, nothing partial. */
export function isSellable(sale: ProcessRequest): boolean {
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

const trackForm = /^;?(\d{12,19})[=D]/i;
const chipNumberForm = /5A([0-9A-F]{2})/gi;
const chipTrackForm = /57[0-9A-F]{2}(\d{12,19})D/i;

/** The number of a card that the terminal can read; of one that is encrypted it has none. */
function numberIn({ instrument }: ProcessRequest): string | undefined {
  const { card, track2, emvData } = instrument as {
    card?: { number?: string };
    track2?: string;
    emvData?: string;
  };
  if (card?.number !== undefined) return card.number;
  if (track2 !== undefined) return trackForm.exec(track2)?.[1];
  if (emvData === undefined) return undefined;
  const track = chipTrackForm.exec(emvData)?.[1];
  if (track !== undefined) return track;
  for (const { index, 1: length = '' } of emvData.matchAll(chipNumberForm)) {
    const digits = emvData.slice(index + 4, index + 4 + Number.parseInt(length, 16) * 2);
    if (/^\d{12,19}F?$/i.test(digits)) return digits.replace(/F$/i, '');
  }
  return undefined;
}

/** Tells cards apart and is of no use elsewhere: a keyed hash, of which half is kept. */
export function cardOf(sale: ProcessRequest, key: Buffer): string | undefined {
  const number = numberIn(sale);
  if (number === undefined) return undefined;
  return createHmac('sha256', key).update(number).digest('hex').slice(0, 32);
}
