// Forgets sign-ups that came to nothing: a job of the same commit looks at each once its time is over.
import type { Kysely } from 'kysely';
import type { Clock, Database, Ids, Job, Jobs, Later } from '../platform/index.ts';
import { createSignUpStore } from './sign-up-sql.ts';

const forgetJob = 'onboarding.forget';
/** People of whom nothing came are kept no longer, whether somebody rejected them or nobody looked. */
const keptMs = 90 * 86_400_000;

export type Forgetting = ReturnType<typeof createForgetting>;

type ForgettingDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue'>;
};

export function createForgetting({ database, clock, ids, jobs }: ForgettingDeps) {
  const store = createSignUpStore(database);

  async function forget({ organizationId }: Job): Promise<Later | undefined> {
    if (await store.forget(organizationId, clock.now() - keptMs)) return undefined;
    const signUp = await store.find(organizationId);
    // Rejected since, so its time began anew; one that was approved is an organisation's by now.
    return signUp?.status === 'Rejected' || signUp?.status === 'Pending'
      ? { retryAt: signUp.updatedAt + keptMs, untried: true }
      : undefined;
  }

  jobs.handle(forgetJob, forget);

  return {
    /** Within the transaction that writes the sign-up down. */
    planned: (trx: Kysely<unknown>, organizationId: string): Promise<void> =>
      jobs.enqueue(
        {
          organizationId,
          jobId: ids.uuid(),
          kind: forgetJob,
          payload: {},
          dueAt: clock.now() + keptMs,
        },
        trx,
      ),
  };
}
