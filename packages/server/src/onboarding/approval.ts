// What follows a decision: jobs whose steps can be done again, so that a stop in the middle costs nothing.
import type { Kysely } from 'kysely';
import { platformAuthor, type Recorder } from '../audit/index.ts';
import type { Identity, User } from '../identity/index.ts';
import {
  type Clock,
  type Database,
  deliverMail,
  type Ids,
  type Job,
  type Jobs,
  type Log,
  type Mail,
  mailsAtOnce,
} from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import { openConsole } from './console.ts';
import { rejectionNote } from './letter.ts';
import { domainNames, localeOf, usernameOf } from './rules.ts';
import { createSignUpStore, type SignUpRecord } from './store.ts';

const approveJob = 'onboarding.approve';
const rejectJob = 'onboarding.reject';

export type ApprovalDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'poke'>;
  readonly mail: Pick<Mail, 'send'>;
  readonly log: Pick<Log, 'warn'>;
  readonly audit: Pick<Recorder, 'record'>;
  readonly provisioning: Pick<Provisioning, 'organizations'>;
  readonly identity: Pick<
    Identity,
    'accounts' | 'userDomains' | 'findUserDomain' | 'isOperator' | 'createPublicApplication'
  >;
};

export type Approval = ReturnType<typeof createApproval>;

export function createApproval(deps: ApprovalDeps) {
  const { database, clock, ids, jobs, audit, provisioning, identity } = deps;
  const store = createSignUpStore(database);

  /** With the mail that invites him, in one commit: whoever is there was invited. */
  async function inviteFirst(signUp: SignUpRecord, userDomainId: string): Promise<void> {
    const { organizationId, email, givenName, familyName, country, language } = signUp;
    const username = usernameOf(email);
    const { accounts } = identity;
    if ((await accounts.findByName(organizationId, username)) !== undefined) return;
    const wanted = {
      organizationId,
      userDomainId,
      username,
      email,
      givenName,
      familyName,
      entityType: 'tenant' as const,
      entityId: organizationId,
      locale: localeOf(language, country),
      groups: [`${organizationId}_org_admin`],
      secondFactor: 'Required' as const,
    };
    await accounts.invite(wanted, async (trx, { after }) => {
      await tellDomain(trx, organizationId, userDomainId);
      await tellOf(trx, after);
    });
  }

  const tellDomain = (trx: Kysely<unknown>, organizationId: string, id: string): Promise<void> =>
    audit.record(trx, {
      ...platformAuthor,
      organizationId,
      action: 'userDomain.created',
      entity: { type: 'userDomain', id },
    });

  const tellOf = (trx: Kysely<unknown>, user: User): Promise<void> =>
    audit.record(trx, {
      ...platformAuthor,
      organizationId: user.organizationId,
      action: 'user.created',
      entity: { type: 'user', id: user.userId },
      after: { userId: user.userId, username: user.username, groups: user.groups },
    });

  jobs.handle(approveJob, async ({ organizationId }) => {
    const signUp = await store.find(organizationId);
    if (signUp?.status !== 'Approving') return;
    const organization = { name: signUp.organizationName, labels: { persona: signUp.persona } };
    await provisioning.organizations.createOnce({ organizationId }, organization, organizationId);
    const names = domainNames(signUp.organizationName, organizationId);
    const userDomainId = await identity.userDomains.open(organizationId, names);
    await openConsole(identity, { organizationId, userDomainId });
    await inviteFirst(signUp, userDomainId);
    await database.transaction((trx) =>
      store.move(trx, organizationId, 'Approved', clock.now(), userDomainId),
    );
  });

  async function reject(job: Job): Promise<void> {
    const signUp = await store.find(job.organizationId);
    if (signUp?.status !== 'Rejected') return;
    await deliverMail(deps, job, { to: signUp.email, ...rejectionNote(signUp) });
  }

  jobs.handle(rejectJob, reject, { most: mailsAtOnce });

  const follow =
    (kind: string) =>
    (trx: Kysely<unknown>, { organizationId }: SignUpRecord): Promise<void> =>
      jobs.enqueue({ organizationId, jobId: ids.uuid(), kind, payload: {} }, trx);

  return {
    /** Within the transaction of the decision; poke once it holds. */
    approved: follow(approveJob),
    rejected: follow(rejectJob),
    poke: jobs.poke,
  };
}
