// Sends mail: over SMTP where a server is set, else into files that a person or a test can read.
import type { Clock } from './clock.ts';
import type { Ids } from './ids.ts';
import { isLoopbackHost } from './loopback.ts';
import { createMailCatcher } from './mail-catcher.ts';
import { envelopeOf, type MailMessage } from './mail-envelope.ts';

export type { MailMessage } from './mail-envelope.ts';

/** Few at a time: mail is never urgent to the millisecond. */
const connectionsMax = 2;
const mailsPerConnection = 50;
/** Of each kind of mail: the next ones are ready while others are sent, and no more wait for a connection. */
export const mailsAtOnce = 2 * connectionsMax;

export type Mail = {
  /** Makes the directory, where mail is caught; a mail server that is away keeps nobody from starting. */
  open(): Promise<void>;
  /** Resolves when the next server has it, or the file is there. */
  send(message: MailMessage): Promise<void>;
  close(): Promise<void>;
};

export type MailDeps = {
  readonly settings: {
    readonly dataDir: string;
    readonly smtpUrl?: string | undefined;
    readonly mailFrom: string;
    readonly mailTimeoutMs: number;
  };
  readonly clock: Clock;
  readonly ids: Ids;
};

/** Why a mail was not taken, without its addresses and its text. */
export class MailError extends Error {
  override name = 'MailError';
  /** Its server knows no such mailbox, or none that takes mail: another try changes nothing. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = false) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** @example const mail = createMail({ settings, clock, ids }); await mail.send(message); */
export function createMail({ settings, clock, ids }: MailDeps): Mail {
  const { smtpUrl, mailFrom } = settings;
  if (smtpUrl === undefined) return createMailCatcher({ ...settings, clock, ids });
  const options = smtpOptions(smtpUrl, settings.mailTimeoutMs);
  // What speaks SMTP is loaded with the first mail: most processes never send one.
  const open = async () => (await import('nodemailer')).createTransport(options);
  let transport: ReturnType<typeof open> | undefined;
  return {
    async open() {},
    async send(message) {
      try {
        transport ??= open();
        await (await transport).sendMail(envelopeOf(message, mailFrom, clock));
      } catch (error) {
        throw withoutAddresses(error);
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
    maxConnections: connectionsMax,
    maxMessages: mailsPerConnection,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
  };
}

/** To the name of a mailbox. */
const finalReplies = new Set([550, 551, 552, 553, 554]);
/** RFC 3463: 5.7 is about who sends, such as a relay that is denied, and an operator can mend that. */
const policy = /^\d{3}[ -]5\.7\./;

function withoutAddresses(error: unknown): MailError {
  const { code, responseCode, command, response } = error as Record<string, unknown>;
  const facts = [code, responseCode, command].filter((fact) => fact !== undefined).join(' ');
  const isFinal =
    command === 'RCPT TO' && finalReplies.has(Number(responseCode)) && !policy.test(`${response}`);
  return new MailError(`the mail server did not take the mail (${facts})`, isFinal);
}
