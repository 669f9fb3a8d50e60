// Reversals of a sale, and batches of what can be asked for one by one.
import {
  amountReason,
  decimalText,
  NexoError,
  passOnReason,
  type Structure,
  toAmount,
  toMinorUnits,
} from '@switchyard/nexo';
import {
  type Inside,
  type Reply,
  ServiceFault,
  succeeded,
  type Work,
} from '../context/service-context.ts';
import { receiptsOf } from '../payments/receipts.ts';
import { book } from '../payments/record-totals.ts';
import { bookedOperation } from './payment-service.ts';
import { type Done, operate } from './transaction-operations.ts';

/** Causes for which the whole sale is undone as if it had not been. */
const technical: readonly string[] = ['Malfunction', 'Unable2Compl'];

function amountIn(amount: number, currency: string): number {
  try {
    return toMinorUnits(amount, currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceFault('NotAllowed', amountReason(error));
  }
}

/** States in which all of a sale went back: also a technical reversal would succeed without effect. */
const takenBack: readonly string[] = ['Refunded', 'Cancelled', 'Reversed'];

/** The currency of the original, which the request does not name. */
async function currencyOf({ platform, moment }: Inside, id: string): Promise<string> {
  const found = moment.isReachable ? await platform.find(id) : undefined;
  if (found?.outcome === 'Answered') {
    const { state, currency } = found.transaction;
    if (takenBack.includes(state)) throw new ServiceFault('NotAllowed', 'already_refunded', id);
    return currency;
  }
  if (found?.outcome === 'Refused') throw new ServiceFault('NotFound', passOnReason(found.code));
  throw new ServiceFault('UnreachableHost', 'original_lookup_failed');
}

/** A sale that the chip approved and that is not uploaded yet, is at the terminal alone. */
function demandUploaded({ keeper }: Inside, id: string): void {
  const isHere = keeper.read().uploads.some(({ body }) => body['clientTransactionId'] === id);
  if (isHere) throw new ServiceFault('NotAllowed', 'original_not_uploaded');
}

/** The answer to a reversal, which takes the original back. */
export function reversedAnswer(
  { transaction, operation }: Done,
  original: Structure<'OriginalPOITransaction'>,
): Structure<'ReversalResponse'> {
  const { currency } = transaction;
  const amount = operation?.amount ?? transaction.amount;
  const TransactionID = operation?.operationId ?? transaction.transactionId;
  const TimeStamp = operation?.createdAt ?? transaction.updatedAt;
  return {
    Response: succeeded,
    POIData: { POITransactionID: { TransactionID, TimeStamp } },
    OriginalPOITransaction: original,
    ReversedAmount: toAmount(amount, currency),
    PaymentReceipt: receiptsOf(transaction),
  };
}

export async function reversal(work: Work<'ReversalRequest'>, inside: Inside): Promise<Reply> {
  const { header, body } = work;
  const { OriginalPOITransaction: original, ReversedAmount: wanted, ReversalReason } = body;
  const id = original.POITransactionID?.TransactionID;
  if (id === undefined) throw new ServiceFault('NotAllowed', 'original_missing');
  demandUploaded(inside, id);
  work.commit();
  const currency = await currencyOf(inside, id);
  work.signal.throwIfAborted();
  const part = wanted === undefined ? {} : { amount: amountIn(wanted, currency), currency };
  const isTechnical = technical.includes(ReversalReason) && wanted === undefined;
  const verb = isTechnical ? 'reverse' : 'takeBack';
  const done = await operate(inside, { id, verb, of: { header } }, part);
  const { show, tell } = inside;
  const { transactionId, state } = done.transaction;
  const { amount, ...line } = bookedOperation(done, verb);
  book(inside, { ...line, amount, type: 'ReverseDebit', saleId: header.SaleID });
  show('Approved', `${decimalText(amount, currency)} ${currency}`, 'Reversed');
  tell({ type: 'Payment', transactionId, state, amount, currency });
  return reversedAnswer(done, original);
}
