// Authorizes a sale at the platform with encrypted card data, and again with a PIN where the platform requires it.
import { type CardEntry, defined, type Transaction } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { numericOf } from '@switchyard/money';
import { passOnReason, type Structure } from '@switchyard/nexo';
import { buildChipData, type ChipTransaction, track2Of } from '../cards/chip-data.ts';
import type { TestCard } from '../cards/test-cards.ts';
import {
  PowerLostError,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
} from '../context/service-context.ts';
import type { PlatformAnswer } from '../platform/payments-api.ts';
import { enterPin } from './read-card.ts';
import { queueReversal } from './reversal-and-upload-queue.ts';
import { errorConditionOf, refusalConditionOf, resolveSaleOutcome } from './sale-outcome.ts';

export type Sale = {
  /** In minor units, with tip and cashback. */
  readonly amount: number;
  readonly tip: number;
  readonly cashback: number;
  readonly currency: string;
  /** Amount as text for the display. */
  readonly text: string;
  readonly isReservation: boolean;
  readonly isPartialWanted: boolean;
  readonly saleData: Structure<'SaleData'>;
};

/** An approval by the platform or by the chip. */
export type Approval =
  | {
      readonly approvedBy: 'Platform';
      readonly transaction: Transaction;
      readonly isPinEntered: boolean;
    }
  | ApprovalByChip;
export type ApprovalByChip = {
  readonly approvedBy: 'Chip';
  readonly code: string;
  /** The upload to the platform. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The merchant of the terminal, where known. */
  readonly merchant: string | undefined;
};

type SaleAttempt = {
  readonly card: TestCard;
  readonly entry: CardEntry;
  readonly pin: string | undefined;
  readonly stepUpOf: string | undefined;
  readonly decision: ChipTransaction['decision'];
};

const attemptsMax = 4;
const entryModes = {
  Chip: 'ContactChip',
  Tap: 'ContactlessChip',
  MagStripe: 'MagStripe',
  Keyed: 'Keyed',
} as const;
const unpredictableBytes = 4;
const codeDigits = 6;
const orderMax = 64;
/** Limit of counter skips for a terminal that lost its key counter. */
const skipsMax = 20;

function nextNumber({ store }: ServiceContext): number {
  const transactions = store.read().transactions + 1;
  store.update({ transactions });
  return transactions;
}

const clientTransactionIdOf = ({ serialNumber, now }: ServiceContext, number: number): string =>
  `${serialNumber}-${now().toString(36)}-${number}`;

function clearCardOf({ number, expiry }: TestCard) {
  const [year, month] = [expiry.slice(0, 2), expiry.slice(2)].map(Number) as [number, number];
  return { number, expiryMonth: month, expiryYear: 2000 + year };
}

/** The card fields of a sale, encrypted with one key of the PIN pad; a typed number is in clear. */
function cardFields(
  context: ServiceContext,
  sale: Sale,
  attempt: SaleAttempt,
  number: number,
): object {
  const { pad, store, now, random, countryNumeric } = context;
  const { card, entry, pin } = attempt;
  const entryMode = entryModes[entry];
  if (entry === 'Keyed') return { entryMode, instrument: { card: clearCardOf(card) } };
  const transaction = pad.next();
  store.update({ keys: pad.counter() });
  const objects = () =>
    buildChipData(card, {
      amount: sale.amount,
      cashback: sale.cashback,
      at: now(),
      number,
      entry,
      countryNumeric,
      currencyNumeric: numericOf(sale.currency),
      isPinEntered: pin !== undefined,
      unpredictable: random(unpredictableBytes),
      decision: attempt.decision,
    });
  const encrypted =
    entry === 'MagStripe'
      ? transaction.encrypt('Track2', Buffer.from(track2Of(card, entry)))
      : transaction.encrypt('Emv', Buffer.from(objects(), 'hex'));
  return {
    entryMode,
    instrument: { encrypted },
    ...(pin === undefined ? {} : transaction.pin(pin, card)),
  };
}

function orderFields({ saleData }: Sale): object {
  const orderId = saleData.SaleTransactionID.TransactionID;
  const isStorable = orderId.length > 0 && orderId.length <= orderMax && !holdsCardNumber(orderId);
  return isStorable ? { order: { orderId } } : {};
}

