// Allocates the reference numbers of messages about an existing sale.
import type { AcquirerReference, Acquiring } from '../../acquiring/index.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';

export type ReferencePorts = { acquiring: Pick<Acquiring, 'allocateReference'> };

/** A new reference of the terminal that made the sale. */
export function allocateMessageReference(
  { acquiring }: ReferencePorts,
  transaction: TransactionRecord,
  kind: 'Capture' | 'Refund' | 'Reversal',
): Promise<AcquirerReference> {
  const { row } = transaction;
  return acquiring.allocateReference({
    organizationId: row.organizationId,
    contractId: row.contractId,
    terminalOwnerId: row.deviceId ?? row.contractId,
    kind,
    timeZone: authorizationContext(transaction).timeZone,
  });
}
