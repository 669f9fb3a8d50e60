// GetTotals and Reconciliation: totals of the open period, and closing it.
import type { Structure } from '@switchyard/nexo';
import {
  type ReplyBody,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
  successResponse,
} from '../context/service-context.ts';
import { closePeriod, findPeriod, periodTotals } from '../storage/reconciliation-totals.ts';

export function getTotals(
  { body }: ServiceCall<'GetTotalsRequest'>,
  context: ServiceContext,
): ReplyBody {
  const { store, poiId } = context;
  const { open } = store.read().books;
  const filter = body.TotalFilter;
  const isOther = filter?.POIID !== undefined && filter.POIID !== poiId;
  const answer: Structure<'GetTotalsResponse'> = {
    Response: successResponse,
    POIReconciliationID: String(open.number),
    TransactionTotals: isOther ? [] : periodTotals(open, poiId, body.TotalDetails, filter),
  };
  return answer;
}

/** A period concerns till and terminal only; the acquirer settles independently. */
export function reconciliation(
  { body, preventAbort: commit }: ServiceCall<'ReconciliationRequest'>,
  { store, poiId }: ServiceContext,
): ReplyBody {
  const { ReconciliationType: type, POIReconciliationID } = body;
  const { books } = store.read();
  commit();
  if (type !== 'SaleReconciliation' && type !== 'PreviousReconciliation') {
    throw new ServiceError('UnavailableService', 'reconciliation_not_supported');
  }
  const isPrevious = type === 'PreviousReconciliation';
  const period = isPrevious ? findPeriod(books, POIReconciliationID) : books.open;
  if (period === undefined) throw new ServiceError('NotFound', 'period_not_found');
  if (!isPrevious) store.update({ books: closePeriod(books) });
  const answer: Structure<'ReconciliationResponse'> = {
    Response: successResponse,
    ReconciliationType: type,
    POIReconciliationID: String(period.number),
    TransactionTotals: periodTotals(period, poiId, ['SaleID']),
  };
  return answer;
}
