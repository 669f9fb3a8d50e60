// Sends the mail of a job: again and again while its server may yet take it, and no longer than is of use.
import type { Job } from '../jobs/jobs.ts';
import type { Log } from '../observability/log.ts';
import { type Mail, MailError, type MailMessage, type MailRefusal } from './smtp-mail.ts';

/** With a pause of five to ten minutes before each, about five days, as mail servers among themselves try. */
export const maxMailAttempts = 1_000;
/** About half a day: what is set wrong between us and our own server is found by then. */
export const maxRefusedAttempts = 100;

const maxAttemptsByRefusal: Readonly<Record<MailRefusal, number>> = {
  NoMailbox: 0,
  Permanent: maxRefusedAttempts,
  None: maxMailAttempts,
};

type Deps = { readonly mail: Pick<Mail, 'send'>; readonly log: Pick<Log, 'warn'> };

/**
 * @throws what kept the mail from being sent, where it is worth another try
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
    log.warn({ err: error, kind, jobId, attempts }, 'a mail is given up');
  }
}
