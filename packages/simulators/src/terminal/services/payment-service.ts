// Payments: sales, reservations and their completion, refunds.
import { defined, type Transaction } from '@switchyard/contract';
import {
  additionalResponse,
  amountReason,
  decimalText,
  NexoError,
  type Structure,
  toAmount,
  toMinorUnits,
} from '@switchyard/nexo';
import { storyOf } from '../cards/test-amounts.ts';
import type { TestCard } from '../cards/test-cards.ts';
import {
  type Inside,
  PowerFault,
  type Reply,
  ServiceFault,
  succeeded,
  type Work,
} from '../context/service-context.ts';
import {
  type Approval,
  type ApprovalByChip,
  authorise,
  type Sale,
} from '../payments/authorize-sale.ts';
import { readCard } from '../payments/read-card.ts';
import { receiptLines, receiptsOf } from '../payments/receipts.ts';
import { book } from '../payments/record-totals.ts';
import { reverse, workOff } from '../payments/reversal-and-upload-queue.ts';
import type { Memory } from '../storage/terminal-store.ts';
import { type Done, demandFound, operate } from './transaction-operations.ts';

type Request = Work<'PaymentRequest'>;
type Answer = Structure<'PaymentResponse'>;

const entryModes = { Chip: ['ICC'], Tap: ['Contactless'], Stripe: ['MagStripe'] } as const;