function saleBody(
  context: ServiceContext,
  sale: Sale,
  attempt: SaleAttempt,
  number: number,
): Record<string, unknown> {
  const { amount, currency, tip, cashback, isReservation, isPartialWanted } = sale;
  const parts = { ...(tip === 0 ? {} : { tip }), ...(cashback === 0 ? {} : { cashback }) };
  return {
    clientTransactionId: clientTransactionIdOf(context, number),
    amount,
    currency,
    ...cardFields(context, sale, attempt, number),
    ...(tip + cashback === 0 ? {} : { amounts: parts }),
    ...(isReservation ? { captureMode: 'Deferred' } : {}),
    ...(isPartialWanted ? { partialApproval: true } : {}),
    ...defined({ stepUpOf: attempt.stepUpOf }),
    ...orderFields(sale),
  };
}

/** Sends one attempt; a terminal that lost its key counter skips to an unused key. */
async function sendAttempt(
  call: ServiceCall,
  context: ServiceContext,
  sale: Sale,
  attempt: SaleAttempt,
) {
  const { platform, store, times, now, runtime, show } = context;
  show('Asking', sale.text, 'Please wait');
  let attemptedSale = sale;
  for (let skips = 0; ; skips += 1) {
    // Without the merchant there is no token either, so the terminal cannot send anything.
    const merchant = runtime.isReachable ? await platform.merchant() : undefined;
    call.signal.throwIfAborted();
    const until = now() + times.saleValidMs;
    const body: Record<string, unknown> = {
      ...saleBody(context, attemptedSale, attempt, nextNumber(context)),
      notAfter: new Date(until).toISOString(),
    };
    const clientTransactionId = String(body['clientTransactionId']);
    const { amount, currency, saleData, isReservation } = sale;
    const kind = isReservation ? 'Reservation' : 'Sale';
    store.update({
      ...defined({ merchant }),
      pending: {
        header: call.header,
        saleData,
        kind,
        clientTransactionId,
        amount,
        currency,
        until,
        merchant,
      },
    });
    const answer: PlatformAnswer =
      merchant === undefined ? { outcome: 'NotSent' } : await platform.processSale(body);
    // After a power loss the restarted terminal resolves the sale, so this call must end.
    call.signal.throwIfAborted();
    if (answer.outcome === 'Refused' && answer.code === 'ksn_reused' && skips < skipsMax) {
      context.pad.skipAhead();
      continue;
    }
    // The acquirer of the merchant does not approve partial amounts.
    if (answer.outcome === 'Refused' && answer.code === 'partial_approval_not_supported') {
      attemptedSale = { ...attemptedSale, isPartialWanted: false };
      continue;
    }
    if (runtime.fault === 'Reboot') throw new PowerLostError('the terminal restarts');
    const sold = { clientTransactionId, until, merchant };
    return { known: await resolveSaleOutcome(context, answer, sold), sold };
  }
}

/** @throws ServiceError where the sale is not approved; a sale with unknown outcome is reversed */
function requireApproval(
  context: ServiceContext,
  { known, sold }: Awaited<ReturnType<typeof sendAttempt>>,
): Transaction {
  if (known.kind === 'NotTaken')
    throw new ServiceError(refusalConditionOf(known.code), passOnReason(known.code));
  if (known.kind === 'Found') return known.transaction;
  const reason = 'outcome_unknown_reversed';
  const fault = new ServiceError('UnreachableHost', reason, sold.clientTransactionId);
  queueReversal(context, { ...sold, reason: 'Timeout' }, fault);
  throw fault;
}

/** The next attempt, with a PIN or the chip; undefined where there is none. */
function nextAttempt(
  before: SaleAttempt,
  { terminalAction, transactionId }: Transaction,
): SaleAttempt | undefined {
  if (terminalAction === 'UseChip') return { ...before, entry: 'Chip', stepUpOf: transactionId };
  if (terminalAction !== 'AskPin') return undefined;
  const isTap = before.entry === 'Tap' && before.stepUpOf === undefined;
  return { ...before, stepUpOf: isTap ? transactionId : undefined };
}

