// Creates and reads capture batches. The batch worker processes them.
import { type Batch, type CaptureAllRequest, defined, refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/caller-scope.ts';
import { differingMembers, refuseIdentifierReuse } from '../validation/request-fingerprint.ts';
import type {
  BatchItem,
  BatchRow,
  BatchSelection,
  BatchStore,
  RequestedSale,
} from './batch-sql.ts';
import { batchCaptureJob } from './batch-worker.ts';

export type CaptureAllDeps = PaymentsDeps & { batches: BatchStore };

const maxItemsShown = 200;

export type BatchResponse = { batch: Batch; replayed: boolean };

function createSelection(caller: Caller, request: CaptureAllRequest): BatchSelection {
  const merchantId = resolveMerchantScope(caller, request.merchantId);
  if (merchantId === undefined) {
    return refuse('field_required', 'An organisation token needs merchantId.', {
      errors: [{ pointer: '/merchantId', code: 'field_required', detail: 'Is required.' }],
    });
  }
  const storeId = resolveStoreScope(caller, request.storeId);
  const { currency, authorizedBefore } = request;
  return {
    merchantId,
    storeId,
    currency,
    ...defined({
      authorizedBefore: authorizedBefore === undefined ? undefined : parseTime(authorizedBefore),
    }),
  };
}

/** What the request names is the caller's own, enabled or not; a token's own place needs no look. */
async function requireLocation(
  { provisioning }: CaptureAllDeps,
  caller: Caller,
  { merchantId, storeId }: BatchSelection,
): Promise<void> {
  const { organizationId } = caller;
  if (caller.merchantId === undefined)
    await provisioning.merchants.get({ organizationId }, merchantId);
  if (storeId === undefined || caller.storeId !== undefined) return;
  await provisioning.stores.get({ organizationId, merchantId }, storeId);
}

// RFC 3339 writes years, offsets and leap seconds that the database does not hold.
function parseTime(text: string): string {
  const ms = Date.parse(text.replace(/:60(?=[.Zz+-])/, ':59'));
  if (ms >= 0) return isoTime(ms);
  return refuse('field_invalid', 'The time is before any sale.', {
    errors: [
      { pointer: '/authorizedBefore', code: 'field_invalid', detail: 'Lies before the year 1970.' },
    ],
  });
}

function viewBatch(row: BatchRow, items: readonly BatchItem[], limit: number): Batch {
  const last = items.length === limit ? items.at(-1)?.transactionId : undefined;
  return {
    batchId: row.batchId,
    state: row.state,
    total: row.total,
    succeeded: row.succeeded,
    failed: row.failed,
    ...(row.filed === 0 ? {} : { filed: row.filed }),
    items: items.map(({ transactionId, amount, status, code }) => ({
      transactionId,
      status,
      ...defined({ amount, code }),
    })),
    nextCursor: last ?? null,
    createdAt: row.createdAt,
    ...(row.state === 'Completed' ? { completedAt: row.updatedAt } : {}),
  };
}

async function readBatchView(
  deps: CaptureAllDeps,
  organizationId: string,
  row: BatchRow,
  page: { after?: string | undefined; limit: number },
): Promise<Batch> {
  const items = await deps.batches.listItems({ organizationId, batchId: row.batchId, ...page });
  return viewBatch(row, items, page.limit);
}

async function dryRun(
  deps: CaptureAllDeps,
  caller: Caller,
  request: CaptureAllRequest,
  selection: BatchSelection,
): Promise<BatchResponse> {
  const { organizationId } = caller;
  await requireLocation(deps, caller, selection);
  const requestedItems = await findRequestedItems(deps, organizationId, request, selection);
  const total =
    requestedItems?.length ?? (await deps.batches.countCapturable(organizationId, selection));
  const plannedCaptures =
    requestedItems
      ?.slice(0, maxItemsShown)
      .map(({ transactionId, amount, remainingAmount: open, currency }) => ({
        transactionId,
        amount: amount ?? open,
        currency,
      })) ?? (await deps.batches.listCapturable(organizationId, selection, maxItemsShown));
  return {
    replayed: false,
    batch: {
      batchId: deps.ids.uuid(),
      state: 'Completed',
      dryRun: true,
      total,
      succeeded: 0,
      failed: 0,
      items: plannedCaptures.map((each) => ({ ...each, status: 'Planned' as const })),
    },
  };
}

function refuseItem(
  index: number,
  code: 'transaction_not_found' | 'currency_mismatch' | 'field_invalid',
  detail: string,
): never {
  const pointer = `/items/${index}/transactionId`;
  return refuse(code, `A named transaction: ${detail}`, { errors: [{ pointer, code, detail }] });
}

/** What is named and not selected is a mistake of one or the other: neither is captured nor left out. */
function requireInSelection(
  { currency, createdAt }: RequestedSale,
  selection: BatchSelection,
  index: number,
): void {
  if (selection.currency !== undefined && selection.currency !== currency) {
    refuseItem(index, 'currency_mismatch', `Is in ${currency}.`);
  }
  const { authorizedBefore } = selection;
  if (authorizedBefore !== undefined && Date.parse(createdAt) >= Date.parse(authorizedBefore)) {
    refuseItem(index, 'field_invalid', `Was not authorised before ${authorizedBefore}.`);
  }
}

// A name that is unknown is told at once: a batch holds only what can be captured.
async function findRequestedItems(
  deps: CaptureAllDeps,
  organizationId: string,
  { items }: CaptureAllRequest,
  selection: BatchSelection,
): Promise<(RequestedSale & { amount: number | undefined })[] | undefined> {
  if (items === undefined) return undefined;
  const identifiers = items.map(({ transactionId }) => transactionId);
  const { merchantId, storeId } = selection;
  const sales = await deps.batches.findRequestedSales({
    organizationId,
    merchantId,
    storeId,
    identifiers,
  });
  const requestedItems = items.map(({ amount }, index) => {
    const sale = sales[index];
    if (sale === undefined) {
      const detail = 'No transaction with this identifier exists in the scope of the token.';
      return refuseItem(index, 'transaction_not_found', detail);
    }
    requireInSelection(sale, selection, index);
    return { ...sale, amount };
  });
  if (new Set(requestedItems.map((each) => each.transactionId)).size !== requestedItems.length) {
    refuse('field_invalid', 'The list contains a transaction twice.', {
      errors: [{ pointer: '/items', code: 'field_invalid', detail: 'Names one twice.' }],
    });
  }
  return requestedItems;
}

/** @throws Refusal client_id_reused, transaction_not_found, merchant_not_found, store_not_found, currency_mismatch */
export async function captureAll(
  deps: CaptureAllDeps,
  caller: Caller,
  request: CaptureAllRequest,
): Promise<BatchResponse> {
  const { organizationId } = caller;
  const selection = createSelection(caller, request);
  if (request.dryRun === true) return dryRun(deps, caller, request, selection);
  const { clientOperationId, ...requestMembers } = request;
  // A token of one store asks for that store, whether it says so or not.
  const members = {
    ...requestMembers,
    ...defined({ storeId: selection.storeId }),
  };
  const batchId = deps.ids.uuid();
  const identifier = clientOperationId ?? batchId;
  const findExisting = () =>
    deps.batches.findByClientId(organizationId, identifier, selection.merchantId);
  const existing = clientOperationId === undefined ? undefined : await findExisting();
  if (existing !== undefined) return replayBatch(deps, organizationId, existing, members);
  await requireLocation(deps, caller, selection);
  const items = await findRequestedItems(deps, organizationId, request, selection);
  const at = isoTime(deps.clock.now());
  const isCreated = await deps.batches.create({
    organizationId,
    batchId,
    clientOperationId: identifier,
    request: members,
    selection,
    ...defined({ items }),
    at,
    job: { jobId: deps.ids.uuid(), kind: batchCaptureJob },
  });
  const row = await findExisting();
  if (row === undefined) throw new Error('the capture batch does not exist');
  if (!isCreated) return replayBatch(deps, organizationId, row, members);
  deps.jobs.poke();
  return {
    replayed: false,
    batch: await readBatchView(deps, organizationId, row, { limit: maxItemsShown }),
  };
}

async function replayBatch(
  deps: CaptureAllDeps,
  organizationId: string,
  row: BatchRow,
  members: Record<string, unknown>,
): Promise<BatchResponse> {
  if (differingMembers(row.request, members).length > 0) {
    refuseIdentifierReuse(row.request, members, 'clientOperationId');
  }
  return {
    replayed: true,
    batch: await readBatchView(deps, organizationId, row, { limit: maxItemsShown }),
  };
}

/** @throws Refusal batch_not_found */
export async function findBatch(
  deps: CaptureAllDeps,
  caller: Caller,
  batchId: string,
  page: { after?: string | undefined; limit: number },
): Promise<Batch> {
  const row = await deps.batches.find(caller.organizationId, batchId);
  const isVisible =
    (caller.merchantId === undefined || row?.merchantId === caller.merchantId) &&
    (caller.storeId === undefined || row?.request['storeId'] === caller.storeId);
  if (row === undefined || !isVisible) {
    return refuse('batch_not_found', 'There is no batch with this identifier.');
  }
  return readBatchView(deps, caller.organizationId, row, page);
}
