// Sends letters to users: written down sealed in the same commit as what they tell, sent when it holds.
import { type Kysely, sql } from 'kysely';
import {
  type Clock,
  deliverMail,
  deriveKey,
  type Ids,
  type Job,
  type Jobs,
  type Log,
  type Mail,
  mailsAtOnce,
  openSealed,
  seal,
} from '../../../platform/index.ts';
import type { User } from '../types.ts';
import { type Letter, type LetterKind, writeLetter } from './email-templates.ts';

const letterKind = 'accounts.letter';

const noOffice = new Error('this process was given no mail');

/** For processes that write no letters. */
export const noMail: Pick<Mail, 'send'> = { send: () => Promise.reject(noOffice) };
export const noJobs: Pick<Jobs, 'handle' | 'enqueue' | 'poke'> = {
  handle: () => {},
  enqueue: () => Promise.reject(noOffice),
  poke: () => {},
};

export type Post = ReturnType<typeof createPost>;

type Deps = {
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'poke'>;
  readonly mail: Pick<Mail, 'send'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly authUrl: string;
};

/** A job as we keep it: what it says is nobody's to read in the table. */
type SealedJob = { readonly organizationId: string; readonly jobId: string };

export function createPost(deps: Deps) {
  const { jobs, mail, clock, ids, log, masterKey, authUrl } = deps;
  const key = deriveKey(masterKey, 'account-letters');
  const placeOf = ({ organizationId, jobId }: SealedJob) => `${organizationId}|${jobId}`;

  async function enqueue(
    kind: string,
    organizationId: string,
    content: unknown,
    trx?: Kysely<unknown>,
  ): Promise<void> {
    const jobId = ids.uuid();
    const bytes = Buffer.from(JSON.stringify(content));
    const sealed = seal(key, bytes, placeOf({ organizationId, jobId })).toString('base64');
    await jobs.enqueue({ organizationId, jobId, kind, payload: { sealed } }, trx);
  }

  function open<Content>(job: Job): Content {
    const sealed = Buffer.from(String(job.payload['sealed']), 'base64');
    return JSON.parse(openSealed(key, sealed, placeOf(job)).toString()) as Content;
  }

  async function write(
    trx: Kysely<unknown>,
    user: User,
    kind: LetterKind,
    facts: Partial<Letter> = {},
  ): Promise<void> {
    const { email, locale, zoneinfo, givenName, username, organizationId } = user;
    const userDomainId = await domainOf(trx, organizationId);
    const letter = { kind, to: email, locale, zoneinfo, givenName, username, userDomainId };
    await enqueue(letterKind, organizationId, { ...letter, ...facts }, trx);
  }

  async function deliver(job: Job): Promise<void> {
    const letter = open<Letter>(job);
    const expiresAt = letter.link?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (expiresAt <= clock.now()) {
      log.warn({ jobId: job.jobId, kind: letter.kind }, 'a link expired before its mail was taken');
      return;
    }
    const { language, ...words } = writeLetter(letter);
    await deliverMail({ mail, log }, job, { to: letter.to, language, ...words });
  }

  jobs.handle(letterKind, deliver, { most: mailsAtOnce });

  return {
    enqueue,
    open,

    /** Tells the user what was done, at the address of then. */
    notice: (trx: Kysely<unknown>, user: User, kind: LetterKind): Promise<void> =>
      write(trx, user, kind),

    /** @param to another address than the user's own, where that one is to be confirmed */
    async link(
      trx: Kysely<unknown>,
      user: User,
      kind: LetterKind,
      link: { readonly secret: string; readonly expiresAt: number; readonly to: string },
    ): Promise<void> {
      const domain = encodeURIComponent(await domainOf(trx, user.organizationId));
      const address = `${authUrl}/auth/realms/${domain}/links/${link.secret}`;
      await write(trx, user, kind, {
        to: link.to,
        link: { address, expiresAt: link.expiresAt },
      });
    },

    /** To be called once the transaction is committed. */
    poke: jobs.poke,
  };
}

/** On the transaction's own connection: waiting for a second one could stop all who hold a first. */
async function domainOf(trx: Kysely<unknown>, organizationId: string): Promise<string> {
  const { rows } = await sql<{ user_domain_id: string }>`SELECT user_domain_id FROM user_domains
    WHERE organization_id = ${organizationId}`.execute(trx);
  return rows[0]?.user_domain_id ?? '';
}
