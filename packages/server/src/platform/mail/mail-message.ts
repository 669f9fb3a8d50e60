// The texts of mails: placeholders, names of users, and the message for nodemailer.
import { mailNameLengthMax } from '@switchyard/contract';
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

const notInNames = /[^\p{L}\p{M}\p{Nd} '’‐.-]|\.(?=\p{L})/gu;
/** The full stops of an IPv4 address, which some mail programs turn into a link. */
const stopsOfAddresses = /(?<=\p{Nd})\.(?=\p{Nd}+\.\p{Nd})|(?<=\.\p{Nd}+)\.(?=\p{Nd})/gu;

/**
 * Replaces every character that a name in a mail must not contain, so that the rest stays readable.
 *
 * @example sanitizeMailName('Click http://evil.example'); // 'Click http evil example'
 */
export function sanitizeMailName(name: string): string {
  const plain = name
    .normalize('NFC')
    .replace(notInNames, ' ')
    .replace(stopsOfAddresses, ' ')
    .replace(/ +/g, ' ')
    .trim();
  return [...plain].slice(0, mailNameLengthMax).join('').trim();
}
