// Schedules the retry of an operation without a final response.
import { isoTime } from '../../platform/index.ts';
import { allocateMessageReference } from '../runtime/allocate-follow-up-reference.ts';
import type { StoredOperation, TransactionRecord } from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';
import { createRetryJob, type ReversalPorts } from './create-reversal.ts';
import type { OutcomeResult } from './operation-outcome.ts';

/** After this number of renewals an operator must find the cause. */
const maxReferenceRenewals = 6;

/** Undefined if the operation is already Pending and nothing changes. */
export async function pendingTransition(
  ports: ReversalPorts,
  at: number,
  transaction: TransactionRecord,
  operation: StoredOperation,
  { isCollision, newReference, isAccepted, retry }: Extract<OutcomeResult, { status: 'Pending' }>,
): Promise<Transition | undefined> {
  const { referenceRenewalCount = 0 } = operation.details;
  const details = { ...operation.details };
  if (isCollision) details.hasReferenceCollision = true;
  const needsReference =
    newReference === 'Always' ||
    (newReference === 'UpToLimit' && referenceRenewalCount < maxReferenceRenewals);
  if (needsReference) {
    details.reference = await allocateMessageReference(ports, transaction, 'Reversal');
    details.referenceRenewalCount = referenceRenewalCount + 1;
  }
  if (isAccepted) details.reversalAcceptedBefore = true;
  const isScheduled = operation.status === 'Pending';
  if (isScheduled && !isCollision && !needsReference) return undefined;
  // What was not sent must not travel as a repeat: its duplicate response would prove nothing.
  const isPossiblySent = retry !== 'WhenLinkIsUp';
  const transition = retryTransition(
    ports,
    at,
    transaction,
    { ...operation, details },
    isPossiblySent,
  );
  if (!isScheduled) return transition;
  const { job: _job, ...withoutJob } = transition;
  return withoutJob;
}

/** Makes a sent operation Pending, with the job that sends it again in the same commit. */
export function retryTransition(
  ports: ReversalPorts,
  at: number,
  transaction: TransactionRecord,
  operation: StoredOperation,
  isPossiblySent = true,
): Transition {
  return {
    at,
    type:
      operation.kind === 'Reversal'
        ? 'transaction.reversal_queued'
        : `transaction.${operation.kind.toLowerCase()}_pending`,
    changes: {},
    data: { amount: operation.amount, reason: 'Unanswered' },
    operation: { ...operation, status: 'Pending', updatedAt: isoTime(at) },
    job: createRetryJob(ports, transaction, operation.operationNumber, {
      dueAt: at,
      isPossiblySent,
    }),
  };
}
