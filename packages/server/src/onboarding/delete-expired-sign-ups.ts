// Deletes pending and rejected sign-ups after their retention: each sign-up enqueues a job for its deletion.
import {
  type Clock,
  type Database,
  dayMs,
  type Ids,
  type Job,
  type Jobs,
  type Queries,
  type Reschedule,
} from '../platform/index.ts';
import { createSignUpStore } from './sign-up-sql.ts';

const deletionJobKind = 'onboarding.delete_sign_up';
/** Applies to rejected sign-ups and to sign-ups without a decision. */
const retentionMs = 90 * dayMs;

export type SignUpDeletion = ReturnType<typeof createSignUpDeletion>;

type SignUpDeletionDependencies = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue'>;
};

export function createSignUpDeletion({ database, clock, ids, jobs }: SignUpDeletionDependencies) {
  const store = createSignUpStore(database);

  async function deleteIfExpired({ organizationId }: Job): Promise<Reschedule | undefined> {
    if (await store.deleteExpired(organizationId, clock.now() - retentionMs)) return undefined;
    const signUp = await store.find(organizationId);
    // A rejection restarts the retention; the data of an approved sign-up belongs to its organisation.
    return signUp?.status === 'Rejected' || signUp?.status === 'Pending'
      ? { retryAt: signUp.updatedAt + retentionMs, countAttempt: false }
      : undefined;
  }

  jobs.handle(deletionJobKind, deleteIfExpired);

  return {
    /** Call in the transaction that inserts the sign-up. */
    schedule: (trx: Queries, organizationId: string): Promise<void> =>
      jobs.enqueue(
        {
          organizationId,
          jobId: ids.uuid(),
          kind: deletionJobKind,
          payload: {},
          dueAt: clock.now() + retentionMs,
        },
        trx,
      ),
  };
}
