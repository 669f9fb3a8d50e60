// Allocates the reference numbers of messages about an existing sale.
import type { AcquirerReference, Acquiring } from '../../acquiring/index.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';

export type ReferencePorts = { acquiring: Pick<Acquiring, 'allocateReference'> };

export function allocateMessageReference(
  { acquiring }: ReferencePorts,
  transaction: TransactionRecord,
  kind: 'Capture' | 'Refund' | 'Reversal',
): Promise<AcquirerReference> {
  const { organizationId, contractId, deviceId } = transaction.row;
  return acquiring.allocateReference({
    organizationId,
    contractId,
    terminalOwnerId: deviceId ?? contractId,
    kind,
    timeZone: authorizationContext(transaction).timeZone,
  });
}
