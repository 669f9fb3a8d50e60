// Creates and reads capture batches. The batch worker processes them.
import {
  type Batch,
  type CaptureAllRequest,
  type CapturePlan,
  defined,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { bucketOf, type Clock, type Ids, isoTime, type Jobs } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/find-transaction.ts';
import { throwIdentifierReused } from '../validation/compare-repeated-request.ts';
import type { BatchRow, BatchSelection, BatchStore, RequestedSale } from './batch-sql.ts';
import { batchCaptureJob } from './batch-worker.ts';

export type CaptureAllPorts = {
  batches: BatchStore;
  provisioning: Provisioning;
  jobs: Jobs;
  clock: Clock;
  ids: Ids;
};

type Page = { after?: string | undefined; limit: number };

const firstPage: Page = { limit: 200 };

/**
 * Plans a capture of all without storing anything.
 *
 * @throws ProblemError transaction_not_found, merchant_not_found, store_not_found, currency_mismatch
 */
export async function planCaptures(
  ports: CaptureAllPorts,
  caller: Caller,
  request: CaptureAllRequest,
): Promise<CapturePlan> {
  const { batches } = ports;
  const selection = selectionFor(caller, request);
  await requireLocation(ports, caller, selection);
  const requestedItems = await findRequestedItems(batches, request, selection);
  const captures =
    requestedItems
      ?.slice(0, firstPage.limit)
      .map(({ transactionId, amount, remainingAmount, currency }) => ({
        transactionId,
        amount: amount ?? remainingAmount,
        currency,
      })) ?? (await batches.listCapturable(selection, firstPage.limit));
  return {
    dryRun: true,
    total: requestedItems?.length ?? (await batches.countCapturable(selection)),
    items: captures.map((capture) => ({ ...capture, status: 'Planned' })),
  };
}

/**
 * Creates a batch, or returns the one that was created under the same clientOperationId.
 *
 * @throws ProblemError client_id_reused, and those of {@link planCaptures}
 */
export async function captureAll(
  ports: CaptureAllPorts,
  caller: Caller,
  request: CaptureAllRequest,
): Promise<{ batch: Batch; replayed: boolean }> {
  const { batches, clock, ids, jobs } = ports;
  const { organizationId } = caller;
  const selection = selectionFor(caller, request);
  const bucket = bucketOf(selection.merchantId);
  const batchId = ids.uuid(bucket);
  const { clientOperationId = batchId, ...members } = request;
  // The store of the token belongs to the request, whether or not the client sends it.
  const storedRequest = { ...members, ...defined({ storeId: selection.storeId }) };
  const findExisting = () =>
    batches.findByClientId(organizationId, clientOperationId, selection.merchantId);
  let row = clientOperationId === batchId ? undefined : await findExisting();
  let isCreated = false;
  if (row === undefined) {
    await requireLocation(ports, caller, selection);
    isCreated = await batches.create({
      batchId,
      clientOperationId,
      request: storedRequest,
      selection,
      items: await findRequestedItems(batches, request, selection),
      at: isoTime(clock.now()),
      job: { jobId: ids.uuid(bucket), kind: batchCaptureJob },
    });
    if (isCreated) jobs.wake();
    row = await findExisting();
  }
  if (row === undefined) throw new Error(`capture batch ${batchId} does not exist`);
  if (!isCreated) throwIdentifierReused(row.request, storedRequest, 'clientOperationId');
  return { batch: await viewBatch(batches, organizationId, row, firstPage), replayed: !isCreated };
}

/** @throws ProblemError batch_not_found */
export async function findBatch(
  { batches }: CaptureAllPorts,
  { organizationId, merchantId, storeId }: Caller,
  batchId: string,
  page: Page,
): Promise<Batch> {
  const row = await batches.find(organizationId, batchId);
  const isVisible =
    (merchantId === undefined || row?.merchantId === merchantId) &&
    (storeId === undefined || row?.request['storeId'] === storeId);
  if (row === undefined || !isVisible)
    return throwProblem('batch_not_found', 'There is no batch with this identifier.');
  return viewBatch(batches, organizationId, row, page);
}

async function viewBatch(
  batches: BatchStore,
  organizationId: string,
  { batchId, state, total, succeeded, failed, filed, createdAt, updatedAt }: BatchRow,
  page: Page,
): Promise<Batch> {
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
    createdAt: createdAt.toISOString(),
    ...defined({ completedAt: state === 'Completed' ? updatedAt.toISOString() : undefined }),
  };
}

function selectionFor(caller: Caller, request: CaptureAllRequest): BatchSelection {
  const merchantId = resolveMerchantScope(caller, request.merchantId);
  if (merchantId === undefined)
    return throwFieldProblem(
      'field_required',
      '/merchantId',
      'With a token of an organisation, merchantId is required.',
    );
  const { currency, authorizedBefore } = request;
  return {
    organizationId: caller.organizationId,
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
  const detail = 'authorizedBefore is before the year 1970.';
  return throwFieldProblem('field_invalid', '/authorizedBefore', detail);
}

/** The merchant and the store of a token exist; those that a request names may not. */
async function requireLocation(
  { provisioning }: CaptureAllPorts,
  caller: Caller,
  { organizationId, merchantId, storeId }: BatchSelection,
): Promise<void> {
  if (caller.merchantId === undefined)
    await provisioning.merchants.get({ organizationId }, merchantId);
  if (storeId !== undefined && caller.storeId === undefined)
    await provisioning.stores.get({ organizationId, merchantId }, storeId);
}

/** Refuses the whole request if one item is unknown, so that a batch holds only existing sales. */
async function findRequestedItems(
  batches: BatchStore,
  { items }: CaptureAllRequest,
  selection: BatchSelection,
): Promise<(RequestedSale & { amount: number | undefined })[] | undefined> {
  if (items === undefined) return undefined;
  const identifiers = items.map(({ transactionId }) => transactionId);
  const sales = await batches.findRequestedSales(selection, identifiers);
  const requestedItems = items.map(({ amount }, index) => ({
    ...requireSelected(sales[index], selection, `/items/${index}/transactionId`),
    amount,
  }));
  if (new Set(requestedItems.map((each) => each.transactionId)).size !== items.length)
    throwFieldProblem('field_invalid', '/items', 'items contains a transaction twice.');
  return requestedItems;
}

function requireSelected(
  sale: RequestedSale | undefined,
  { currency, authorizedBefore }: BatchSelection,
  pointer: string,
): RequestedSale {
  if (sale === undefined) {
    const detail = 'No transaction that you may see has this identifier.';
    return throwFieldProblem('transaction_not_found', pointer, detail);
  }
  if (currency !== undefined && sale.currency !== currency) {
    const detail = `The transaction is in ${sale.currency}, not in ${currency}.`;
    throwFieldProblem('currency_mismatch', pointer, detail);
  }
  if (authorizedBefore !== undefined && sale.createdAt >= new Date(authorizedBefore)) {
    const detail = `The transaction was not authorised before ${authorizedBefore}.`;
    throwFieldProblem('field_invalid', pointer, detail);
  }
  return sale;
}
