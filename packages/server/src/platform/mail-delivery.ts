// Sends the mail of a job: again and again while its server may yet take it, and no longer than is of use.
import type { Job } from './jobs.ts';
import type { Log } from './log.ts';
import { type Mail, MailError, type MailMessage } from './mail.ts';

/** With a pause of five to ten minutes before each, about five days, as mail servers among themselves try. */
export const mailTriesMax = 1_000;

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
    const isFinal = error instanceof MailError && error.isFinal;
    if (!isFinal && attempts < mailTriesMax) throw error;
    log.warn({ err: error, kind, jobId, attempts }, 'a mail is given up');
  }
}
