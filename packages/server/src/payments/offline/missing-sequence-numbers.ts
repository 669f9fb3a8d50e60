// Reports missing terminal sequence numbers, as a list and as an event.
import { defined, type OfflineGap } from '@switchyard/contract';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import type { Clock, Job } from '../../platform/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { commitTransition, updateWithRetry } from '../repository/update-with-retry.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/find-transaction.ts';
import type { Gap, OfflineStore } from './offline-sale-sql.ts';

export const gapReportJob = 'payments.report-offline-gap';

/** Uploads that arrive out of order within this time are not a gap. */
export const gapReportDelayMs = 60_000;

/** The list of gaps contains all ranges. */
const maxRangesPerEvent = 50;
const gapEventType = 'offline.gap_detected';

type GapQuery = { merchantId?: string; storeId?: string; deviceId?: string };

export type ListGapsPorts = { offlineStore: Pick<OfflineStore, 'listGaps'> };

export async function listGaps(
  { offlineStore }: ListGapsPorts,
  caller: Caller,
  query: GapQuery,
  { limit, after }: PageRequest,
): Promise<FoundPage<OfflineGap>> {
  const rows = await offlineStore.listGaps({
    organizationId: caller.organizationId,
    merchantId: resolveMerchantScope(caller, query.merchantId),
    storeId: resolveStoreScope(caller, query.storeId),
    deviceId: query.deviceId?.toLowerCase(),
    after,
    limit: limit + 1,
  });
  const items = rows.slice(0, limit);
  const next = rows.length > limit ? items.at(-1)?.gapId : undefined;
  return { items: items.map(viewGap), next };
}

function viewGap({ gapId: _, terminalOwnerId, sequenceScope, storeId, ...gap }: Gap): OfflineGap {
  return {
    ...gap,
    deviceId: terminalOwnerId,
    ...defined({ storeId: storeId ?? undefined, serialNumber: sequenceScope || undefined }),
    missing: gap.lastMissing - gap.firstMissing + 1,
    detectedAt: gap.detectedAt.toISOString(),
  };
}

type GapReporterPorts = {
  offlineStore: Pick<OfflineStore, 'gapsOf'>;
  transactions: Pick<TransactionRepository, 'findById' | 'update'>;
  clock: Clock;
};

/** Adds one event with the numbers that are still missing, to the upload after the gap. */
export function createGapReporter({ offlineStore, transactions, clock }: GapReporterPorts) {
  return async ({ organizationId, payload }: Job): Promise<void> => {
    const { transactionId } = payload as { transactionId: string };
    const gaps = await offlineStore.gapsOf(organizationId, transactionId, maxRangesPerEvent);
    if (gaps.length === 0) return;
    const missing = gaps.map((gap) => ({ first: gap.firstMissing, last: gap.lastMissing }));
    const transaction = await transactions.findById(organizationId, transactionId);
    if (transaction === undefined) return;
    await updateWithRetry(transactions, transaction, async (current) => {
      if (current.events.some((event) => event.type === gapEventType)) return current;
      return commitTransition(transactions, current, {
        at: clock.now(),
        type: gapEventType,
        changes: {},
        data: { missing },
      });
    });
  };
}
