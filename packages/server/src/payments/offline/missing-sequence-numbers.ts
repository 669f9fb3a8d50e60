// Tells of numbers that a terminal has counted and never uploaded: as a report, and as an event.
import type { OfflineGap } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Job } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { merchantOf, storeOf } from '../runtime/caller-scope.ts';
import { changeOf } from '../transaction/transition.ts';
import type { Gap } from './offline-sql.ts';

export const gapJob = 'payments.offline-gap';

/** Uploads that come out of order are no gap: for so long the others may still be under way. */
export const gapSettleMs = 60_000;

/** In one event; the report has them all. */
const toldMax = 50;
const rivalsMax = 20;
const type = 'offline.gap_detected';

export type GapQuery = { merchantId?: string; storeId?: string; deviceId?: string };

/** Gaps that are open now, of what the caller may see. */
export async function listGaps(
  deps: PaymentsDeps,
  caller: Caller,
  query: GapQuery,
  { limit, after }: { limit: number; after?: string },
): Promise<{ items: OfflineGap[]; next: string | undefined }> {
  const rows = await deps.offline.listGaps({
    organizationId: caller.organizationId,
    merchantId: merchantOf(caller, query.merchantId),
    storeId: storeOf(caller, query.storeId),
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
export function createGapTeller(deps: PaymentsDeps): (job: Job) => Promise<void> {
  return async ({ organizationId, payload }) => {
    const { transactionId } = payload as { transactionId: string };
    const gaps = await deps.offline.gapsOf(organizationId, transactionId, toldMax);
    if (gaps.length === 0) return;
    const missing = gaps.map((gap) => ({ first: gap.first_missing, last: gap.last_missing }));
    for (let attempt = 0; attempt < rivalsMax; attempt += 1) {
      const loaded = await deps.store.findById(organizationId, transactionId);
      if (loaded === undefined || loaded.events.some((event) => event.type === type)) return;
      const step = { at: deps.clock.now(), type, changes: {}, data: { missing } };
      if (await deps.store.commit(changeOf(loaded.row, step))) return;
    }
    throw new Error('a gap could not be told');
  };
}
