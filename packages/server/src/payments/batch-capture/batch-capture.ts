// Takes and shows captures of all that is authorised, or of a list; `capture-work.ts` does them.
import { type Batch, type CaptureAllRequest, defined, refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { merchantOf, storeOf } from '../runtime/caller-scope.ts';
import { differences, refuseReuse } from '../validation/validate-sale-request.ts';
import type { BatchItem, BatchRow, BatchSelection, BatchStore, NamedSale } from './batch-sql.ts';
import { captureAllJob } from './batch-worker.ts';

export type CaptureAllDeps = PaymentsDeps & { batches: BatchStore };

const shownMax = 200;

export type BatchAnswer = { batch: Batch; replayed: boolean };

function selectionOf(caller: Caller, request: CaptureAllRequest): BatchSelection {
  const merchantId = merchantOf(caller, request.merchantId);
  if (merchantId === undefined) {
    return refuse('field_required', 'An organisation names the merchant.', {
      errors: [{ pointer: '/merchantId', code: 'field_required', detail: 'Is required.' }],
    });
  }
  const storeId = storeOf(caller, request.storeId);
  const { currency, authorizedBefore } = request;
  return {
    merchantId,
    storeId,
    currency,
    ...defined({
      authorizedBefore: authorizedBefore === undefined ? undefined : timeOf(authorizedBefore),
    }),
  };
}

/** What the request names is the caller's own, enabled or not; a token's own place needs no look. */
async function demandPlace(
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
function timeOf(text: string): string {
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

async function shown(
  deps: CaptureAllDeps,
  organizationId: string,
  row: BatchRow,
  page: { after?: string | undefined; limit: number },
): Promise<Batch> {
  const items = await deps.batches.items({ organizationId, batchId: row.batchId, ...page });
  return viewBatch(row, items, page.limit);
}

async function dryRun(
  deps: CaptureAllDeps,
  caller: Caller,
  request: CaptureAllRequest,
  selection: BatchSelection,
): Promise<BatchAnswer> {
  const { organizationId } = caller;
  await demandPlace(deps, caller, selection);
  const named = await namedItems(deps, organizationId, request, selection);
  const total = named?.length ?? (await deps.batches.count(organizationId, selection));
  const planned =
    named?.slice(0, shownMax).map(({ transactionId, amount, open, currency }) => ({
      transactionId,
      amount: amount ?? open,
      currency,
    })) ?? (await deps.batches.plan(organizationId, selection, shownMax));
  return {
    replayed: false,
    batch: {
      batchId: deps.ids.uuid(),
      state: 'Completed',
      dryRun: true,
      total,
      succeeded: 0,
      failed: 0,
      items: planned.map((each) => ({ ...each, status: 'Planned' as const })),
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
function demandSelected(
  { currency, createdAt }: NamedSale,
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
async function namedItems(
  deps: CaptureAllDeps,
  organizationId: string,
  { items }: CaptureAllRequest,
  selection: BatchSelection,
): Promise<(NamedSale & { amount: number | undefined })[] | undefined> {
  if (items === undefined) return undefined;
  const names = items.map(({ transactionId }) => transactionId);
  const { merchantId, storeId } = selection;
  const sales = await deps.batches.named({ organizationId, merchantId, storeId, names });
  const found = items.map(({ amount }, index) => {
    const sale = sales[index];
    if (sale === undefined) {
      const detail = 'There is no transaction with this identifier.';
      return refuseItem(index, 'transaction_not_found', detail);
    }
    demandSelected(sale, selection, index);
    return { ...sale, amount };
  });
  if (new Set(found.map((each) => each.transactionId)).size !== found.length) {
    refuse('field_invalid', 'A transaction is named twice.', {
      errors: [{ pointer: '/items', code: 'field_invalid', detail: 'Names one twice.' }],
    });
  }
  return found;
}

/** @throws Refusal client_id_reused, transaction_not_found, merchant_not_found, store_not_found, currency_mismatch */
export async function captureAll(
  deps: CaptureAllDeps,
  caller: Caller,
  request: CaptureAllRequest,
): Promise<BatchAnswer> {
  const { organizationId } = caller;
  const selection = selectionOf(caller, request);
  if (request.dryRun === true) return dryRun(deps, caller, request, selection);
  const { clientOperationId, ...named } = request;
  // A token of one store asks for that store, whether it says so or not.
  const members = {
    ...named,
    ...defined({ storeId: selection.storeId }),
  };
  const batchId = deps.ids.uuid();
  const identifier = clientOperationId ?? batchId;
  const known = () => deps.batches.findByClientId(organizationId, identifier, selection.merchantId);
  const first = clientOperationId === undefined ? undefined : await known();
  if (first !== undefined) return replayBatch(deps, organizationId, first, members);
  await demandPlace(deps, caller, selection);
  const items = await namedItems(deps, organizationId, request, selection);
  const at = isoTime(deps.clock.now());
  const made = await deps.batches.create({
    organizationId,
    batchId,
    clientOperationId: identifier,
    request: members,
    selection,
    ...defined({ items }),
    at,
    job: { jobId: deps.ids.uuid(), kind: captureAllJob },
  });
  const row = await known();
  if (row === undefined) throw new Error('a batch has vanished');
  if (!made) return replayBatch(deps, organizationId, row, members);
  deps.jobs.poke();
  return { replayed: false, batch: await shown(deps, organizationId, row, { limit: shownMax }) };
}

async function replayBatch(
  deps: CaptureAllDeps,
  organizationId: string,
  row: BatchRow,
  members: Record<string, unknown>,
): Promise<BatchAnswer> {
  if (differences(row.request, members).length > 0) {
    refuseReuse(row.request, members, 'clientOperationId');
  }
  return { replayed: true, batch: await shown(deps, organizationId, row, { limit: shownMax }) };
}

/** @throws Refusal batch_not_found */
export async function findBatch(
  deps: CaptureAllDeps,
  caller: Caller,
  batchId: string,
  page: { after?: string | undefined; limit: number },
): Promise<Batch> {
  const row = await deps.batches.find(caller.organizationId, batchId);
  const mine =
    (caller.merchantId === undefined || row?.merchantId === caller.merchantId) &&
    (caller.storeId === undefined || row?.request['storeId'] === caller.storeId);
  if (row === undefined || !mine) {
    return refuse('batch_not_found', 'There is no batch with this identifier.');
  }
  return shown(deps, caller.organizationId, row, page);
}
