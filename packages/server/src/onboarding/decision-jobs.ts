// Jobs after the decision on a sign-up. Every step is idempotent, so that a job can run again after an interruption.
import { type AuditRecorder, platformAuthor } from '../audit/index.ts';
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
  maxConcurrentMailJobs,
  type Queries,
} from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import { createCommandLineApplication } from './command-line-application.ts';
import { candidateUserDomainIds, toLocale, usernameFromEmail } from './derive-default-names.ts';
import { renderRejectionEmail } from './sign-up-emails.ts';
import { createSignUpStore, type SignUpRecord } from './sign-up-sql.ts';

const approvalJobKind = 'onboarding.approve';
const rejectionJobKind = 'onboarding.reject';

export type DecisionJobDependencies = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly mail: Pick<Mail, 'send'>;
  readonly log: Pick<Log, 'warn'>;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly provisioning: Pick<Provisioning, 'organizations'>;
  readonly identity: Pick<
    Identity,
    'accounts' | 'userDomains' | 'isOperator' | 'createPublicApplication'
  >;
};

export type DecisionJobs = ReturnType<typeof createDecisionJobs>;

export function createDecisionJobs(deps: DecisionJobDependencies) {
  const { database, clock, ids, jobs, audit, provisioning, identity } = deps;
  const store = createSignUpStore(database);

  /** Creates the user and enqueues the invitation in one transaction: if the user exists, the invitation was sent. */
  async function inviteFirstUser(signUp: SignUpRecord, userDomainId: string): Promise<void> {
    const { organizationId, email, givenName, familyName, country, language } = signUp;
    const username = usernameFromEmail(email);
    const { accounts } = identity;
    if ((await accounts.findByName(organizationId, username)) !== undefined) return;
    const newUser = {
      organizationId,
      userDomainId,
      username,
      email,
      givenName,
      familyName,
      entityType: 'tenant' as const,
      entityId: organizationId,
      locale: toLocale(language, country),
      groups: [`${organizationId}_org_admin`],
      secondFactor: 'Required' as const,
    };
    await accounts.invite(newUser, async (trx, { after }) => {
      await auditUserDomain(trx, organizationId, userDomainId);
      await auditUser(trx, after);
    });
  }

  const auditUserDomain = (trx: Queries, organizationId: string, id: string): Promise<void> =>
    audit.record(trx, {
      ...platformAuthor,
      organizationId,
      action: 'userDomain.created',
      entity: { type: 'userDomain', id },
    });

  const auditUser = (trx: Queries, user: User): Promise<void> =>
    audit.record(trx, {
      ...platformAuthor,
      organizationId: user.organizationId,
      action: 'user.created',
      entity: { type: 'user', id: user.userId },
      after: { userId: user.userId, username: user.username, groups: user.groups },
    });

  jobs.handle(approvalJobKind, async ({ organizationId }) => {
    const signUp = await store.find(organizationId);
    if (signUp?.status !== 'Approving') return;
    const organization = { name: signUp.organizationName, labels: { persona: signUp.persona } };
    await provisioning.organizations.createIfNew({ organizationId }, organization, organizationId);
    const names = candidateUserDomainIds(signUp.organizationName, organizationId);
    const userDomainId = await identity.userDomains.open(organizationId, names);
    await createCommandLineApplication(identity, { organizationId, userDomainId });
    await inviteFirstUser(signUp, userDomainId);
    await database.transaction((trx) =>
      store.updateStatus(trx, organizationId, 'Approved', clock.now(), userDomainId),
    );
  });

  async function sendRejection(job: Job): Promise<void> {
    const signUp = await store.find(job.organizationId);
    if (signUp?.status !== 'Rejected') return;
    await deliverMail(deps, job, { to: signUp.email, ...renderRejectionEmail(signUp) });
  }

  jobs.handle(rejectionJobKind, sendRejection, { maxConcurrent: maxConcurrentMailJobs });

  const enqueueJob =
    (kind: string) =>
    (trx: Queries, { organizationId }: SignUpRecord): Promise<void> =>
      jobs.enqueue({ organizationId, jobId: ids.uuid(), kind, payload: {} }, trx);

  return {
    /** Call in the transaction of the decision, and `poke` after the commit. */
    enqueueApproval: enqueueJob(approvalJobKind),
    enqueueRejection: enqueueJob(rejectionJobKind),
    wakeJobs: jobs.wake,
  };
}
