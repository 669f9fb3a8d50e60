// Reversals of a sale, and batches of what can be asked for one by one.
import { decimalText, NexoError, type Structure, toAmount, toMinorUnits } from '@switchyard/nexo';
import { noted } from '../books.ts';
import { receiptsOf } from '../receipts.ts';
import { type Inside, type Reply, ServiceFault, succeeded, type Work } from '../work.ts';
import { operate } from './operating.ts';

/** Causes for which the whole sale is undone as if it had not been. */
const technical: readonly string[] = ['Malfunction', 'Unable2Compl'];

function amountIn(amount: number, currency: string): number {
  try {
    return toMinorUnits(amount, currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceFault('NotAllowed', error.code);
  }
}

/** The currency of the original, which the request does not name. */
async function currencyOf({ platform, moment }: Inside, id: string): Promise<string> {
  const found = moment.isReachable ? await platform.find(id) : undefined;
  if (found?.outcome === 'Answered') return found.transaction.currency;
  if (found?.outcome === 'Refused') throw new ServiceFault('NotFound', found.code);
  throw new ServiceFault('UnreachableHost', 'the original cannot be looked up');
}

/** A sale that the chip approved and that is not uploaded yet, is at the terminal alone. */
function demandUploaded({ keeper }: Inside, id: string): void {
  const isHere = keeper.read().uploads.some(({ body }) => body['clientTransactionId'] === id);
  if (isHere) throw new ServiceFault('NotAllowed', 'it is not uploaded yet');
}

export async function reversal(work: Work<'ReversalRequest'>, inside: Inside): Promise<Reply> {
  const { header, body } = work;
  const { OriginalPOITransaction: original, ReversedAmount: wanted, ReversalReason } = body;
  const id = original.POITransactionID?.TransactionID;
  if (id === undefined) throw new ServiceFault('NotAllowed', 'it needs its original');
  demandUploaded(inside, id);
  work.commit();
  const currency = await currencyOf(inside, id);
  const part = wanted === undefined ? {} : { amount: amountIn(wanted, currency), currency };
  const isTechnical = technical.includes(ReversalReason) && wanted === undefined;
  const verb = isTechnical ? 'reverse' : 'takeBack';
  const { transaction, operation } = await operate(inside, id, verb, part);
  const amount = operation?.amount ?? transaction.amount;
  const { keeper, show, tell } = inside;
  const { transactionId, state, card } = transaction;
  const line = { type: 'ReverseDebit', brand: card?.scheme ?? '', currency, amount };
  keeper.keep({ books: noted(keeper.read().books, { ...line, saleId: header.SaleID }) });
  show('Approved', `${decimalText(amount, currency)} ${currency}`, 'Reversed');
  tell({ type: 'Payment', transactionId, state, amount, currency });
  const TimeStamp = operation?.createdAt ?? transaction.updatedAt;
  const answer: Structure<'ReversalResponse'> = {
    Response: succeeded,
    POIData: { POITransactionID: { TransactionID: transactionId, TimeStamp } },
    OriginalPOITransaction: original,
    ReversedAmount: toAmount(amount, currency),
    PaymentReceipt: receiptsOf(transaction),
  };
  return answer;
}
