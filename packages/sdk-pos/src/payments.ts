/** Bodies of payments and reversals, out of amounts in minor units. */
import { defined } from '@switchyard/contract';
import { type Message, NexoError, toAmount, toMinorUnits } from '@switchyard/nexo';
import { invalid } from './errors.ts';
import type { RequestBody } from './terminal-types.ts';

/**
 * A sale or a refund, in minor units.
 *
 * @example
 * const sale: PaymentOrder = { amount: 1250, currency: 'EUR', transactionId: '4711' };
 */
export type PaymentOrder = {
  /** All that the customer pays, tip and cashback included: an integer in minor units. */
  readonly amount: number;
  readonly currency: string;
  /** The till's own identification of the sale. */
  readonly transactionId: string;
  readonly tip?: number | undefined;
  readonly cashback?: number | undefined;
  readonly operatorId?: string | undefined;
  /** Of a refund: the payment that it gives back. Terminals refuse a refund of nothing, or ask for the card. */
  readonly original?: PaymentOriginal | undefined;
};

/**
 * A payment as its terminal called it when it was made: in its answer, `POIData.POITransactionID`.
 *
 * @example
 * const { TransactionID, TimeStamp } = answer.message.body.POIData.POITransactionID;
 * const original: PaymentOriginal = { poiTransactionId: TransactionID, poiTimeStamp: TimeStamp };
 */
export type PaymentOriginal = {
  readonly poiTransactionId: string;
  readonly poiTimeStamp: string;
};

/**
 * A payment that is taken back: what the terminal called it when it was made.
 *
 * @example
 * const order: ReversalOrder = { poiTransactionId, poiTimeStamp, reason: 'CustCancel' };
 */
export type ReversalOrder = PaymentOriginal & {
  readonly reason: RequestBody<'Reversal'>['ReversalReason'];
};

function sound<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof NexoError) throw invalid(error.code, error.message, error);
    throw error;
  }
}

const inMessage = (minor: number, currency: string): number =>
  sound(() => toAmount(minor, currency));

function amountsOf({ amount, currency, tip, cashback }: PaymentOrder) {
  return {
    Currency: currency,
    RequestedAmount: inMessage(amount, currency),
    ...defined({
      TipAmount: tip === undefined ? undefined : inMessage(tip, currency),
      CashBackAmount: cashback === undefined ? undefined : inMessage(cashback, currency),
    }),
  };
}

const originalOf = ({
  poiTransactionId: TransactionID,
  poiTimeStamp: TimeStamp,
}: PaymentOriginal) => ({
  POITransactionID: { TransactionID, TimeStamp },
});

/**
 * The body of a payment request.
 *
 * @param order - what is to be paid
 * @param at - the time of the sale, RFC 3339
 * @param type - `Refund` gives money back
 * @returns a body to hand to `request('Payment', …)`, where more may be added to it
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
      AmountsReq: amountsOf(order),
      ...defined({
        OriginalPOITransaction: original === undefined ? undefined : originalOf(original),
      }),
    },
    PaymentData: { PaymentType: type },
  };
}

/**
 * The body of a reversal request.
 *
 * @param order - which payment, and why
 * @returns a body to hand to `request('Reversal', …)`
 * @example
 * await terminal.request('Reversal', reversalBody(order));
 */
export function reversalBody(order: ReversalOrder): RequestBody<'Reversal'> {
  return { OriginalPOITransaction: originalOf(order), ReversalReason: order.reason };
}

/**
 * What was authorised, in minor units: with `Partial` it is less than what was asked for.
 *
 * @param message - the answer of a payment
 * @param currency - that of the sale, where the answer names none
 * @returns an integer; undefined where the answer holds no amount
 * @throws PosError where what it holds is no amount of the currency
 * @example
 * const paid = authorizedAmount(answer.message, 'EUR'); // 1250
 */
export function authorizedAmount(
  message: Message<'Payment', 'Response'>,
  currency: string,
): number | undefined {
  const amounts = message.body.PaymentResult?.AmountsResp;
  if (amounts === undefined) return undefined;
  return sound(() => toMinorUnits(amounts.AuthorizedAmount, amounts.Currency ?? currency));
}
