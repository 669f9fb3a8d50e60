// Emails to users: stored encrypted in the transaction of the change that they report, and sent by a job.
import {
  type Clock,
  decryptBytes,
  deliverMail,
  deriveKey,
  encryptBytes,
  type Ids,
  type Job,
  type Jobs,
  type Log,
  type Mail,
  maxConcurrentMailJobs,
  type Queries,
} from '../../../platform/index.ts';
import type { User } from '../types.ts';
import { type AccountEmail, type AccountEmailKind, renderAccountEmail } from './email-templates.ts';

const emailJobKind = 'accounts.email';

const noMailError = new Error('this process has no email configuration');

/** For processes that send no emails. */
export const unavailableMail: Pick<Mail, 'send'> = { send: () => Promise.reject(noMailError) };
export const unavailableJobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'> = {
  handle: () => {},
  enqueue: () => Promise.reject(noMailError),
  wake: () => {},
};

export type EmailOutbox = ReturnType<typeof createEmailOutbox>;

type Deps = {
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly mail: Pick<Mail, 'send'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly authUrl: string;
};

/** The job of an encrypted payload: its identifiers are the associated data of the encryption. */
type JobKey = { readonly organizationId: string; readonly jobId: string };

export function createEmailOutbox(deps: Deps) {
  const { jobs, mail, clock, ids, log, masterKey, authUrl } = deps;
  const key = deriveKey(masterKey, 'account-letters');
  const encryptionContext = ({ organizationId, jobId }: JobKey) => `${organizationId}|${jobId}`;

  async function enqueueEncrypted(
    kind: string,
    organizationId: string,
    content: unknown,
    trx?: Queries,
  ): Promise<void> {
    const jobId = ids.uuid();
    const bytes = Buffer.from(JSON.stringify(content));
    const sealed = encryptBytes(key, bytes, encryptionContext({ organizationId, jobId })).toString(
      'base64',
    );
    await jobs.enqueue({ organizationId, jobId, kind, payload: { sealed } }, trx);
  }

  function decryptPayload<Content>(job: Job): Content {
    const sealed = Buffer.from(String(job.payload['sealed']), 'base64');
    return JSON.parse(decryptBytes(key, sealed, encryptionContext(job)).toString()) as Content;
  }

  async function enqueueEmail(
    trx: Queries,
    user: User,
    kind: AccountEmailKind,
    overrides: Partial<AccountEmail> = {},
  ): Promise<void> {
    const { locale, zoneinfo, givenName, username, organizationId } = user;
    const userDomainId = await findUserDomainId(trx, organizationId);
    const email = { kind, to: user.email, locale, zoneinfo, givenName, username, userDomainId };
    await enqueueEncrypted(emailJobKind, organizationId, { ...email, ...overrides }, trx);
  }

  async function deliverEmail(job: Job): Promise<void> {
    const email = decryptPayload<AccountEmail>(job);
    const expiresAt = email.link?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (expiresAt <= clock.now()) {
      log.warn(
        { jobId: job.jobId, kind: email.kind },
        'an email was not sent because its link expired first',
      );
      return;
    }
    const { language, ...rendered } = renderAccountEmail(email);
    await deliverMail({ mail, log }, job, { to: email.to, language, ...rendered });
  }

  jobs.handle(emailJobKind, deliverEmail, { maxConcurrent: maxConcurrentMailJobs });

  return {
    enqueueEncrypted,
    decryptPayload,

    /** Reports a change to the user, at the address that the user had at that time. */
    enqueueNotice: (trx: Queries, user: User, kind: AccountEmailKind): Promise<void> =>
      enqueueEmail(trx, user, kind),

    /** @param link its member `to` differs from the address of the user when a new address is to be confirmed */
    async enqueueLink(
      trx: Queries,
      user: User,
      kind: AccountEmailKind,
      link: { readonly secret: string; readonly expiresAt: number; readonly to: string },
    ): Promise<void> {
      const domain = encodeURIComponent(await findUserDomainId(trx, user.organizationId));
      const address = `${authUrl}/auth/realms/${domain}/links/${link.secret}`;
      await enqueueEmail(trx, user, kind, {
        to: link.to,
        link: { address, expiresAt: link.expiresAt },
      });
    },

    /** To be called after the commit. */
    wakeJobs: jobs.wake,
  };
}

/** Uses the connection of the transaction: waiting for a second connection could block all transactions. */
async function findUserDomainId(trx: Queries, organizationId: string): Promise<string> {
  const rows = await trx.query<{ user_domain_id: string }>(
    'SELECT user_domain_id FROM user_domains WHERE organization_id = $1',
    [organizationId],
  );
  return rows[0]?.user_domain_id ?? '';
}
