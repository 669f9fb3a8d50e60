// Sends the mail of a job, and retries while the mail server may still accept it.
import type { Job } from '../jobs/job-queue.ts';
import type { Log } from '../observability/log.ts';
import { type Mail, MailError, type MailMessage, type MailRefusal } from './smtp-mail.ts';

/** About five days, with five to ten minutes between attempts, like mail servers among themselves. */
export const maxMailAttempts = 1_000;
/** About half a day: enough to notice and correct a wrong configuration of the operator's mail server. */
export const maxRefusedAttempts = 100;

const maxAttemptsByRefusal: Readonly<Record<MailRefusal, number>> = {
  NoMailbox: 0,
  Permanent: maxRefusedAttempts,
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
    const refusal = error instanceof MailError ? error.refusal : 'None';
    if (attempts < maxAttemptsByRefusal[refusal]) throw error;
    log.warn({ err: error, kind, jobId, attempts }, 'a mail was not delivered and is not retried');
  }
}
