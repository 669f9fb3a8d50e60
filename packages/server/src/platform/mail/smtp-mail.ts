// Sends mail over SMTP, and says why a server did not take it.

import { isLoopbackHost } from '../net/address-classes.ts';
import type { Clock } from '../time/clock.ts';
import { type MailMessage, toNodemailerMessage } from './mail-message.ts';

export type { MailMessage } from './mail-message.ts';

/** Few at a time: mail is never urgent to the millisecond. */
const maxConnections = 2;
const mailsPerConnection = 50;
/** Of each kind of mail: the next ones are ready while others are sent, and no more wait for a connection. */
export const maxConcurrentMails = 2 * maxConnections;

export type Mail = {
  /** Makes the directory, where mail is caught; a mail server that is away keeps nobody from starting. */
  open(): Promise<void>;
  /** Resolves when the next server has it, or the file is there. */
  send(message: MailMessage): Promise<void>;
  close(): Promise<void>;
};

/**
 * `NoMailbox`: there is none of this name that takes mail, and another try changes nothing. `Permanent`: the
 * server says no for good, and may mean us. `None`: it may yet take the mail, or has said nothing.
 */
export type MailRefusal = 'NoMailbox' | 'Permanent' | 'None';

/** Why a mail was not taken, without its addresses and its text. */
export class MailError extends Error {
  override name = 'MailError';
  readonly refusal: MailRefusal;

  constructor(message: string, refusal: MailRefusal = 'None') {
    super(message);
    this.refusal = refusal;
  }
}

type SmtpDeps = {
  readonly smtpUrl: string;
  readonly mailFrom: string;
  readonly mailTimeoutMs: number;
  readonly clock: Clock;
};

/** @example const mail = createSmtpMail({ smtpUrl, mailFrom, mailTimeoutMs, clock }); */
export function createSmtpMail({ smtpUrl, mailFrom, mailTimeoutMs, clock }: SmtpDeps): Mail {
  const options = smtpOptions(smtpUrl, mailTimeoutMs);
  // What speaks SMTP is loaded with the first mail: most processes never send one.
  const open = async () => (await import('nodemailer')).createTransport(options);
  let transport: ReturnType<typeof open> | undefined;
  return {
    async open() {},
    async send(message) {
      try {
        transport ??= open();
        await (await transport).sendMail(toNodemailerMessage(message, mailFrom, clock));
      } catch (error) {
        throw toMailError(error);
      }
    },
    async close() {
      (await transport)?.close();
    },
  };
}

function smtpOptions(address: string, timeoutMs: number) {
  const url = new URL(address);
  const isTls = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const user = decodeURIComponent(url.username);
  return {
    host,
    port: url.port === '' ? (isTls ? 465 : 587) : Number(url.port),
    secure: isTls,
    // A server that offers no TLS gets neither password nor mail; this machine alone is trusted.
    requireTLS: !isTls && !isLoopbackHost(host),
    tls: { minVersion: 'TLSv1.2' as const },
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
    pool: true as const,
    maxConnections: maxConnections,
    maxMessages: mailsPerConnection,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  };
}

/** RFC 3463, in front as RFC 2034 has it, or at the end in the manner of qmail: `(#5.7.1)`. */
const enhancedCode = /(?:^\d{3}[ -]|\(#)(5\.\d{1,3}\.\d{1,3})\b/;
/** About the mailbox alone: a name or a domain that is not there or has moved, or a mailbox that is shut. */
const noMailboxCodes = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1']);

/** A bare 550 to the name of a mailbox is also how a server says that it takes nothing from us. */
function classifyRefusal({
  command,
  responseCode,
  response,
}: Record<string, unknown>): MailRefusal {
  if (command !== 'RCPT TO' || !(Number(responseCode) >= 550)) return 'None';
  const code = enhancedCode.exec(String(response))?.[1] ?? '';
  if (noMailboxCodes.has(code)) return 'NoMailbox';
  // 5.7 is about who sends, such as a relay that is denied, and an operator can mend that.
  return code.startsWith('5.7.') ? 'None' : 'Permanent';
}

function toMailError(error: unknown): MailError {
  const smtpError = error as Record<string, unknown>;
  const facts = [smtpError['code'], smtpError['responseCode'], smtpError['command']];
  const details = facts.filter((fact) => fact !== undefined).join(' ');
  return new MailError(
    `the mail server did not take the mail (${details})`,
    classifyRefusal(smtpError),
  );
}
