// Lists settlements by acquirer link, merchant, day and currency, with their clearing files.
import { type Settlement, type SettlementDetail, throwProblem } from '@switchyard/contract';
import type { Caller, FoundPage } from '../../http/index.ts';
import { readClearingFiles } from '../../payments/index.ts';
import { scopeOf } from '../infrastructure/report-scope.ts';
import type { RunQuery } from '../infrastructure/run-query.ts';
import { settlementId, settlementKey } from './settlement-id.ts';
import {
  filesOf,
  findSettlement,
  listSettlements,
  type SettlementFilter,
  type SettlementRow,
} from './settlement-sql.ts';

export type SettlementQuery = {
  readonly from?: string;
  readonly to?: string;
  readonly acquirerLinkId?: string;
  readonly merchantId?: string;
  readonly currency?: string;
};

const filesMax = 100;

const moved = (count: number, amount: bigint) => ({ count, amount: String(amount) });

function view(row: SettlementRow): Settlement {
  return {
    settlementId: settlementId(row),
    acquirerLinkId: row.acquirerLinkId,
    merchantId: row.merchantId,
    day: row.day,
    currency: row.currency,
    captures: moved(row.captures, row.captured),
    refunds: moved(row.refunds, row.refunded),
    reversals: moved(row.reversals, row.reversed),
    net: String(row.captured - row.refunded - row.reversed),
    pending: moved(row.pendingCaptures, row.pending),
    // No acquirer reports fees over the supported interfaces.
    fees: null,
    updatedAt: row.updatedAt,
  };
}

/** A caller that is bound to a store or device may not see the sums of the whole merchant. */
function withinMerchant(caller: Caller, asked: { merchantId?: string }) {
  const scope = scopeOf(caller, asked);
  if (scope.storeId !== undefined || scope.deviceId !== undefined) {
    throwProblem('permission_denied', 'Settlements are of a whole merchant.');
  }
  return scope;
}

/** Returns one page for a filter, last day first. */
export async function settlementPage(
  run: RunQuery,
  filter: SettlementFilter,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<FoundPage<Settlement>> {
  const place = after === undefined ? undefined : settlementKey(after);
  const found = await listSettlements(run, filter, { after: place, limit: limit + 1 });
  const items = found.slice(0, limit).map(view);
  return { items, next: found.length > limit ? items.at(-1)?.settlementId : undefined };
}

export function settlements(
  run: RunQuery,
  caller: Caller,
  query: SettlementQuery,
  page: { limit: number; after?: string },
): Promise<FoundPage<Settlement>> {
  const { organizationId, merchantId } = withinMerchant(caller, query);
  const filter: SettlementFilter = {
    organizationId,
    merchantId,
    currency: query.currency,
    acquirerLinkId: query.acquirerLinkId?.toLowerCase(),
    from: query.from,
    to: query.to,
  };
  return settlementPage(run, filter, page);
}

/**
 * @throws Refusal settlement_not_found, also for a settlement of another merchant or organisation
 */
export async function settlement(
  run: RunQuery,
  caller: Caller,
  id: string,
): Promise<SettlementDetail> {
  const { organizationId, merchantId } = withinMerchant(caller, {});
  const key = settlementKey(id);
  const isOwn = key !== undefined && (merchantId === undefined || merchantId === key.merchantId);
  const row = isOwn ? await findSettlement(run, organizationId, key) : undefined;
  if (key === undefined || row === undefined) {
    return throwProblem('settlement_not_found', 'There is no settlement with this identifier.');
  }
  const parts = await filesOf(run, organizationId, key, filesMax);
  const known = await readClearingFiles(
    run,
    organizationId,
    parts.map(({ fileId }) => fileId),
  );
  const files = parts.flatMap(({ fileId, lines, amount }) => {
    const file = known.find(({ clearingFileId }) => clearingFileId === fileId);
    return file === undefined ? [] : [{ ...file, lines, amount }];
  });
  return { ...view(row), files };
}
