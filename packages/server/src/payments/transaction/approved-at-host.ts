// Finds evidence that the acquirer host has approved a sale at any time.
import { responseCodeFacts } from '@switchyard/contract';
import type { TransactionRecord } from './transaction.ts';

const saleRequestKinds: ReadonlySet<string> = new Set(['Sale', 'Authorization', 'OfflineSale']);

export const isApprovalOfSale = (kind: string | undefined, responseCode: string): boolean =>
  kind !== undefined && saleRequestKinds.has(kind) && responseCodeFacts(responseCode).approved;

/** Evidence is a response, an approval that was reversed at once, or a late response. */
export function wasApprovedAtHost({ row, events, operations }: TransactionRecord): boolean {
  return (
    row.position.authorized > 0 ||
    operations.some(({ details }) => details.approvedAtHost === true) ||
    events.some(
      ({ type, data }) =>
        type === 'transaction.late_response' &&
        isApprovalOfSale(data.reason, data.response?.code ?? ''),
    )
  );
}
