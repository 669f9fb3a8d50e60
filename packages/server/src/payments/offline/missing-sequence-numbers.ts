// Reports missing terminal sequence numbers, as a list and as an event.
import type { OfflineGap } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Job } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/caller-scope.ts';
import { applyTransition } from '../transaction/transition.ts';
import type { Gap } from './offline-sql.ts';

export const gapReportJob = 'payments.report-offline-gap';

/** Uploads that come out of order are no gap: for so long the others may still be under way. */
export const gapReportDelayMs = 60_000;

/** In one event; the report has them all. */
const maxRangesPerEvent = 50;
const maxConflictRetries = 20;
const gapEventType = 'offline.gap_detected';

export type GapQuery = { merchantId?: string; storeId?: string; deviceId?: string };

/** Gaps that are open now, of what the caller may see. */
export async function listGaps(
  deps: PaymentsDeps,
  caller: Caller,
  query: GapQuery,
  { limit, after }: { limit: number; after?: string },
): Promise<{ items: OfflineGap[]; next: string | undefined }> {
  const rows = await deps.offlineStore.listGaps({
    organizationId: caller.organizationId,
    merchantId: resolveMerchantScope(caller, query.merchantId),
    storeId: resolveStoreScope(caller, query.storeId),
    deviceId: query.deviceId?.toLowerCase(),
    after,
    limit: limit + 1,
  });
  const items = rows.slice(0, limit);
  return {
    items: items.map(viewGap),
    next: rows.length > limit ? items.at(-1)?.gap_id : undefined,
  };
}

function viewGap(gap: Gap): OfflineGap {
  return {
    merchantId: gap.merchant_id,
    ...(gap.store_id === null ? {} : { storeId: gap.store_id }),
    deviceId: gap.holder_id,
    ...(gap.counter === '' ? {} : { serialNumber: gap.counter }),
    firstMissing: gap.first_missing,
    lastMissing: gap.last_missing,
    missing: gap.last_missing - gap.first_missing + 1,
    detectedAt: gap.detected_at.toISOString(),
    transactionId: gap.transaction_id,
  };
}

/** Told once, of what is still missing then, at the upload that has left it behind. */
export function createGapReporter(deps: PaymentsDeps): (job: Job) => Promise<void> {
  return async ({ organizationId, payload }) => {
    const { transactionId } = payload as { transactionId: string };
    const gaps = await deps.offlineStore.gapsOf(organizationId, transactionId, maxRangesPerEvent);
    if (gaps.length === 0) return;
    const missing = gaps.map((gap) => ({ first: gap.first_missing, last: gap.last_missing }));
    for (let attempt = 0; attempt < maxConflictRetries; attempt += 1) {
      const transaction = await deps.transactions.findById(organizationId, transactionId);
      if (
        transaction === undefined ||
        transaction.events.some((event) => event.type === gapEventType)
      )
        return;
      const transition = {
        at: deps.clock.now(),
        type: gapEventType,
        changes: {},
        data: { missing },
      };
      if (await deps.transactions.update(applyTransition(transaction.row, transition))) return;
    }
    throw new Error('the gap event could not be stored after all retries');
  };
}
