// Converts a mail to nodemailer's format, without access to files or URLs.
import type { Clock } from '../time/clock.ts';

export type MailMessage = {
  /** The same for every attempt, so that mailboxes can show the mail once. */
  readonly mailId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** BCP 47. */
  readonly language: string;
};

export function toNodemailerMessage(message: MailMessage, from: string, clock: Clock) {
  const { mailId, to, subject, text, html, language } = message;
  const domain = /@([^\s>]+)>?$/.exec(from)?.[1] ?? 'localhost';
  return {
    from,
    // As an object: nodemailer would parse a string as a list of addresses.
    to: { name: '', address: to },
    subject,
    text,
    html,
    messageId: `<${mailId}@${domain}>`,
    date: new Date(clock.now()),
    headers: { 'Content-Language': language, 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
