/** A sale at the platform: with a card that was tapped, inserted, swiped or typed in. */

import { defined, type Transaction } from '@switchyard/contract';
import { exponentOf, numericOf } from '@switchyard/money';
import { passOnReason, type Structure } from '@switchyard/nexo';
import { expiryAt } from '../../card-expiry.ts';
import { chipObjects, trackOf } from './chip-data.ts';
import { conditionOf, knownOf, refusalOf, takeBack } from './sale-outcome.ts';
import type { Inside, Work } from './service-context.ts';
import { ServiceFault } from './service-error.ts';
import type { Presented, Sum } from './terminal-panel.ts';
import { ways as allWays, type TestCard, tapLimit, type Way } from './test-cards.ts';

export type Sale = Sum & { readonly saleData: Structure<'SaleData'> };

export type Approval = Presented & {
  readonly transaction: Transaction;
  readonly isPinVerified: boolean;
};

type Try = Presented & {
  readonly isPinVerified: boolean;
  /** The declined tap that this one repeats. */
  readonly stepUpOf: string | undefined;
};

const triesMost = 3;
/** Longer than a holder takes to sign. */
const confirmSeconds = 120;
const unpredictableBytes = 4;
const cryptogramBytes = 8;
const orderMost = 64;
const entryModes = {
  Tap: 'ContactlessChip',
  Insert: 'ContactChip',
  Swipe: 'MagStripe',
  Key: 'Keyed',
} as const satisfies Record<Way, string>;

/** Whether the holder signs: of a card that is not tapped nor typed in. */
export const isSigned = (verification: TestCard['verification'], way: Way): boolean =>
  verification === 'Signature' && (way === 'Insert' || way === 'Swipe');

function instrumentOf(inside: Inside, sale: Sale, attempt: Try, number: number): object {
  const { card, way, isPinVerified } = attempt;
  const { now, randomHex } = inside;
  if (way === 'Swipe') return { track2: trackOf(card, way, now()) };
  if (way === 'Key') {
    const { month: expiryMonth, year: expiryYear } = expiryAt(now());
    return { card: { number: card.number, expiryMonth, expiryYear } };
  }
  const emvData = chipObjects(card, {
    amount: sale.amount,
    currencyNumeric: numericOf(sale.currency),
    at: now(),
    number,
    way,
    isPinVerified,
    unpredictable: randomHex(unpredictableBytes),
    cryptogram: randomHex(cryptogramBytes),
  });
  return { emvData };
}

function orderOf({ saleData }: Sale): object {
  const orderId = saleData.SaleTransactionID.TransactionID;
  return orderId.length > 0 && orderId.length <= orderMost ? { order: { orderId } } : {};
}

/** @throws ServiceFault where the sale was surely not approved; what is uncertain is taken back */
async function send(
  { header }: Pick<Work, 'header'>,
  inside: Inside,
  sale: Sale,
  attempt: Try,
): Promise<Transaction> {
  const { keeper, platform, now, times, tsn, panel } = inside;
  const { amount, currency, saleData } = sale;
  const number = keeper.read().transactions + 1;
  const serial = tsn.slice(tsn.lastIndexOf('-') + 1);
  const clientTransactionId = `${serial}-${now().toString(36)}-${number}`;
  const until = now() + times.validMs;
  panel.show({ state: 'Busy', sum: { amount, currency } });
  keeper.save({
    transactions: number,
    pending: {
      kind: 'Sale',
      header,
      saleData,
      clientTransactionId,
      until,
      isSignatureDue: isSigned(attempt.card.verification, attempt.way),
    },
  });
  const response = await platform.sell({
    clientTransactionId,
    amount,
    currency,
    entryMode: entryModes[attempt.way],
    instrument: instrumentOf(inside, sale, attempt, number),
    ...defined({ stepUpOf: attempt.stepUpOf }),
    ...orderOf(sale),
    notAfter: new Date(until).toISOString(),
    confirmWithinSeconds: confirmSeconds,
  });
  const outcome = await knownOf(inside, response, { clientTransactionId, until });
  if (outcome.kind === 'Told') return outcome.transaction;
  if (outcome.kind === 'NotTaken')
    throw new ServiceFault(refusalOf(outcome.code), passOnReason(outcome.code));
  await takeBack(inside, { clientTransactionId, until, reason: 'Timeout' });
  throw new ServiceFault('UnreachableHost', 'outcome_unknown_reversed', clientTransactionId);
}

/** Above the limit a tap is not enough, unless the holder's own device has asked them. */
function isTapTooMuch({ amount, currency }: Sum, card: TestCard): boolean {
  return card.verification !== 'Device' && amount > tapLimit(exponentOf(currency));
}

/** A card in one of these ways, and its holder verified. */
async function read(
  { signal }: Pick<Work, 'signal'>,
  { panel }: Inside,
  sum: Sum,
  before: Try | undefined,
): Promise<Try> {
  const isInsertWanted = before !== undefined;
  let presented = isInsertWanted
    ? await panel.waitForCard(sum, ['Insert'], signal, 'Insert')
    : await panel.waitForCard(sum, allWays, signal);
  if (presented.way === 'Tap' && isTapTooMuch(sum, presented.card)) {
    presented = await panel.waitForCard(sum, ['Insert'], signal, 'Insert');
  }
  const isPinDue = presented.way === 'Insert' && presented.card.verification === 'Pin';
  if (isPinDue) await panel.waitForPin(sum, signal);
  return { ...presented, isPinVerified: isPinDue, stepUpOf: before?.stepUpOf };
}

/** The tap that was declined for want of a chip or a PIN; nothing where it is over. */
function nextTry(attempt: Try, transaction: Transaction): Try | undefined {
  const isRequested = transaction.terminalAction === 'UseChip' || transaction.terminalAction === 'AskPin';
  const canInsert = attempt.way === 'Tap' && attempt.card.ways.includes('Insert');
  return isRequested && canInsert ? { ...attempt, stepUpOf: transaction.transactionId } : undefined;
}

/**
 * Has a sale approved.
 *
 * @throws ServiceFault where it is not
 */
export async function authorise(work: Work, inside: Inside, sale: Sale): Promise<Approval> {
  let before: Try | undefined;
  for (let tries = 1; ; tries += 1) {
    const attempt: Try = await read(work, inside, sale, before);
    work.commit();
    const transaction = await send(work, inside, sale, attempt);
    if (transaction.approved) return { ...attempt, transaction };
    before = tries < triesMost ? nextTry(attempt, transaction) : undefined;
    if (before === undefined) {
      const { response, state, transactionId } = transaction;
      throw new ServiceFault(
        conditionOf(transaction),
        passOnReason(response?.reason ?? state),
        transactionId,
      );
    }
    // Declined is declined: nothing was taken, and the till may still give up.
    inside.keeper.save({ pending: undefined });
    work.release();
  }
}
