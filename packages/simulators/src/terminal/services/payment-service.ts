// Payments: sales, reservations and their completion, refunds.
import { defined, type Transaction } from '@switchyard/contract';
import {
  additionalResponse,
  amountReason,
  formatDecimalAmount,
  NexoError,
  type Structure,
  toAmount,
  toMinorUnits,
} from '@switchyard/nexo';
import { testAmountOf } from '../cards/test-amounts.ts';
import { nexoEntryModes, type TestCard } from '../cards/test-cards.ts';
import {
  PowerLostError,
  type ReplyBody,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
  successResponse,
} from '../context/service-context.ts';
import {
  type Approval,
  type ApprovalByChip,
  authorizeSale,
  type Sale,
} from '../payments/authorize-sale.ts';
import { readCard } from '../payments/read-card.ts';
import { receiptLines, receiptsOf } from '../payments/receipts.ts';
import { recordTotals } from '../payments/record-totals.ts';
import { processQueue, queueReversal } from '../payments/reversal-and-upload-queue.ts';
import type { TerminalState } from '../storage/terminal-store.ts';
import {
  type FollowUpOperationResult,
  finalReceiptsOf,
  requireOriginal,
  runOperation,
} from './follow-up-operations.ts';

type Request = ServiceCall<'PaymentRequest'>;
type Answer = Structure<'PaymentResponse'>;

