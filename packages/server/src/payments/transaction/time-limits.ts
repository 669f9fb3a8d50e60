// Time limits of payments: grace periods, retry delays and the confirm deadline (ADR 0005).
import { bucketOf, type DueClock, type Ids, isoTime } from '../../platform/index.ts';
import {
  type AuthorizationContext,
  type JobRequest,
  saleOutcome,
  type TransactionRecord,
} from './transaction.ts';

/** Time that a process has, after the acquirer's time-out, to store an outcome. */
export const commitGraceMs = 5000;

/** How long a repeated request waits for the first one, beyond the acquirer's time-out. */
export const duplicateRequestWaitMs = 2000;

/** How long an outcome that only this process knows is retried while the database is unavailable. */
export const databaseRetryMs = 120_000;

/** Delay before an unavailable acquirer link is tried again. */
export const linkRetryMs = 2000;

/** Attempts without a response after which a message raises an alert. */
export const alertAfterAttempts = 6;

const retryDelaysMs = [1000, 2000, 5000, 10_000, 30_000, 60_000] as const;
const maxRetryDelayMs = 300_000;

export const retryDelayMs = (attempts: number): number =>
  retryDelaysMs[attempts] ?? maxRetryDelayMs;

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
  const job = {
    jobId: ids.uuid(bucketOf(transactionId)),
    kind: confirmDeadlineJob,
    payload,
    dueAt,
  };
  return { confirmBy: isoTime(deadline), job };
}

/** RFC 3339; undefined when the sale needs no confirmation now. */
export function confirmDeadline(transaction: TransactionRecord): string | undefined {
  if (transaction.row.position.phase !== 'AwaitingConfirmation') return undefined;
  return saleOutcome(transaction)?.confirmBy;
}
