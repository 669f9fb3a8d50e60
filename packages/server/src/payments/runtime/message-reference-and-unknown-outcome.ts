// Around a message to the acquirer: its reference numbers, and the outcome after an error.
import { ProblemError } from '@switchyard/contract';
import type { AcquirerOutcome, AcquirerReference, Acquiring } from '../../acquiring/index.ts';
import type { Log, Span } from '../../platform/index.ts';
import type { OperationType } from '../transaction/state-machine.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';

export function allocateMessageReference(
  { acquiring }: { acquiring: Pick<Acquiring, 'allocateReference'> },
  transaction: TransactionRecord,
  operationType: OperationType,
): Promise<AcquirerReference> {
  const { organizationId, contractId, deviceId } = transaction.row;
  const { linkId, timeZone } = authorizationContext(transaction);
  return acquiring.allocateReference({
    organizationId,
    linkId,
    contractId,
    terminalOwnerId: deviceId ?? contractId,
    kind: operationType === 'Cancel' ? 'Reversal' : operationType,
    timeZone,
  });
}

/** A refusal such as `database_unavailable` says `NotProcessed`, but the message may have been sent. */
export async function reportProblemsAsUnknown<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.outcome !== 'NotProcessed') throw error;
    const { code, detail, retryAfterMs, errors, extensions, logDetail } = error;
    const problemOptions = { retryAfterMs, errors, extensions, logDetail, cause: error };
    throw new ProblemError(code, detail, { ...problemOptions, outcome: 'Unknown' });
  }
}

/** Debug level: an unavailable link has its own warning, and every sale would log this line. */
export function logNotSent(
  { log }: { log: Pick<Log, 'debug'> },
  outcome: AcquirerOutcome,
  message: { transactionId: string; operationNumber?: number },
  span?: Span,
): void {
  if (outcome.outcome !== 'NotSent') return;
  log.debug(
    { ...message, ...span?.logMembers, reason: outcome.reason },
    'no message was sent to the acquirer',
  );
}
