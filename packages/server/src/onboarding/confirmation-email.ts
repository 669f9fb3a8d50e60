// The email that confirms a sign-up: its job is enqueued in the transaction of the sign-up.
import {
  type Database,
  deliverMail,
  type Ids,
  type Job,
  type Jobs,
  type Log,
  type Mail,
  maxConcurrentMailJobs,
  type Queries,
} from '../platform/index.ts';
import { renderConfirmationEmail } from './sign-up-emails.ts';
import { createSignUpStore } from './sign-up-sql.ts';

const confirmationJobKind = 'onboarding.confirmation';

export type ConfirmationEmailDependencies = {
  readonly database: Database;
  readonly ids: Ids;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly mail: Pick<Mail, 'send'>;
  readonly log: Pick<Log, 'warn'>;
};

export type ConfirmationEmails = ReturnType<typeof createConfirmationEmails>;

export function createConfirmationEmails({
  database,
  ids,
  jobs,
  mail,
  log,
}: ConfirmationEmailDependencies) {
  const store = createSignUpStore(database);

  async function sendConfirmation(job: Job): Promise<void> {
    const signUp = await store.find(job.organizationId);
    // The sign-up was decided before the job ran: the email about the decision is enough.
    if (signUp?.status !== 'Pending') return;
    await deliverMail({ mail, log }, job, { to: signUp.email, ...renderConfirmationEmail(signUp) });
  }

  jobs.handle(confirmationJobKind, sendConfirmation, { maxConcurrent: maxConcurrentMailJobs });

  return {
    /** Call in the transaction that inserts the sign-up, and `poke` after the commit. */
    enqueue: (trx: Queries, organizationId: string): Promise<void> =>
      jobs.enqueue(
        { organizationId, jobId: ids.uuid(), kind: confirmationJobKind, payload: {} },
        trx,
      ),
    wakeJobs: jobs.wake,
  };
}
