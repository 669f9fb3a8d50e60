// After a restart in the middle of a sale: what became of it, and the answer that it never got.
import { type AnyMessage, answerHeader, failureTo } from '@switchyard/nexo';
import { noted } from './books.ts';
import type { Pending } from './memory.ts';
import { conditionOf, findOut } from './outcomes.ts';
import { reverse } from './queues.ts';
import { approvedAnswer } from './services/payment.ts';
import type { Inside } from './work.ts';

function failed(
  inside: Inside,
  { header, saleData }: Pending,
  condition: Parameters<typeof failureTo>[1],
  additional: string,
): AnyMessage | undefined {
  const request = { header, body: { SaleData: saleData } };
  return failureTo(request, condition, { at: new Date(inside.now()).toISOString(), additional });
}

/** The answer to what was pending; the till gets it by TransactionStatus. */
export async function recovered(inside: Inside, pending: Pending): Promise<AnyMessage | undefined> {
  const { keeper } = inside;
  const known = await findOut(inside, pending);
  if (known.kind === 'NotTaken') {
    return failed(inside, pending, 'Aborted', 'the terminal started anew; nothing was taken');
  }
  if (known.kind === 'Unreachable') {
    const { clientTransactionId, until } = pending;
    await reverse(inside, { clientTransactionId, until, reason: 'Timeout' });
    return failed(inside, pending, 'UnreachableHost', 'no outcome; it is reversed');
  }
  const { transaction } = known;
  const { header, saleData, currency, kind } = pending;
  if (!transaction.approved) {
    return failed(inside, pending, conditionOf(transaction), transaction.response?.reason ?? '');
  }
  const type = kind === 'Reservation' ? 'FirstReservation' : 'Debit';
  const line = { type, brand: transaction.card?.scheme ?? '', currency, saleId: header.SaleID };
  const { authorizedAmount: amount } = transaction;
  keeper.keep({ books: noted(keeper.read().books, { ...line, amount }) });
  return { header: answerHeader(header), body: approvedAnswer(saleData, transaction) };
}
