// Says to the acquirer why something is taken back, in the few words that its table knows codes for.
import type { AcquirerReversalReason } from '../../acquiring/index.ts';
import type { StoredOperation } from '../transaction/transaction.ts';

const causes: Readonly<Record<string, AcquirerReversalReason>> = {
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

/** A void is the customer's or the merchant's wish; what has no better word is suspect. */
export function acquirerReason({ kind, details }: StoredOperation): AcquirerReversalReason {
  if (kind === 'Cancel') return 'CustomerCancel';
  return causes[details.reversalReason ?? details.cause ?? ''] ?? 'Suspect';
}
