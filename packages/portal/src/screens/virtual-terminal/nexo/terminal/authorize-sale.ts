/** Authorises a sale with a card that is tapped, inserted, swiped or keyed. */

import { defined, type Transaction } from '@switchyard/contract';
import { exponentOf, numericOf } from '@switchyard/money';
import { passOnReason, type Structure } from '@switchyard/nexo';
import { testCardExpiry } from '../../card-expiry.ts';
import { chipObjects, track2Data } from './chip-data.ts';
import {
  errorConditionOf,
  refusalConditionOf,
  resolveSaleOutcome,
  reverseSale,
} from './sale-outcome.ts';
import type { ServiceContext, ServiceRequest } from './service-context.ts';
import { ServiceError } from './service-error.ts';
import type { MoneyAmount, PresentedCard } from './terminal-panel.ts';
import {
  type CardEntryMethod,
  cardEntryMethods,
  contactlessLimit,
  type TestCard,
} from './test-cards.ts';

export type Sale = MoneyAmount & { readonly saleData: Structure<'SaleData'> };

export type Approval = PresentedCard & {
  readonly transaction: Transaction;
  readonly isPinVerified: boolean;
};

type CardAttempt = PresentedCard & {
  readonly isPinVerified: boolean;
  /** The declined contactless attempt that this attempt repeats. */
  readonly stepUpOf: string | undefined;
};

const triesMost = 3;
/** Longer than a cardholder needs to sign. */
const confirmSeconds = 120;
const unpredictableBytes = 4;
const cryptogramBytes = 8;
const orderMost = 64;
const entryModes = {
  Tap: 'ContactlessChip',
  Insert: 'ContactChip',
  Swipe: 'MagStripe',
  Key: 'Keyed',
} as const satisfies Record<CardEntryMethod, string>;

/** Whether the cardholder must sign: not for contactless and keyed cards. */
export const requiresSignature = (
  verification: TestCard['verification'],
  way: CardEntryMethod,
): boolean => verification === 'Signature' && (way === 'Insert' || way === 'Swipe');

function instrumentOf(
  inside: ServiceContext,
  sale: Sale,
  attempt: CardAttempt,
  number: number,
): object {
  const { card, way, isPinVerified } = attempt;
  const { now, randomHex } = inside;
  if (way === 'Swipe') return { track2: track2Data(card, way, now()) };
  if (way === 'Key') {
    const { month: expiryMonth, year: expiryYear } = testCardExpiry(now());
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

/** @throws ServiceError if the sale was not approved; a sale with unknown outcome is reversed */
async function send(
  { header }: Pick<ServiceRequest, 'header'>,
  inside: ServiceContext,
  sale: Sale,
  attempt: CardAttempt,
): Promise<Transaction> {
  const { storage, platform, now, times, tsn, panel } = inside;
  const { amount, currency, saleData } = sale;
  const number = storage.read().transactions + 1;
  const serial = tsn.slice(tsn.lastIndexOf('-') + 1);
  const clientTransactionId = `${serial}-${now().toString(36)}-${number}`;
  const until = now() + times.validMs;
  panel.show({ state: 'Busy', sum: { amount, currency } });
  storage.save({
    transactions: number,
    pending: {
      kind: 'Sale',
      header,
      saleData,
      clientTransactionId,
      until,
      isSignatureDue: requiresSignature(attempt.card.verification, attempt.way),
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
  const outcome = await resolveSaleOutcome(inside, response, { clientTransactionId, until });
  if (outcome.kind === 'Told') return outcome.transaction;
  if (outcome.kind === 'NotTaken')
    throw new ServiceError(refusalConditionOf(outcome.code), passOnReason(outcome.code));
  await reverseSale(inside, { clientTransactionId, until, reason: 'Timeout' });
  throw new ServiceError('UnreachableHost', 'outcome_unknown_reversed', clientTransactionId);
}

/** Above the contactless limit, only a device with its own cardholder verification is enough. */
function isTapTooMuch({ amount, currency }: MoneyAmount, card: TestCard): boolean {
  return card.verification !== 'Device' && amount > contactlessLimit(exponentOf(currency));
}

/** Reads a card and verifies the cardholder. */
async function read(
  { signal }: Pick<ServiceRequest, 'signal'>,
  { panel }: ServiceContext,
  sum: MoneyAmount,
  before: CardAttempt | undefined,
): Promise<CardAttempt> {
  const isInsertWanted = before !== undefined;
  let presented = isInsertWanted
    ? await panel.waitForCard(sum, ['Insert'], signal, 'Insert')
    : await panel.waitForCard(sum, cardEntryMethods, signal);
  if (presented.way === 'Tap' && isTapTooMuch(sum, presented.card)) {
    presented = await panel.waitForCard(sum, ['Insert'], signal, 'Insert');
  }
  const isPinDue = presented.way === 'Insert' && presented.card.verification === 'Pin';
  if (isPinDue) await panel.waitForPin(sum, signal);
  return { ...presented, isPinVerified: isPinDue, stepUpOf: before?.stepUpOf };
}

/**
 * The next attempt after a contactless decline that requires chip or PIN; undefined if there is
 * none.
 */
function nextTry(attempt: CardAttempt, transaction: Transaction): CardAttempt | undefined {
  const isRequested =
    transaction.terminalAction === 'UseChip' || transaction.terminalAction === 'AskPin';
  const canInsert = attempt.way === 'Tap' && attempt.card.ways.includes('Insert');
  return isRequested && canInsert ? { ...attempt, stepUpOf: transaction.transactionId } : undefined;
}

/** Authorises a sale. @throws ServiceError if it is not approved */
export async function authorizeSale(
  work: ServiceRequest,
  inside: ServiceContext,
  sale: Sale,
): Promise<Approval> {
  let before: CardAttempt | undefined;
  for (let tries = 1; ; tries += 1) {
    const attempt: CardAttempt = await read(work, inside, sale, before);
    work.commit();
    const transaction = await send(work, inside, sale, attempt);
    if (transaction.approved) return { ...attempt, transaction };
    before = tries < triesMost ? nextTry(attempt, transaction) : undefined;
    if (before === undefined) {
      const { response, state, transactionId } = transaction;
      throw new ServiceError(
        errorConditionOf(transaction),
        passOnReason(response?.reason ?? state),
        transactionId,
      );
    }
    // A decline takes no money, so the point of sale can still abort.
    inside.storage.save({ pending: undefined });
    work.release();
  }
}
