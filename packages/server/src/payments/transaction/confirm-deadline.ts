// The time by which the client must confirm an approved sale (ADR 0037). Pure.
import { type DueClock, type Ids, isoTime } from '../../platform/index.ts';
import {
  type AuthorizationContext,
  type JobRequest,
  saleOutcome,
  type TransactionRecord,
} from './transaction.ts';

export type ConfirmDeadlinePorts = {
  ids: Pick<Ids, 'uuid'>;
  dueClock: Pick<DueClock, 'toDue'>;
};

export const confirmDeadlineJob = 'payments.confirm-deadline';

/** Deadline and reversal job are stored in the commit of the approval, so that a crash loses neither. */
export function createConfirmDeadline(
  { ids, dueClock }: ConfirmDeadlinePorts,
  { confirmWithinSeconds }: AuthorizationContext,
  { transactionId, at }: { transactionId: string; at: number },
): { confirmBy: string; job: JobRequest } | undefined {
  if (confirmWithinSeconds === undefined) return undefined;
  const deadline = at + confirmWithinSeconds * 1000;
  const payload = { transactionId };
  const dueAt = isoTime(dueClock.toDue(deadline));
  const job = { jobId: ids.uuid(), kind: confirmDeadlineJob, payload, dueAt };
  return { confirmBy: isoTime(deadline), job };
}

/** RFC 3339; undefined when the sale needs no confirmation now. */
export function confirmDeadline(transaction: TransactionRecord): string | undefined {
  if (transaction.row.position.phase !== 'AwaitingConfirmation') return undefined;
  return saleOutcome(transaction)?.confirmBy;
}
