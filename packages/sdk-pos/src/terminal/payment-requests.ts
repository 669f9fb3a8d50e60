/** Builds the bodies of payments and reversals from amounts in minor units. */
import { defined } from '@switchyard/contract';
import { type Message, NexoError, toAmount, toMinorUnits } from '@switchyard/nexo';
import { invalidError } from '../support/pos-error.ts';
import type { RequestBody } from './terminal-types.ts';

/**
 * A sale or a refund, in minor units.
 *
 * @example
 * const sale: PaymentOrder = { amount: 1250, currency: 'EUR', transactionId: '4711' };
 */
export type PaymentOrder = {
  /** The total that the customer pays, with tip and cashback: an integer in minor units. */
  readonly amount: number;
  readonly currency: string;
  /** The till's own identifier of the sale. Two calls with the same one are two payments. */
  readonly transactionId: string;
  readonly tip?: number | undefined;
  readonly cashback?: number | undefined;
  readonly operatorId?: string | undefined;
  /**
   * The payment that a refund returns. Without it, the terminal refuses the refund or reads the
   * card.
   */
  readonly original?: OriginalPayment | undefined;
};

/**
 * The terminal's identifier and time of a payment, from `POIData.POITransactionID` in its answer.
 *
 * @example
 * const { TransactionID, TimeStamp } = answer.message.body.POIData.POITransactionID;
 * const original: OriginalPayment = { poiTransactionId: TransactionID, poiTimeStamp: TimeStamp };
 */
export type OriginalPayment = {
  readonly poiTransactionId: string;
  readonly poiTimeStamp: string;
};

/**
 * A payment to reverse, with the terminal's identifier and time of it.
 *
 * @example
 * const order: ReversalOrder = { poiTransactionId, poiTimeStamp, reason: 'CustCancel' };
 */
export type ReversalOrder = OriginalPayment & {
  readonly reason: RequestBody<'Reversal'>['ReversalReason'];
};

function convertNexoError<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof NexoError) throw invalidError(error.code, error.message, error);
    throw error;
  }
}

const toDecimalAmount = (minor: number, currency: string): number =>
  convertNexoError(() => toAmount(minor, currency));

function requestedAmounts({ amount, currency, tip, cashback }: PaymentOrder) {
  return {
    Currency: currency,
    RequestedAmount: toDecimalAmount(amount, currency),
    ...defined({
      TipAmount: tip === undefined ? undefined : toDecimalAmount(tip, currency),
      CashBackAmount: cashback === undefined ? undefined : toDecimalAmount(cashback, currency),
    }),
  };
}

const originalTransaction = ({
  poiTransactionId: TransactionID,
  poiTimeStamp: TimeStamp,
}: OriginalPayment) => ({
  POITransactionID: { TransactionID, TimeStamp },
});

/**
 * The body of a payment request.
 *
 * @param order - the amounts and the identifier of the sale
 * @param at - the time of the sale, RFC 3339
 * @param type - `Refund` returns money
 * @returns a body for `request('Payment', …)`; the caller may add more members
 * @throws PosError `amount_invalid` or `currency_unknown`
 * @example
 * await terminal.request('Payment', paymentBody(order, new Date().toISOString()));
 */
export function paymentBody(
  order: PaymentOrder,
  at: string,
  type: 'Normal' | 'Refund' = 'Normal',
): RequestBody<'Payment'> {
  const { transactionId, operatorId, original } = order;
  return {
    SaleData: {
      ...defined({ OperatorID: operatorId }),
      SaleTransactionID: { TransactionID: transactionId, TimeStamp: at },
    },
    PaymentTransaction: {
      AmountsReq: requestedAmounts(order),
      ...defined({
        OriginalPOITransaction: original === undefined ? undefined : originalTransaction(original),
      }),
    },
    PaymentData: { PaymentType: type },
  };
}

/**
 * The body of a reversal request.
 *
 * @param order - the payment and the reason
 * @returns a body for `request('Reversal', …)`
 * @example
 * await terminal.request('Reversal', reversalBody(order));
 */
export function reversalBody(order: ReversalOrder): RequestBody<'Reversal'> {
  return { OriginalPOITransaction: originalTransaction(order), ReversalReason: order.reason };
}

/**
 * The authorized amount in minor units. With `Partial` it is less than the requested amount.
 *
 * @param message - the answer of a payment
 * @param currency - the currency of the sale, used if the answer has none
 * @returns an integer, or undefined if the answer has no amount
 * @throws PosError if the amount is not valid for the currency
 * @example
 * const paid = authorizedAmount(answer.message, 'EUR'); // 1250
 */
export function authorizedAmount(
  message: Message<'Payment', 'Response'>,
  currency: string,
): number | undefined {
  const amounts = message.body.PaymentResult?.AmountsResp;
  if (amounts === undefined) return undefined;
  return convertNexoError(() =>
    toMinorUnits(amounts.AuthorizedAmount, amounts.Currency ?? currency),
  );
}