function requireMinorUnits(amount: number | undefined, currency: string): number {
  try {
    return toMinorUnits(amount ?? 0, currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceError('NotAllowed', amountReason(error));
  }
}

function parseSale({ body }: Request): Sale {
  const { AmountsReq: amounts } = body.PaymentTransaction;
  const { Currency: currency, MinimumAmountToDeliver: least } = amounts;
  const type = body.PaymentData?.PaymentType ?? 'Normal';
  const amount = requireMinorUnits(amounts.RequestedAmount, currency);
  if (amount === 0) throw new ServiceError('NotAllowed', 'amount_missing');
  return {
    amount,
    currency,
    saleData: body.SaleData,
    text: `${formatDecimalAmount(amount, currency)} ${currency}`,
    tip: requireMinorUnits(amounts.TipAmount, currency),
    cashback: requireMinorUnits(amounts.CashBackAmount, currency),
    isReservation: type === 'FirstReservation' || type === 'OneTimeReservation',
    isPartialWanted: body.PaymentData?.SplitPaymentFlag === true || least !== undefined,
  };
}

/** The till, operator, shift and group for the totals. */
function totalsOwner({ header, body }: Request) {
  const { OperatorID, ShiftNumber, SaleTerminalData } = body.SaleData;
  const group = SaleTerminalData?.TotalsGroupID;
  return {
    saleId: header.SaleID,
    ...defined({ operatorId: OperatorID, shift: ShiftNumber, group }),
  };
}

/** The PaymentResult of a transaction of the platform. */
function paymentResult(
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

function tokenFields({ body }: Pick<Request, 'body'>, { card }: Transaction) {
  const tokenType = body.SaleData.TokenRequestedType;
  if (tokenType === undefined || card?.token === undefined) return {};
  return { PaymentToken: { TokenRequestedType: tokenType, TokenValue: card.token } };
}

function authenticationMethods(card: TestCard, isPinEntered: boolean) {
  if (isPinEntered) return ['OnlinePIN'] as const;
  return {
    Pin: ['Bypass'],
    None: ['Bypass'],
    Signature: ['PaperSignature'],
    Device: ['UnknownMethod'],
  }[card.verification];
}

/** The answer to a sale that the platform has approved. */
export function approvedSaleAnswer(
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
      : successResponse,
    SaleData: saleData,
    POIData: {
      POITransactionID: {
        TransactionID: transaction.transactionId,
        TimeStamp: transaction.createdAt,
      },
    },
    PaymentResult: paymentResult(transaction, amount, result),
    PaymentReceipt: receiptsOf(transaction),
  };
}

function onlineAnswer(
  { body }: Request,
  card: TestCard,
  { transaction, isPinEntered }: Approval & { approvedBy: 'Platform' },
): Answer {
  return approvedSaleAnswer(body.SaleData, transaction, {
    PaymentType: body.PaymentData?.PaymentType ?? 'Normal',
    PaymentInstrumentData: {
      PaymentInstrumentType: 'Card',
      CardData: {
        EntryMode: [nexoEntryModes[card.entry]],
        ...tokenFields({ body }, transaction),
      },
    },
    AuthenticationMethod: authenticationMethods(card, isPinEntered),
  });
}

function offlineAnswer(context: ServiceContext, sale: Sale, approval: ApprovalByChip): Answer {
  const { saleData, currency, amount } = sale;
  const TransactionID = String(approval.body['clientTransactionId']);
  const TimeStamp = new Date(context.now()).toISOString();
  return {
    Response: successResponse,
    SaleData: saleData,
    POIData: { POITransactionID: { TransactionID, TimeStamp } },
    PaymentResult: {
      AmountsResp: { Currency: currency, AuthorizedAmount: toAmount(amount, currency) },
      OnlineFlag: false,
      PaymentAcquirerData: { ApprovalCode: approval.code },
    },
  };
}

/** The stored changes of an offline sale: its upload and the answer to the till. */
function offlineSaleChanges(
  { header }: Request,
  { store }: ServiceContext,
  { body, merchant }: ApprovalByChip,
  answer: Answer,
): Partial<TerminalState> {
  const { offlineSales, uploads } = store.read();
  return {
    offlineSales: offlineSales + 1,
    uploads: [...uploads, { body, merchant }],
    answerDue: { header, body: answer },
  };
}

/** Prints the receipt of the customer where there is paper. */
function printReceipt({ runtime, emit }: ServiceContext, { receipt }: Transaction): void {
  if (receipt === undefined) return;
  runtime.lastReceipt = receiptLines(receipt.cardholder);
  if (runtime.hasPaper) emit({ type: 'Printed', lines: runtime.lastReceipt });
}

/** The cashier checks the signature, where the till supports it; at a manual terminal a person signs. */
async function checkSignature(
  call: Request,
  context: ServiceContext,
  { card, text }: { readonly card: TestCard; readonly text: string },
  { clientTransactionId, transactionId }: Transaction,
): Promise<void> {
  const { cardholder, askCashier } = context;
  if (card.verification !== 'Signature') return;
  const isRight = await (cardholder === undefined
    ? askCashier(call, 'Is the signature right?')
    : cardholder.sign(text, call.signal));
  call.signal.throwIfAborted();
  if (isRight !== false) return;
  const fault =
    cardholder === undefined
      ? new ServiceError('Refusal', 'signature_refused', transactionId)
      : new ServiceError('Cancel', 'signature_missing_reversed', transactionId);
  const reason = 'CustomerCancel';
  queueReversal(context, { clientTransactionId, reason, until: context.now() }, fault);
  throw fault;
}

const totalsType = (sale: Sale, type: string | undefined): string =>
  sale.isReservation ? (type ?? 'FirstReservation') : 'Debit';

async function processSale(call: Request, context: ServiceContext): Promise<ReplyBody> {
  const sale = parseSale(call);
  const { runtime, show, emit } = context;
  const fault = runtime.fault ?? testAmountOf(sale.amount).fault;
  runtime.fault = undefined;
  const reference = call.body.PaymentData?.CardAcquisitionReference?.TransactionID;
  const card = await readCard(call, context, { ...sale, reference });
  if (fault === 'DropBefore') {
    call.channel.drop();
    throw new ServiceError('Aborted', 'connection_lost');
  }
  if (fault === 'Reboot' || fault === 'Unreachable') runtime.fault = fault;
  const wasReachable = runtime.isReachable;
  if (fault === 'Unreachable') runtime.isReachable = false;
  try {
    const approval = await authorizeSale(call, context, sale, card);
    const { currency } = sale;
    const isOnline = approval.approvedBy === 'Platform';
    const amount = isOnline ? approval.transaction.authorizedAmount : sale.amount;
    if (isOnline)
      await checkSignature(call, context, { card, text: sale.text }, approval.transaction);
    const type = totalsType(sale, call.body.PaymentData?.PaymentType);
    const line = { type, brand: card.brand, currency, amount, ...totalsOwner(call) };
    const answer = isOnline
      ? onlineAnswer(call, card, approval)
      : offlineAnswer(context, sale, approval);
    recordTotals(
      context,
      line,
      isOnline ? {} : offlineSaleChanges(call, context, approval, answer),
    );
    if (!isOnline) processQueue(context);
    show('Approved', `${formatDecimalAmount(amount, currency)} ${currency}`, 'Approved');
    if (isOnline) printReceipt(context, approval.transaction);
    const { transactionId = '', state = 'Offline' } = isOnline ? approval.transaction : {};
    emit({ type: 'Payment', transactionId, state, amount, currency });
    if (fault !== undefined) call.injectFault(fault);
    return answer;
  } finally {
    if (fault === 'Unreachable') runtime.isReachable = wasReachable;
    // After a restart, the fault that was set belongs to the next payment.
    if (!(call.signal.reason instanceof PowerLostError)) {
      runtime.acquiredCard = undefined;
      runtime.fault = undefined;
    }
  }
}

/** The original transaction of a completion or refund. */
function originalOf({ body }: Request): string {
  const id = body.PaymentTransaction.OriginalPOITransaction?.POITransactionID?.TransactionID;
  if (id !== undefined) return id;
  const isRefund = body.PaymentData?.PaymentType === 'Refund';
  const reason = isRefund ? 'unreferenced_refund_not_supported' : 'original_missing';
  throw new ServiceError('NotAllowed', reason);
}

/** The answer to a capture or a refund. */
export function operationAnswer(
  { transaction, operation }: FollowUpOperationResult,
  saleData: Structure<'SaleData'>,
  type: string,
): Answer {
  const amount = operation?.amount ?? transaction.amount;
  return {
    Response: successResponse,
    SaleData: saleData,
    POIData: {
      POITransactionID: {
        TransactionID: transaction.transactionId,
        TimeStamp: operation?.createdAt ?? transaction.updatedAt,
      },
    },
    PaymentResult: paymentResult(transaction, amount, {
      PaymentType: type as NonNullable<Structure<'PaymentResult'>['PaymentType']>,
    }),
    ...defined({ PaymentReceipt: finalReceiptsOf({ transaction, operation }) }),
  };
}

/** The totals entry of an operation. */
export function operationTotals({ transaction, operation }: FollowUpOperationResult, verb: string) {
  return {
    type: verb === 'capture' ? 'CompletedReservation' : 'Credit',
    brand: transaction.card?.scheme ?? '',
    currency: transaction.currency,
    amount: operation?.amount ?? transaction.amount,
  };
}

/** A capture or a refund of an original. */
async function captureOrRefund(call: Request, context: ServiceContext, verb: 'capture' | 'refund') {
  const { AmountsReq: amounts } = call.body.PaymentTransaction;
  const { Currency: currency, RequestedAmount } = amounts;
  const { SaleData: saleData, PaymentData } = call.body;
  const type = PaymentData?.PaymentType ?? 'Normal';
  const id = originalOf(call);
  call.preventAbort();
  const amount =
    RequestedAmount === undefined ? {} : { amount: requireMinorUnits(RequestedAmount, currency) };
  const reference = { header: call.header, saleData, type };
  await requireOriginal(context, id);
  call.signal.throwIfAborted();
  const done = await runOperation(
    context,
    { id, verb, service: reference },
    { ...amount, currency },
  );
  const { show, emit } = context;
  const { transaction } = done;
  const line = operationTotals(done, verb);
  recordTotals(context, { ...line, ...totalsOwner(call) });
  if (finalReceiptsOf(done) !== undefined) printReceipt(context, transaction);
  show('Approved', `${formatDecimalAmount(line.amount, line.currency)} ${line.currency}`, 'Done');
  const { transactionId, state } = transaction;
  emit({ type: 'Payment', transactionId, state, amount: line.amount, currency: line.currency });
  return operationAnswer(done, saleData, type);
}

/** @throws ServiceError for a PaymentType that the platform does not support */
export function payment(call: Request, context: ServiceContext): Promise<ReplyBody> {
  const type = call.body.PaymentData?.PaymentType ?? 'Normal';
  if (['Normal', 'FirstReservation', 'OneTimeReservation'].includes(type)) {
    return processSale(call, context);
  }
  if (type === 'Refund') return captureOrRefund(call, context, 'refund');
  if (type === 'Completion') return captureOrRefund(call, context, 'capture');
  throw new ServiceError('UnavailableService', 'payment_type_not_supported');
}
