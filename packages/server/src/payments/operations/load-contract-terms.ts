// The limits that the acquirer contract of a sale sets for its operations.
import type { Clock } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { isAuthorizationExpired } from '../transaction/contract-terms.ts';
import { type ContractTerms, calculateOverCaptureAllowance } from '../transaction/state-machine.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';

export type ContractPorts = { provisioning: Pick<Provisioning, 'contract'>; dueClock: Clock };

export async function getContractTerms(
  { provisioning, dueClock }: ContractPorts,
  transaction: TransactionRecord,
): Promise<ContractTerms> {
  const { organizationId, contractId, overCaptureAllowance, position } = transaction.row;
  const contract = await provisioning.contract(organizationId, contractId);
  if (contract === undefined)
    throw new Error('the acquirer contract of the transaction does not exist');
  const { partialCancel, multipleCapture, overCapturePercent } = contract;
  // The approved amount may be lower than the requested amount, on which `overCaptureAllowance` is based.
  const allowance = calculateOverCaptureAllowance(position.authorized, overCapturePercent);
  return {
    partialCancel,
    multipleCapture,
    overCaptureAllowance: Math.min(overCaptureAllowance, allowance),
    isAuthorizationExpired: isAuthorizationExpired(
      transaction,
      authorizationContext(transaction),
      dueClock.now(),
    ),
  };
}
