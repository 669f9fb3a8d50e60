// Lists the payments of an organisation, a merchant or a store by page, newest first.
import { defined, type QrTransaction } from '@switchyard/contract';
import { type Caller, type Page, pageResponse, readPageRequest } from '../../http/index.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { viewPayment } from '../transaction/payment-views.ts';
import { requireMerchantScope } from './find-payment.ts';

type Query = { limit?: number; cursor?: string; merchantId?: string; held?: boolean };

const operationName = 'listQrPayments';

export async function listPayments(
  { store }: Pick<QrDeps, 'store'>,
  caller: Caller,
  query: Query,
): Promise<Page<QrTransaction>> {
  const { organizationId, storeId } = caller;
  const merchantId = requireMerchantScope(caller, query.merchantId);
  const { limit, after } = readPageRequest(query, operationName);
  const filter = { organizationId, merchantId, storeId, held: query.held };
  const page = { limit: limit + 1, ...defined({ after }) };
  const payments = await store.list(filter, page);
  const pagePayments = payments.slice(0, limit);
  const ids = pagePayments.map(({ row }) => row.transactionId);
  const events = await store.eventsForViews(organizationId, ids);
  const items = pagePayments.map((each) =>
    viewPayment(each, events.get(each.row.transactionId) ?? []),
  );
  const next = payments.length > limit ? ids.at(-1) : undefined;
  return pageResponse({ items, next }, query, operationName);
}
