// Tells whoever signed up that it arrived: a job of the same commit, so that no mail is lost or for nothing.
import type { Kysely } from 'kysely';
import {
  type Database,
  deliverMail,
  type Ids,
  type Job,
  type Jobs,
  type Log,
  type Mail,
  mailsAtOnce,
} from '../platform/index.ts';
import { receiptNote } from './sign-up-emails.ts';
import { createSignUpStore } from './sign-up-sql.ts';

const receiptJob = 'onboarding.receipt';

export type ReceiptDeps = {
  readonly database: Database;
  readonly ids: Ids;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'poke'>;
  readonly mail: Pick<Mail, 'send'>;
  readonly log: Pick<Log, 'warn'>;
};

export type Receipts = ReturnType<typeof createReceipts>;

export function createReceipts({ database, ids, jobs, mail, log }: ReceiptDeps) {
  const store = createSignUpStore(database);

  async function receipt(job: Job): Promise<void> {
    const signUp = await store.find(job.organizationId);
    // Decided before its turn came: the answer tells more.
    if (signUp?.status !== 'Pending') return;
    await deliverMail({ mail, log }, job, { to: signUp.email, ...receiptNote(signUp) });
  }

  jobs.handle(receiptJob, receipt, { most: mailsAtOnce });

  return {
    /** Within the transaction that writes the sign-up down; poke once it holds. */
    owed: (trx: Kysely<unknown>, organizationId: string): Promise<void> =>
      jobs.enqueue({ organizationId, jobId: ids.uuid(), kind: receiptJob, payload: {} }, trx),
    poke: jobs.poke,
  };
}
