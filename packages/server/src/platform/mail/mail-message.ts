// A mail of ours as the mail library takes it: nothing of it makes the library read a file or ask an address.
import type { Clock } from '../time/clock.ts';

export type MailMessage = {
  /** Two sendings of one mail have the same: mailboxes may show it once. */
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
    // As a text it would be read as a list.
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
