// A sale at the platform: the card's data under the keys of the terminal, again with a PIN where one is wanted.
import { defined, type Transaction } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { numericOf } from '@switchyard/money';
import { passOnReason, type Structure } from '@switchyard/nexo';
import { type ChipSale, chipObjects, trackOf } from '../cards/chip-data.ts';
import type { CardEntry, TestCard } from '../cards/test-cards.ts';
import { type Inside, PowerFault, ServiceFault, type Work } from '../context/service-context.ts';
import type { Asked } from '../platform/payments-api.ts';
import { typePin } from './read-card.ts';
import { reverse } from './reversal-and-upload-queue.ts';
import { conditionOf, outcomeOf, refusalOf } from './sale-outcome.ts';

export type Sale = {
  /** In minor units, with tip and cashback. */
  readonly amount: number;
  readonly tip: number;
  readonly cashback: number;
  readonly currency: string;
  /** For people. */
  readonly text: string;
  readonly isReservation: boolean;
  readonly isPartialWanted: boolean;
  readonly saleData: Structure<'SaleData'>;
};

/** How a sale ended that was approved, at the platform or by the chip. */
export type Approval =
  | { readonly by: 'Platform'; readonly transaction: Transaction; readonly isPinEntered: boolean }
  | ApprovalByChip;
export type ApprovalByChip = {
  readonly by: 'Chip';
  readonly code: string;
  /** What the platform is told of it. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Whose terminal it is, where that is known. */
  readonly merchant: string | undefined;
};

type Try = {
  readonly card: TestCard;
  readonly entry: CardEntry;
  readonly pin: string | undefined;
  readonly stepUpOf: string | undefined;
  readonly decision: ChipSale['decision'];
};

const triesMax = 4;
const entryModes = { Chip: 'ContactChip', Tap: 'ContactlessChip', Stripe: 'MagStripe' } as const;
const unpredictableBytes = 4;
const codeDigits = 6;
const orderMax = 64;
/** How often the counter of a terminal that forgot it is put up: it grows to its most. */
const leapsMax = 20;

function nextNumber({ keeper }: Inside): number {
  const transactions = keeper.read().transactions + 1;
  keeper.keep({ transactions });
  return transactions;
}

const identifierOf = ({ serialNumber, now }: Inside, number: number): string =>
  `${serialNumber}-${now().toString(36)}-${number}`;

/** The members of a sale that hold the card: all of it under one key of the pad. */
function cardMembers(inside: Inside, sale: Sale, of: Try, number: number): object {
  const { pad, keeper, now, random, countryNumeric } = inside;
  const { card, entry, pin } = of;
  const transaction = pad.next();
  keeper.keep({ keys: pad.counter() });
  const objects = () =>
    chipObjects(card, {
      amount: sale.amount,
      cashback: sale.cashback,
      at: now(),
      number,
      entry,
      countryNumeric,
      currencyNumeric: numericOf(sale.currency),
      isPinEntered: pin !== undefined,
      unpredictable: random(unpredictableBytes),
      decision: of.decision,
    });
  const encrypted =
    entry === 'Stripe'
      ? transaction.encrypt('Track2', Buffer.from(trackOf(card, entry)))
      : transaction.encrypt('Emv', Buffer.from(objects(), 'hex'));
  return {
    entryMode: entryModes[entry],
    instrument: { encrypted },
    ...(pin === undefined ? {} : transaction.pin(pin, card)),
  };
}

function orderOf({ saleData }: Sale): object {
  const orderId = saleData.SaleTransactionID.TransactionID;
  const isKept = orderId.length > 0 && orderId.length <= orderMax && !holdsCardNumber(orderId);
  return isKept ? { order: { orderId } } : {};
}

function bodyOf(inside: Inside, sale: Sale, of: Try, number: number): Record<string, unknown> {
  const { amount, currency, tip, cashback, isReservation, isPartialWanted } = sale;
  const parts = { ...(tip === 0 ? {} : { tip }), ...(cashback === 0 ? {} : { cashback }) };
  return {
    clientTransactionId: identifierOf(inside, number),
    amount,
    currency,
    ...cardMembers(inside, sale, of, number),
    ...(tip + cashback === 0 ? {} : { amounts: parts }),
    ...(isReservation ? { captureMode: 'Deferred' } : {}),
    ...(isPartialWanted ? { partialApproval: true } : {}),
    ...defined({ stepUpOf: of.stepUpOf }),
    ...orderOf(sale),
  };
}

/** Sends one try; a terminal that forgot its counter finds a key that is new. */
async function send(work: Work, inside: Inside, sale: Sale, of: Try) {
  const { platform, keeper, times, now, moment, show } = inside;
  show('Asking', sale.text, 'Please wait');
  let wanted = sale;
  for (let leaps = 0; ; leaps += 1) {
    // Where the platform does not tell for whom it sells, it gives no token either: nothing can be sent.
    const merchant = moment.isReachable ? await platform.merchant() : undefined;
    work.signal.throwIfAborted();
    const until = now() + times.valid;
    const body: Record<string, unknown> = {
      ...bodyOf(inside, wanted, of, nextNumber(inside)),
      notAfter: new Date(until).toISOString(),
    };
    const clientTransactionId = String(body['clientTransactionId']);
    const { amount, currency, saleData, isReservation } = sale;
    const kind = isReservation ? 'Reservation' : 'Sale';
    keeper.keep({
      ...defined({ merchant }),
      pending: {
        header: work.header,
        saleData,
        kind,
        clientTransactionId,
        amount,
        currency,
        until,
        merchant,
      },
    });
    const asked: Asked =
      merchant === undefined ? { outcome: 'NotSent' } : await platform.sell(body);
    // Whoever lost its power meanwhile has started anew, and finds out: this is not its business any more.
    work.signal.throwIfAborted();
    if (asked.outcome === 'Refused' && asked.code === 'ksn_reused' && leaps < leapsMax) {
      inside.pad.leap();
      continue;
    }
    // The merchant's acquirer approves all or nothing.
    if (asked.outcome === 'Refused' && asked.code === 'partial_approval_not_supported') {
      wanted = { ...wanted, isPartialWanted: false };
      continue;
    }
    if (moment.fault === 'Reboot') throw new PowerFault('the terminal starts anew');
    const sold = { clientTransactionId, until, merchant };
    return { known: await outcomeOf(inside, asked, sold), sold };
  }
}

