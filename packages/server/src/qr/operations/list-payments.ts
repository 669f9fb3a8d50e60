// Lists the payments of an organisation, a merchant or a store by page, newest first.
import { defined, type QrTransaction } from '@switchyard/contract';
import { type Caller, type Page, pageResponse, readPageRequest } from '../../http/index.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { viewPayment } from '../transaction/payment-views.ts';
import { merchantOf } from './find-payment.ts';

type Query = { limit?: number; cursor?: string; merchantId?: string; held?: boolean };

const name = 'listQrPayments';

export async function listPayments(
  { store }: Pick<QrDeps, 'store'>,
  caller: Caller,
  query: Query,
): Promise<Page<QrTransaction>> {
  const { organizationId, storeId } = caller;
  const merchantId = merchantOf(caller, query.merchantId);
  const { limit, after } = readPageRequest(query, name);
  const wanted = { organizationId, merchantId, storeId, held: query.held };
  const page = { limit: limit + 1, ...defined({ after }) };
  const found = await store.list(wanted, page);
  const shown = found.slice(0, limit);
  const ids = shown.map(({ row }) => row.transactionId);
  const events = await store.shownEventsOf(organizationId, ids);
  const items = shown.map((each) => viewPayment(each, events.get(each.row.transactionId) ?? []));
  const next = found.length > limit ? ids.at(-1) : undefined;
  return pageResponse({ items, next }, query, name);
}
