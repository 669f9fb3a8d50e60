// Sends the mail of a job, and retries while the mail server may still accept it.
import type { Job } from '../jobs/job-queue.ts';
import type { Log } from '../observability/log.ts';
import { type Mail, MailError, type MailMessage, type MailRejection } from './smtp-mail.ts';

/** About five days, with five to ten minutes between attempts, like mail servers among themselves. */
export const maxMailAttempts = 1_000;
/** About half a day: enough to notice and correct a wrong configuration of the operator's mail server. */
export const maxRejectedAttempts = 100;

const maxAttemptsByRejection: Readonly<Record<MailRejection, number>> = {
  NoMailbox: 0,
  Permanent: maxRejectedAttempts,
  None: maxMailAttempts,
};

type Deps = { readonly mail: Pick<Mail, 'send'>; readonly log: Pick<Log, 'warn'> };

/**
 * @throws the error of the attempt, if another attempt is useful
 * @example await deliverMail({ mail, log }, job, { to, language, subject, text, html });
 */
export async function deliverMail(
  { mail, log }: Deps,
  { jobId, kind, attempts }: Job,
  message: Omit<MailMessage, 'mailId'>,
): Promise<void> {
  try {
    await mail.send({ mailId: jobId, ...message });
  } catch (error) {
    const rejection = error instanceof MailError ? error.rejection : 'None';
    if (attempts < maxAttemptsByRejection[rejection]) throw error;
    log.warn({ err: error, kind, jobId, attempts }, 'a mail was not delivered and is not retried');
  }
}
