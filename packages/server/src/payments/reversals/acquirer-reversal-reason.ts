// Maps the reversal reason to the reason of the acquirer message.
import type { AcquirerReversalReason } from '../../acquiring/index.ts';
import type { StoredOperation } from '../transaction/transaction.ts';

const acquirerReasonByCause: Readonly<Record<string, AcquirerReversalReason>> = {
  Timeout: 'Timeout',
  ConnectionLost: 'Timeout',
  Unanswered: 'Timeout',
  Undecided: 'Timeout',
  LateApproval: 'Timeout',
  ApprovedAfterReversal: 'Timeout',
  InvalidResponse: 'InvalidResponse',
  PartialApproval: 'InvalidResponse',
  CustomerCancel: 'CustomerCancel',
  ChipDeclined: 'ChipDeclined',
  CardRemoved: 'CardRemoved',
};

/** `Suspect` if no other reason applies. */
export function acquirerReversalReason({ kind, details }: StoredOperation): AcquirerReversalReason {
  if (kind === 'Cancel') return 'CustomerCancel';
  return (
    acquirerReasonByCause[details.reversalReason ?? details.systemReversalReason ?? ''] ?? 'Suspect'
  );
}