/** Asks a person to insert the card where the platform requires the chip after a tap. */
async function withInsertedCard(
  { signal }: ServiceCall,
  { cardholder }: ServiceContext,
  { text }: Sale,
  { before, next }: { before: SaleAttempt; next: SaleAttempt | undefined },
): Promise<SaleAttempt | undefined> {
  if (cardholder === undefined || next === undefined || next.entry === before.entry) return next;
  const card = await cardholder.insertCard(next.card, text, signal);
  return card === undefined ? undefined : { ...next, card };
}

/** The chip approves alone; the sale is valid once its upload is stored. */
async function approveOffline(
  { signal }: ServiceCall,
  context: ServiceContext,
  sale: Sale,
  card: TestCard,
): Promise<ApprovalByChip> {
  const { store, now, runtime, platform } = context;
  const currentMerchant = runtime.isReachable ? await platform.merchant() : undefined;
  // After a restart the till already has the answer that the sale failed.
  signal.throwIfAborted();
  const merchant = currentMerchant ?? store.read().merchant;
  const number = nextNumber(context);
  const code = String(number).padStart(codeDigits, '0').slice(-codeDigits);
  const attempt: SaleAttempt = {
    card,
    entry: 'Chip',
    pin: undefined,
    stepUpOf: undefined,
    decision: 'Approves',
  };
  const body: Record<string, unknown> = {
    ...saleBody(context, { ...sale, isPartialWanted: false }, attempt, number),
    offlineTransaction: true,
    offlineData: {
      authorizedAt: new Date(now()).toISOString(),
      authorizationCode: code,
      terminalSequence: store.read().offlineSales + 1,
      reason: 'DeviceStandalone',
    },
  };
  return { approvedBy: 'Chip', code, body, merchant };
}

/** The chip may decline after the approval, or the card may be removed before the chip answers. */
function checkChipDecision(context: ServiceContext, card: TestCard, approved: Transaction): void {
  const reason = { DeclinesApproval: 'ChipDeclined', RemovedLate: 'CardRemoved' } as const;
  const { behaviour } = card;
  if (behaviour !== 'DeclinesApproval' && behaviour !== 'RemovedLate') return;
  const { clientTransactionId, transactionId } = approved;
  const fault =
    behaviour === 'RemovedLate'
      ? new ServiceError('Cancel', 'card_removed_reversed', transactionId)
      : new ServiceError('Refusal', 'chip_declined_reversed', transactionId);
  const reversal = { clientTransactionId, reason: reason[behaviour], until: context.now() };
  queueReversal(context, reversal, fault);
  throw fault;
}

/**
 * Authorizes a sale.
 *
 * @throws ServiceError where it is not approved; PowerLostError where the terminal loses its power
 */
export async function authorizeSale(
  call: ServiceCall,
  context: ServiceContext,
  sale: Sale,
  card: TestCard,
): Promise<Approval> {
  if (card.behaviour === 'DeclinesItself') throw new ServiceError('Refusal', 'chip_declined');
  if (card.behaviour === 'ApprovesItself') {
    call.preventAbort();
    return approveOffline(call, context, sale, card);
  }
  let pinTries = 0;
  let attempt: SaleAttempt | undefined = {
    card,
    entry: card.entry,
    pin: undefined,
    stepUpOf: undefined,
    decision: 'Online',
  };
  let isPinRequired = card.entry === 'Chip' && card.verification === 'Pin';
  let transaction: Transaction | undefined;
  for (let tries = 0; attempt !== undefined && tries < attemptsMax; tries += 1) {
    if (isPinRequired) {
      const pin = await enterPin(call, context, { card, text: sale.text, tries: pinTries });
      attempt = { ...attempt, pin };
      pinTries += 1;
    }
    call.preventAbort();
    transaction = requireApproval(context, await sendAttempt(call, context, sale, attempt));
    if (transaction.approved) {
      checkChipDecision(context, card, transaction);
      return {
        approvedBy: 'Platform',
        transaction,
        isPinEntered: attempt.pin !== undefined,
      };
    }
    const next = nextAttempt(attempt, transaction);
    attempt = await withInsertedCard(call, context, sale, { before: attempt, next });
    isPinRequired = true;
  }
  if (transaction === undefined) throw new ServiceError('Cancel');
  const { response, transactionId } = transaction;
  throw new ServiceError(
    errorConditionOf(transaction),
    passOnReason(response?.reason ?? transaction.state),
    transactionId,
  );
}