/** @throws ServiceFault where it was not approved; whatever could have been taken is reversed */
function approvedOf(
  inside: Inside,
  { known, sold }: Awaited<ReturnType<typeof send>>,
): Transaction {
  if (known.kind === 'NotTaken')
    throw new ServiceFault(refusalOf(known.code), passOnReason(known.code));
  if (known.kind === 'Told') return known.transaction;
  const reason = 'outcome_unknown_reversed';
  const fault = new ServiceFault('UnreachableHost', reason, sold.clientTransactionId);
  reverse(inside, { ...sold, reason: 'Timeout' }, fault);
  throw fault;
}

/** What the holder is asked for next: a PIN, or the chip; nothing where it is over. */
function nextTry(before: Try, { terminalAction, transactionId }: Transaction): Try | undefined {
  if (terminalAction === 'UseChip') return { ...before, entry: 'Chip', stepUpOf: transactionId };
  if (terminalAction !== 'AskPin') return undefined;
  const isTap = before.entry === 'Tap' && before.stepUpOf === undefined;
  return { ...before, stepUpOf: isTap ? transactionId : undefined };
}

/** Approved by the chip alone; it is sold as soon as it is written down that the platform has to be told. */
async function approveOffline(
  { signal }: Work,
  inside: Inside,
  sale: Sale,
  card: TestCard,
): Promise<ApprovalByChip> {
  const { keeper, now, moment, platform } = inside;
  const asked = moment.isReachable ? await platform.merchant() : undefined;
  // A restart has told the till by now that nothing was taken.
  signal.throwIfAborted();
  const merchant = asked ?? keeper.read().merchant;
  const number = nextNumber(inside);
  const code = String(number).padStart(codeDigits, '0').slice(-codeDigits);
  const of: Try = {
    card,
    entry: 'Chip',
    pin: undefined,
    stepUpOf: undefined,
    decision: 'Approves',
  };
  const body: Record<string, unknown> = {
    ...bodyOf(inside, { ...sale, isPartialWanted: false }, of, number),
    offlineTransaction: true,
    offlineData: {
      authorizedAt: new Date(now()).toISOString(),
      authorizationCode: code,
      terminalSequence: keeper.read().offlineSales + 1,
      reason: 'DeviceStandalone',
    },
  };
  return { by: 'Chip', code, body, merchant };
}

/** The chip has the last word: it may decline what was approved, or be taken out before it has spoken. */
function endWithCard(inside: Inside, card: TestCard, approved: Transaction): void {
  const reason = { DeclinesApproval: 'ChipDeclined', RemovedLate: 'CardRemoved' } as const;
  const { behaviour } = card;
  if (behaviour !== 'DeclinesApproval' && behaviour !== 'RemovedLate') return;
  const { clientTransactionId, transactionId } = approved;
  const fault =
    behaviour === 'RemovedLate'
      ? new ServiceFault('Cancel', 'card_removed_reversed', transactionId)
      : new ServiceFault('Refusal', 'chip_declined_reversed', transactionId);
  const reversal = { clientTransactionId, reason: reason[behaviour], until: inside.now() };
  reverse(inside, reversal, fault);
  throw fault;
}

/**
 * Has a sale approved.
 *
 * @throws ServiceFault where it is not; PowerFault where the terminal loses its power in the middle
 */
export async function authorise(
  work: Work,
  inside: Inside,
  sale: Sale,
  card: TestCard,
): Promise<Approval> {
  if (card.behaviour === 'DeclinesItself') throw new ServiceFault('Refusal', 'chip_declined');
  if (card.behaviour === 'ApprovesItself') {
    work.commit();
    return approveOffline(work, inside, sale, card);
  }
  let pinTries = 0;
  let next: Try | undefined = {
    card,
    entry: card.entry,
    pin: undefined,
    stepUpOf: undefined,
    decision: 'Online',
  };
  let isPinWanted = card.entry === 'Chip' && card.verification === 'Pin';
  let told: Transaction | undefined;
  for (let tries = 0; next !== undefined && tries < triesMax; tries += 1) {
    if (isPinWanted) {
      const pin = await typePin(work, inside, { card, text: sale.text, tries: pinTries });
      next = { ...next, pin };
      pinTries += 1;
    }
    work.commit();
    told = approvedOf(inside, await send(work, inside, sale, next));
    if (told.approved) {
      endWithCard(inside, card, told);
      return { by: 'Platform', transaction: told, isPinEntered: next.pin !== undefined };
    }
    next = nextTry(next, told);
    isPinWanted = true;
  }
  if (told === undefined) throw new ServiceFault('Cancel');
  const { response, transactionId } = told;
  throw new ServiceFault(
    conditionOf(told),
    passOnReason(response?.reason ?? told.state),
    transactionId,
  );
}
