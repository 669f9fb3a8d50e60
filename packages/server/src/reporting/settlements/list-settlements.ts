// Lists settlements by acquirer link, merchant, day and currency, with their clearing files.
import { type Settlement, type SettlementDetail, throwProblem } from '@switchyard/contract';
import type { Caller, FoundPage } from '../../http/index.ts';
import { readClearingFiles } from '../../payments/index.ts';
import type { Queries } from '../../platform/index.ts';
import { readReportScope } from '../infrastructure/report-scope.ts';
import { decodeSettlementId, encodeSettlementId } from './settlement-id.ts';
import {
  findSettlement,
  listSettlementFiles,
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

const toCountAndAmount = (count: number, amount: bigint) => ({ count, amount: String(amount) });

function toSettlementView(row: SettlementRow): Settlement {
  return {
    settlementId: encodeSettlementId(row),
    acquirerLinkId: row.acquirerLinkId,
    merchantId: row.merchantId,
    day: row.day,
    currency: row.currency,
    captures: toCountAndAmount(row.captures, row.captured),
    refunds: toCountAndAmount(row.refunds, row.refunded),
    reversals: toCountAndAmount(row.reversals, row.reversed),
    net: String(row.captured - row.refunded - row.reversed),
    pending: toCountAndAmount(row.pendingCaptures, row.pending),
    // No acquirer reports fees over the supported interfaces.
    fees: null,
    updatedAt: row.updatedAt,
  };
}

/** A caller that is bound to a store or device may not see the sums of the whole merchant. */
function requireMerchantScope(caller: Caller, requested: { merchantId?: string }) {
  const scope = readReportScope(caller, requested);
  if (scope.storeId !== undefined || scope.deviceId !== undefined) {
    throwProblem(
      'permission_denied',
      'Settlements are available only for a merchant, not for a store. Use a token of the merchant.',
    );
  }
  return scope;
}

/** Returns one page for a filter, last day first. */
export async function readSettlementPage(
  queries: Queries,
  filter: SettlementFilter,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<FoundPage<Settlement>> {
  const afterKey = after === undefined ? undefined : decodeSettlementId(after);
  const settlementRows = await listSettlements(queries, filter, {
    after: afterKey,
    limit: limit + 1,
  });
  const items = settlementRows.slice(0, limit).map(toSettlementView);
  return { items, next: settlementRows.length > limit ? items.at(-1)?.settlementId : undefined };
}

export function listSettlementsInScope(
  queries: Queries,
  caller: Caller,
  query: SettlementQuery,
  page: { limit: number; after?: string },
): Promise<FoundPage<Settlement>> {
  const { organizationId, merchantId } = requireMerchantScope(caller, query);
  const filter: SettlementFilter = {
    organizationId,
    merchantId,
    currency: query.currency,
    acquirerLinkId: query.acquirerLinkId?.toLowerCase(),
    from: query.from,
    to: query.to,
  };
  return readSettlementPage(queries, filter, page);
}

/**
 * @throws ProblemError settlement_not_found, also for a settlement of another merchant or organisation
 */
export async function getSettlement(
  queries: Queries,
  caller: Caller,
  id: string,
): Promise<SettlementDetail> {
  const { organizationId, merchantId } = requireMerchantScope(caller, {});
  const key = decodeSettlementId(id);
  const isOwn = key !== undefined && (merchantId === undefined || merchantId === key.merchantId);
  const row = isOwn ? await findSettlement(queries, organizationId, key) : undefined;
  if (key === undefined || row === undefined) {
    return throwProblem('settlement_not_found', 'There is no settlement with this identifier.');
  }
  const fileParts = await listSettlementFiles(queries, organizationId, key, filesMax);
  const clearingFiles = await readClearingFiles(
    queries,
    organizationId,
    fileParts.map(({ fileId }) => fileId),
  );
  const files = fileParts.flatMap(({ fileId, lines, amount }) => {
    const file = clearingFiles.find(({ clearingFileId }) => clearingFileId === fileId);
    return file === undefined ? [] : [{ ...file, lines, amount }];
  });
  return { ...toSettlementView(row), files };
}
