// Totals of the open period, and its end.
import type { Structure } from '@switchyard/nexo';
import {
  type Inside,
  type Reply,
  ServiceFault,
  succeeded,
  type Work,
} from '../context/service-context.ts';
import { closed, periodOf, totalsOf } from '../storage/reconciliation-totals.ts';

export function getTotals({ body }: Work<'GetTotalsRequest'>, inside: Inside): Reply {
  const { keeper, poiId } = inside;
  const { open } = keeper.read().books;
  const filter = body.TotalFilter;
  const isOther = filter?.POIID !== undefined && filter.POIID !== poiId;
  const answer: Structure<'GetTotalsResponse'> = {
    Response: succeeded,
    POIReconciliationID: String(open.number),
    TransactionTotals: isOther ? [] : totalsOf(open, poiId, body.TotalDetails, filter),
  };
  return answer;
}

/** The acquirer settles by itself: a period is the business of till and terminal. */
export function reconciliation(
  { body, commit }: Work<'ReconciliationRequest'>,
  { keeper, poiId }: Inside,
): Reply {
  const { ReconciliationType: type, POIReconciliationID } = body;
  const { books } = keeper.read();
  commit();
  if (type !== 'SaleReconciliation' && type !== 'PreviousReconciliation') {
    throw new ServiceFault('UnavailableService', 'reconciliation_not_supported');
  }
  const isPrevious = type === 'PreviousReconciliation';
  const period = isPrevious ? periodOf(books, POIReconciliationID) : books.open;
  if (period === undefined) throw new ServiceFault('NotFound', 'period_not_found');
  if (!isPrevious) keeper.keep({ books: closed(books) });
  const answer: Structure<'ReconciliationResponse'> = {
    Response: succeeded,
    ReconciliationType: type,
    POIReconciliationID: String(period.number),
    TransactionTotals: totalsOf(period, poiId, ['SaleID']),
  };
  return answer;
}