function minor(amount: number | undefined, currency: string): number {
  try {
    return toMinorUnits(amount ?? 0, currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceFault('NotAllowed', amountReason(error));
  }
}

function saleOf({ body }: Request): Sale {
  const { AmountsReq: amounts } = body.PaymentTransaction;
  const { Currency: currency, MinimumAmountToDeliver: least } = amounts;
  const type = body.PaymentData?.PaymentType ?? 'Normal';
  const amount = minor(amounts.RequestedAmount, currency);
  if (amount === 0) throw new ServiceFault('NotAllowed', 'amount_missing');
  return {
    amount,
    currency,
    saleData: body.SaleData,
    text: `${decimalText(amount, currency)} ${currency}`,
    tip: minor(amounts.TipAmount, currency),
    cashback: minor(amounts.CashBackAmount, currency),
    isReservation: type === 'FirstReservation' || type === 'OneTimeReservation',
    isPartialWanted: body.PaymentData?.SplitPaymentFlag === true || least !== undefined,
  };
}

/** Who is asked for it, for the books. */
function placeOf({ header, body }: Request) {
  const { OperatorID, ShiftNumber, SaleTerminalData } = body.SaleData;
  const group = SaleTerminalData?.TotalsGroupID;
  return {
    saleId: header.SaleID,
    ...defined({ operatorId: OperatorID, shift: ShiftNumber, group }),
  };
}

/** The PaymentResult of a transaction of the platform. */
function resultOf(
  transaction: Transaction,
  amount: number,
  facts: Partial<Structure<'PaymentResult'>>,
): Structure<'PaymentResult'> {
  const { currency, card, receipt, authorizationCode, retrievalReferenceNumber } = transaction;
  const { acquirerMerchantId, terminalId } = receipt?.merchant ?? {};
  return {
    ...facts,
    PaymentInstrumentData: {
      PaymentInstrumentType: 'Card',
      ...facts.PaymentInstrumentData,
      CardData: {
        ...facts.PaymentInstrumentData?.CardData,
        ...defined({ PaymentBrand: card?.scheme, MaskedPan: card?.maskedNumber }),
      },
    },
    AmountsResp: { Currency: currency, AuthorizedAmount: toAmount(amount, currency) },
    OnlineFlag: true,
    PaymentAcquirerData: defined({
      MerchantID: acquirerMerchantId,
      AcquirerPOIID: terminalId,
      ApprovalCode: authorizationCode,
      AcquirerTransactionID:
        retrievalReferenceNumber === undefined
          ? undefined
          : {
              TransactionID: retrievalReferenceNumber,
              TimeStamp: transaction.createdAt,
            },
    }),
  };
}

function tokenOf({ body }: Pick<Request, 'body'>, { card }: Transaction) {
  const wanted = body.SaleData.TokenRequestedType;
  if (wanted === undefined || card?.token === undefined) return {};
  return { PaymentToken: { TokenRequestedType: wanted, TokenValue: card.token } };
}

function verifiedBy(card: TestCard, isPinEntered: boolean) {
  if (isPinEntered) return ['OnlinePIN'] as const;
  return {
    Pin: ['Bypass'],
    None: ['Bypass'],
    Signature: ['PaperSignature'],
    Device: ['UnknownMethod'],
  }[card.verification];
}

/** The answer to a sale that the platform has approved. */
export function approvedAnswer(
  saleData: Structure<'SaleData'>,
  transaction: Transaction,
  result: Partial<Structure<'PaymentResult'>> = {},
): Answer {
  const { authorizedAmount: amount } = transaction;
  const isPart = amount < transaction.amount;
  return {
    Response: isPart
      ? {
          Result: 'Partial',
          ErrorCondition: 'PaymentRestriction',
          AdditionalResponse: additionalResponse('PaymentRestriction', 'partial_approval'),
        }
      : succeeded,
    SaleData: saleData,
    POIData: {
      POITransactionID: {
        TransactionID: transaction.transactionId,
        TimeStamp: transaction.createdAt,
      },
    },
    PaymentResult: resultOf(transaction, amount, result),
    PaymentReceipt: receiptsOf(transaction),
  };
}

function onlineAnswer(
  { body }: Request,
  card: TestCard,
  { transaction, isPinEntered }: Approval & { by: 'Platform' },
): Answer {
  return approvedAnswer(body.SaleData, transaction, {
    PaymentType: body.PaymentData?.PaymentType ?? 'Normal',
    PaymentInstrumentData: {
      PaymentInstrumentType: 'Card',
      CardData: {
        EntryMode: entryModes[card.entry],
        ...tokenOf({ body }, transaction),
      },
    },
    AuthenticationMethod: verifiedBy(card, isPinEntered),
  });
}

function chipAnswer(inside: Inside, sale: Sale, approval: ApprovalByChip): Answer {
  const { saleData, currency, amount } = sale;
  const TransactionID = String(approval.body['clientTransactionId']);
  const TimeStamp = new Date(inside.now()).toISOString();
  return {
    Response: succeeded,
    SaleData: saleData,
    POIData: { POITransactionID: { TransactionID, TimeStamp } },
    PaymentResult: {
      AmountsResp: { Currency: currency, AuthorizedAmount: toAmount(amount, currency) },
      OnlineFlag: false,
      PaymentAcquirerData: { ApprovalCode: approval.code },
    },
  };
}

/** An offline sale, as it is owed to the platform from now on, and what its till is told. */
function offlineSale(
  { header }: Request,
  { keeper }: Inside,
  { body, merchant }: ApprovalByChip,
  answer: Answer,
): Partial<Memory> {
  const { offlineSales, uploads } = keeper.read();
  return {
    offlineSales: offlineSales + 1,
    uploads: [...uploads, { body, merchant }],
    answerDue: { header, body: answer },
  };
}

/** Prints, where there is paper and the till does not print by itself. */
function print({ moment, tell }: Inside, { receipt }: Transaction): void {
  if (receipt === undefined) return;
  moment.lastReceipt = receiptLines(receipt.cardholder);
  if (moment.hasPaper) tell({ type: 'Printed', lines: moment.lastReceipt });
}

/** A signature is looked at by the cashier, where somebody can be asked. */
async function checkSignature(
  work: Request,
  inside: Inside,
  card: TestCard,
  { clientTransactionId, transactionId }: Transaction,
): Promise<void> {
  if (card.verification !== 'Signature') return;
  const isRight = await inside.askTill(work, 'Is the signature right?');
  work.signal.throwIfAborted();
  if (isRight !== false) return;
  const fault = new ServiceFault('Refusal', 'signature_refused', transactionId);
  const reason = 'CustomerCancel';
  reverse(inside, { clientTransactionId, reason, until: inside.now() }, fault);
  throw fault;
}

const bookedAs = (sale: Sale, type: string | undefined): string =>
  sale.isReservation ? (type ?? 'FirstReservation') : 'Debit';

async function sale(work: Request, inside: Inside): Promise<Reply> {
  const asked = saleOf(work);
  const { moment, show, tell } = inside;
  const fault = moment.fault ?? storyOf(asked.amount).fault;
  moment.fault = undefined;
  const reference = work.body.PaymentData?.CardAcquisitionReference?.TransactionID;
  const card = await readCard(work, inside, { ...asked, reference });
  if (fault === 'DropBefore') {
    work.channel.drop();
    throw new ServiceFault('Aborted', 'connection_lost');
  }
  if (fault === 'Reboot' || fault === 'Unreachable') moment.fault = fault;
  const wasReachable = moment.isReachable;
  if (fault === 'Unreachable') moment.isReachable = false;
  try {
    const approval = await authorise(work, inside, asked, card);
    const { currency } = asked;
    const isOnline = approval.by === 'Platform';
    const amount = isOnline ? approval.transaction.authorizedAmount : asked.amount;
    if (isOnline) await checkSignature(work, inside, card, approval.transaction);
    const type = bookedAs(asked, work.body.PaymentData?.PaymentType);
    const line = { type, brand: card.brand, currency, amount, ...placeOf(work) };
    const answer = isOnline
      ? onlineAnswer(work, card, approval)
      : chipAnswer(inside, asked, approval);
    book(inside, line, isOnline ? {} : offlineSale(work, inside, approval, answer));
    if (!isOnline) workOff(inside);
    show('Approved', `${decimalText(amount, currency)} ${currency}`, 'Approved');
    if (isOnline) print(inside, approval.transaction);
    const { transactionId = '', state = 'Offline' } = isOnline ? approval.transaction : {};
    tell({ type: 'Payment', transactionId, state, amount, currency });
    if (fault !== undefined) work.spoil(fault);
    return answer;
  } finally {
    if (fault === 'Unreachable') moment.isReachable = wasReachable;
    // What was set after a restart is of the next payment.
    if (!(work.signal.reason instanceof PowerFault)) {
      moment.held = undefined;
      moment.fault = undefined;
    }
  }
}

/** The original that a completion or a refund names. */
function originalOf({ body }: Request): string {
  const id = body.PaymentTransaction.OriginalPOITransaction?.POITransactionID?.TransactionID;
  if (id !== undefined) return id;
  const isRefund = body.PaymentData?.PaymentType === 'Refund';
  const reason = isRefund ? 'unreferenced_refund_not_supported' : 'original_missing';
  throw new ServiceFault('NotAllowed', reason);
}

/** The answer to a capture or a refund. */
export function operatedAnswer(
  { transaction, operation }: Done,
  saleData: Structure<'SaleData'>,
  type: string,
): Answer {
  const amount = operation?.amount ?? transaction.amount;
  return {
    Response: succeeded,
    SaleData: saleData,
    POIData: {
      POITransactionID: {
        TransactionID: transaction.transactionId,
        TimeStamp: operation?.createdAt ?? transaction.updatedAt,
      },
    },
    PaymentResult: resultOf(transaction, amount, {
      PaymentType: type as NonNullable<Structure<'PaymentResult'>['PaymentType']>,
    }),
    PaymentReceipt: receiptsOf(transaction),
  };
}

/** What an operation is in the books. */
export function bookedOperation({ transaction, operation }: Done, verb: string) {
  return {
    type: verb === 'capture' ? 'CompletedReservation' : 'Credit',
    brand: transaction.card?.scheme ?? '',
    currency: transaction.currency,
    amount: operation?.amount ?? transaction.amount,
  };
}

/** A capture or a refund of an original. */
async function onOriginal(work: Request, inside: Inside, verb: 'capture' | 'refund') {
  const { AmountsReq: amounts } = work.body.PaymentTransaction;
  const { Currency: currency, RequestedAmount } = amounts;
  const { SaleData: saleData, PaymentData } = work.body;
  const type = PaymentData?.PaymentType ?? 'Normal';
  const id = originalOf(work);
  work.commit();
  const amount = RequestedAmount === undefined ? {} : { amount: minor(RequestedAmount, currency) };
  const of = { header: work.header, saleData, type };
  await demandFound(inside, id);
  work.signal.throwIfAborted();
  const done = await operate(inside, { id, verb, of }, { ...amount, currency });
  const { show, tell } = inside;
  const { transaction } = done;
  const line = bookedOperation(done, verb);
  book(inside, { ...line, ...placeOf(work) });
  print(inside, transaction);
  show('Approved', `${decimalText(line.amount, line.currency)} ${line.currency}`, 'Done');
  const { transactionId, state } = transaction;
  tell({ type: 'Payment', transactionId, state, amount: line.amount, currency: line.currency });
  return operatedAnswer(done, saleData, type);
}

/** @throws ServiceFault for a type that the platform has no words for */
export function payment(work: Request, inside: Inside): Promise<Reply> {
  const type = work.body.PaymentData?.PaymentType ?? 'Normal';
  if (['Normal', 'FirstReservation', 'OneTimeReservation'].includes(type)) {
    return sale(work, inside);
  }
  if (type === 'Refund') return onOriginal(work, inside, 'refund');
  if (type === 'Completion') return onOriginal(work, inside, 'capture');
  throw new ServiceFault('UnavailableService', 'payment_type_not_supported');
}
