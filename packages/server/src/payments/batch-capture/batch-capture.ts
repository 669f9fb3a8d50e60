// Creates and reads capture batches. The batch worker processes them.
import {
  type Batch,
  type CaptureAllRequest,
  type CapturePlan,
  defined,
  refuse,
  refuseField,
} from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { type Clock, type Ids, isoTime, type Jobs } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/find-transaction.ts';
import { refuseIdentifierReuse } from '../validation/request-members.ts';
import type { BatchRow, BatchSelection, BatchStore, RequestedSale } from './batch-sql.ts';
import { batchCaptureJob } from './batch-worker.ts';

type PlanPorts = {
  batches: Pick<BatchStore, 'findRequestedSales' | 'countCapturable' | 'listCapturable'>;
  provisioning: {
    merchants: Pick<Provisioning['merchants'], 'get'>;
    stores: Pick<Provisioning['stores'], 'get'>;
  };
};
type ReadPorts = { batches: Pick<BatchStore, 'find' | 'listItems'> };
export type CaptureAllPorts = PlanPorts &
  ReadPorts & {
    batches: Pick<BatchStore, 'create' | 'findByClientId'>;
    jobs: Pick<Jobs, 'poke'>;
    clock: Clock;
    ids: Ids;
  };

type Page = { after?: string | undefined; limit: number };

const firstPage: Page = { limit: 200 };

/**
 * Plans a capture of all without storing anything.
 *
 * @throws Refusal transaction_not_found, merchant_not_found, store_not_found, currency_mismatch
 */
export async function planCaptures(
  ports: PlanPorts,
  caller: Caller,
  request: CaptureAllRequest,
): Promise<CapturePlan> {
  const { organizationId } = caller;
  const selection = selectionFor(caller, request);
  await requireLocation(ports, caller, selection);
  const requestedItems = await findRequestedItems(ports, organizationId, request, selection);
  const captures =
    requestedItems
      ?.slice(0, firstPage.limit)
      .map(({ transactionId, amount, remainingAmount, currency }) => ({
        transactionId,
        amount: amount ?? remainingAmount,
        currency,
      })) ?? (await ports.batches.listCapturable(organizationId, selection, firstPage.limit));
  return {
    dryRun: true,
    total:
      requestedItems?.length ?? (await ports.batches.countCapturable(organizationId, selection)),
    items: captures.map((capture) => ({ ...capture, status: 'Planned' })),
  };
}

/**
 * Creates a batch, or returns the one that was created under the same clientOperationId.
 *
 * @throws Refusal client_id_reused, and those of {@link planCaptures}
 */
export async function captureAll(
  ports: CaptureAllPorts,
  caller: Caller,
  request: CaptureAllRequest,
): Promise<{ batch: Batch; replayed: boolean }> {
  const { organizationId } = caller;
  const selection = selectionFor(caller, request);
  const { clientOperationId, ...members } = request;
  // The store of the token belongs to the request, whether or not the client sends it.
  const storedRequest = { ...members, ...defined({ storeId: selection.storeId }) };
  const batchId = ports.ids.uuid();
  const identifier = clientOperationId ?? batchId;
  const findExisting = () =>
    ports.batches.findByClientId(organizationId, identifier, selection.merchantId);
  let row = clientOperationId === undefined ? undefined : await findExisting();
  let isCreated = false;
  if (row === undefined) {
    await requireLocation(ports, caller, selection);
    isCreated = await ports.batches.create({
      organizationId,
      batchId,
      clientOperationId: identifier,
      request: storedRequest,
      selection,
      items: await findRequestedItems(ports, organizationId, request, selection),
      at: isoTime(ports.clock.now()),
      job: { jobId: ports.ids.uuid(), kind: batchCaptureJob },
    });
    if (isCreated) ports.jobs.poke();
    row = await findExisting();
  }
  if (row === undefined) throw new Error(`capture batch ${batchId} does not exist`);
  if (!isCreated) refuseIdentifierReuse(row.request, storedRequest, 'clientOperationId');
  return { batch: await viewBatch(ports, organizationId, row, firstPage), replayed: !isCreated };
}

/** @throws Refusal batch_not_found */
export async function findBatch(
  ports: ReadPorts,
  { organizationId, merchantId, storeId }: Caller,
  batchId: string,
  page: Page,
): Promise<Batch> {
  const row = await ports.batches.find(organizationId, batchId);
  const isVisible =
    (merchantId === undefined || row?.merchantId === merchantId) &&
    (storeId === undefined || row?.request['storeId'] === storeId);
  if (row === undefined || !isVisible) {
    return refuse('batch_not_found', 'There is no batch with this identifier.');
  }
  return viewBatch(ports, organizationId, row, page);
}

