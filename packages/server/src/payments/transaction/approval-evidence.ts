// Whether the acquirer has ever said yes to a sale: then its host has the sale, whatever it says later.
import { responseCodeFacts } from '@switchyard/contract';
import type { LoadedTransaction } from './transaction.ts';

const ofSale: ReadonlySet<string> = new Set(['Sale', 'Authorization', 'OfflineSale']);

export const isApprovalOfSale = (kind: string | undefined, responseCode: string): boolean =>
  kind !== undefined && ofSale.has(kind) && responseCodeFacts(responseCode).approved;

/** By its answer, by one that was taken back at once, or by a late one. */
export function wasApprovedAtHost({ row, events, operations }: LoadedTransaction): boolean {
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
