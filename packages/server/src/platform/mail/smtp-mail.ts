// Sends mail over SMTP and classifies rejections of the mail server.

import { isLoopbackHost } from '../net/address-classes.ts';
import type { Clock } from '../time/clock.ts';
import { type MailMessage, toNodemailerMessage } from './mail-message.ts';

export type { MailMessage } from './mail-message.ts';

/** A low number: mail is not urgent. */
const maxConnections = 2;
const mailsPerConnection = 50;
/** Concurrent jobs for each kind of mail: the next mails are prepared while others are sent. */
export const maxConcurrentMailJobs = 2 * maxConnections;

export type Mail = {
  /** Creates the directory of mail files. An unavailable mail server does not prevent the start. */
  open(): Promise<void>;
  /** Resolves when the next server has accepted the mail, or the file is written. */
  send(message: MailMessage): Promise<void>;
  close(): Promise<void>;
};

/**
 * `NoMailbox`: the mailbox does not exist, so a retry is useless. `Permanent`: the server rejects
 * permanently, possibly because of the sender. `None`: a temporary rejection, or no response.
 */
export type MailRejection = 'NoMailbox' | 'Permanent' | 'None';

/** The reason why a mail was not accepted, without addresses and text. */
export class MailError extends Error {
  override name = 'MailError';
  readonly rejection: MailRejection;

  constructor(message: string, rejection: MailRejection = 'None') {
    super(message);
    this.rejection = rejection;
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
  // The SMTP library is loaded with the first mail: most processes never send one.
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

/**
 * Connects and signs in to the mail server, and sends no mail.
 *
 * @throws MailError
 */
export async function checkMailServer({
  smtpUrl,
  mailTimeoutMs,
}: Pick<SmtpDeps, 'smtpUrl' | 'mailTimeoutMs'>): Promise<void> {
  const options = { ...smtpOptions(smtpUrl, mailTimeoutMs), pool: false as const };
  const transport = (await import('nodemailer')).createTransport(options);
  try {
    await transport.verify();
  } catch (error) {
    throw toMailError(error);
  } finally {
    transport.close();
  }
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
    // Without TLS neither password nor mail is sent, except to this machine.
    requireTLS: !isTls && !isLoopbackHost(host),
    tls: { minVersion: 'TLSv1.2' as const },
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
    pool: true as const,
    maxConnections,
    maxMessages: mailsPerConnection,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  };
}

/** Enhanced status code (RFC 3463), at the start as in RFC 2034, or at the end as qmail writes it: `(#5.7.1)`. */
const enhancedCode = /(?:^\d{3}[ -]|\(#)(5\.\d{1,3}\.\d{1,3})\b/;
/** Codes about the mailbox itself: unknown name or domain, moved, or disabled. */
const noMailboxCodes = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1']);

/** A 550 without an enhanced code may also mean that the server rejects the sender. */
function classifyRejection({
  command,
  responseCode,
  response,
}: Record<string, unknown>): MailRejection {
  if (command !== 'RCPT TO' || !(Number(responseCode) >= 550)) return 'None';
  const code = enhancedCode.exec(String(response))?.[1] ?? '';
  if (noMailboxCodes.has(code)) return 'NoMailbox';
  // 5.7 concerns the sender, such as a denied relay; an operator can correct that.
  return code.startsWith('5.7.') ? 'None' : 'Permanent';
}

function toMailError(error: unknown): MailError {
  const smtpError = error as Record<string, unknown>;
  const facts = [smtpError['code'], smtpError['responseCode'], smtpError['command']];
  const details = facts.filter((fact) => fact !== undefined).join(' ');
  return new MailError(
    `the mail server did not accept the mail (${details})`,
    classifyRejection(smtpError),
  );
}