async function viewBatch(
  { batches }: ReadPorts,
  organizationId: string,
  row: BatchRow,
  page: Page,
): Promise<Batch> {
  const { batchId, state, total, succeeded, failed, filed } = row;
  const items = await batches.listItems({ organizationId, batchId, ...page });
  const last = items.length === page.limit ? items.at(-1)?.transactionId : undefined;
  return {
    batchId,
    state,
    total,
    succeeded,
    failed,
    ...(filed === 0 ? {} : { filed }),
    items: items.map(({ transactionId, status, amount, code }) => ({
      transactionId,
      status,
      ...defined({ amount: amount ?? undefined, code: code ?? undefined }),
    })),
    nextCursor: last ?? null,
    createdAt: row.createdAt.toISOString(),
    ...(state === 'Completed' ? { completedAt: row.updatedAt.toISOString() } : {}),
  };
}

function selectionFor(caller: Caller, request: CaptureAllRequest): BatchSelection {
  const merchantId = resolveMerchantScope(caller, request.merchantId);
  if (merchantId === undefined) {
    return refuseField('field_required', '/merchantId', 'An organisation token needs merchantId.');
  }
  const { currency, authorizedBefore } = request;
  return {
    merchantId,
    storeId: resolveStoreScope(caller, request.storeId),
    currency,
    authorizedBefore: authorizedBefore && parseTime(authorizedBefore),
  };
}

// RFC 3339 allows years, offsets and leap seconds that PostgreSQL does not accept.
function parseTime(text: string): string {
  const ms = Date.parse(text.replace(/:60(?=[.Zz+-])/, ':59'));
  if (ms >= 0) return isoTime(ms);
  return refuseField(
    'field_invalid',
    '/authorizedBefore',
    'authorizedBefore is before the year 1970.',
  );
}

/** The merchant and the store of a token exist; those that a request names may not. */
async function requireLocation(
  { provisioning }: PlanPorts,
  caller: Caller,
  { merchantId, storeId }: BatchSelection,
): Promise<void> {
  const { organizationId } = caller;
  if (caller.merchantId === undefined)
    await provisioning.merchants.get({ organizationId }, merchantId);
  if (storeId === undefined || caller.storeId !== undefined) return;
  await provisioning.stores.get({ organizationId, merchantId }, storeId);
}

/** Refuses the whole request if one item is unknown, so that a batch holds only existing sales. */
async function findRequestedItems(
  { batches }: PlanPorts,
  organizationId: string,
  { items }: CaptureAllRequest,
  selection: BatchSelection,
): Promise<(RequestedSale & { amount: number | undefined })[] | undefined> {
  if (items === undefined) return undefined;
  const { merchantId, storeId } = selection;
  const identifiers = items.map(({ transactionId }) => transactionId);
  const query = { organizationId, merchantId, storeId, identifiers };
  const sales = await batches.findRequestedSales(query);
  const requestedItems = items.map(({ amount }, index) => ({
    ...requireSelected(sales[index], selection, index),
    amount,
  }));
  if (new Set(requestedItems.map((each) => each.transactionId)).size !== items.length) {
    refuseField('field_invalid', '/items', 'items contains a transaction twice.');
  }
  return requestedItems;
}

function requireSelected(
  sale: RequestedSale | undefined,
  { currency, authorizedBefore }: BatchSelection,
  index: number,
): RequestedSale {
  const refuseItem = (
    code: 'transaction_not_found' | 'currency_mismatch' | 'field_invalid',
    detail: string,
  ) => {
    const pointer = `/items/${index}/transactionId`;
    return refuseField(code, pointer, `A named transaction: ${detail}`);
  };
  if (sale === undefined) {
    const detail = 'No transaction with this identifier exists in the scope of the token.';
    return refuseItem('transaction_not_found', detail);
  }
  if (currency !== undefined && sale.currency !== currency) {
    refuseItem('currency_mismatch', `Is in ${sale.currency}.`);
  }
  if (authorizedBefore !== undefined && sale.createdAt >= new Date(authorizedBefore)) {
    refuseItem('field_invalid', `Was not authorised before ${authorizedBefore}.`);
  }
  return sale;
}
