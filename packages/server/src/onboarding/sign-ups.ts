// Accepts sign-ups from the public, and decisions on them from the operator of the platform only.
import { defined, type SignUp, type SignUpInput, throwProblem } from '@switchyard/contract';
import { actorOf } from '../audit/index.ts';
import { type Caller, type FoundPage, type PageRequest, readPage } from '../http/index.ts';
import { dayMs, isLowerCaseUuid, isoTime, type Log } from '../platform/index.ts';
import type { ConfirmationEmails } from './confirmation-email.ts';
import type { DecisionJobDependencies, DecisionJobs } from './decision-jobs.ts';
import type { SignUpDeletion } from './delete-expired-sign-ups.ts';
import { createSignUpStore, type SignUpRecord, type SignUpStatus } from './sign-up-sql.ts';

/** Sign-ups per recipient that are pending or younger than the period: each one sends an email. */
const maxPerRecipient = 3;
const recipientPeriodMs = dayMs;
/** Of all recipients: limits the size of the table if an attacker sends sign-ups. */
const maxPendingSignUps = 10_000;

export type SignUps = ReturnType<typeof createSignUps>;

type Decision = 'approve' | 'reject';

function toSignUpView(record: SignUpRecord): SignUp {
  const { organizationId, language, userDomainId, status } = record;
  const { organizationName, persona, email, givenName, familyName, country } = record;
  return {
    signUpId: organizationId,
    organizationName,
    persona,
    email,
    givenName,
    familyName,
    country,
    ...defined({ language }),
    status,
    ...(status === 'Approved' ? { organizationId } : {}),
    ...defined({ userDomainId }),
    createdAt: isoTime(record.createdAt),
    updatedAt: isoTime(record.updatedAt),
  };
}

function throwSignUpNotFound(): never {
  return throwProblem('resource_not_found', 'No sign-up that you may see has this identifier.');
}

export type SignUpsDependencies = DecisionJobDependencies & {
  readonly log: Log;
  readonly decisionJobs: DecisionJobs;
  readonly confirmationEmails: ConfirmationEmails;
  readonly deletion: SignUpDeletion;
  /** The limit of pending sign-ups; lower in a test. */
  readonly maxPending?: number;
};

export function createSignUps(deps: SignUpsDependencies) {
  const { database, clock, ids, log, audit, identity, decisionJobs, confirmationEmails, deletion } =
    deps;
  const limits = {
    maxPerRecipient,
    recipientPeriodMs,
    maxPending: deps.maxPending ?? maxPendingSignUps,
  };
  const store = createSignUpStore(database);

  /** Sign-ups belong to the platform: administrators of other organisations see none. */
  const isOperator = async ({ organizationId, entityType }: Caller): Promise<boolean> =>
    entityType === 'tenant' && (await identity.isOperator(organizationId));

  const isAlreadyDecided = (signUp: SignUpRecord, decision: Decision): boolean => {
    if (signUp.status === 'Pending') return false;
    const existingDecision = signUp.status === 'Rejected' ? 'reject' : 'approve';
    if (existingDecision === decision) return true;
    return throwProblem(
      'concurrent_modification',
      'The sign-up already has the opposite decision. Get the sign-up to see its status.',
    );
  };

  return {
    /** The response is always the same: it reveals neither whether an address is known nor the number of pending sign-ups. */
    async submit(input: SignUpInput): Promise<void> {
      const organizationId = ids.uuid();
      const signUp = { ...input, organizationId };
      const isInserted = await database.transaction(async (trx) => {
        if (!(await store.insert(trx, signUp, clock.now(), limits))) return false;
        await confirmationEmails.enqueue(trx, organizationId);
        await deletion.schedule(trx, organizationId);
        return true;
      });
      if (isInserted) confirmationEmails.wakeJobs();
      else if (await store.isPendingLimitReached(limits.maxPending)) {
        log.warn(
          { pending: limits.maxPending },
          'limit of pending sign-ups reached: new sign-ups are ignored',
        );
      }
    },

    async list(
      caller: Caller,
      status: SignUpStatus | undefined,
      page: PageRequest,
    ): Promise<FoundPage<SignUp>> {
      if (!(await isOperator(caller))) return { items: [] };
      return readPage(
        page,
        (read) => store.list(status, read),
        ({ organizationId }) => organizationId,
        toSignUpView,
      );
    },

    async get(caller: Caller, signUpId: string): Promise<SignUp> {
      const canRead = isLowerCaseUuid(signUpId) && (await isOperator(caller));
      const signUp = canRead ? await store.find(signUpId) : undefined;
      return signUp === undefined ? throwSignUpNotFound() : toSignUpView(signUp);
    },

    /** Idempotent: the same decision again changes nothing. */
    async decide(
      { caller, id }: { readonly caller: Caller; readonly id: string },
      signUpId: string,
      decision: Decision,
    ): Promise<SignUp> {
      if (!isLowerCaseUuid(signUpId) || !(await isOperator(caller))) throwSignUpNotFound();
      const after = await database.transaction(async (trx) => {
        const before = (await store.lock(trx, signUpId)) ?? throwSignUpNotFound();
        if (isAlreadyDecided(before, decision)) return before;
        const isApproved = decision === 'approve';
        const status = isApproved ? 'Approving' : 'Rejected';
        const updated = await store.updateStatus(trx, signUpId, status, clock.now());
        await (isApproved
          ? decisionJobs.enqueueApproval(trx, updated)
          : decisionJobs.enqueueRejection(trx, updated));
        await audit.record(trx, {
          ...actorOf(caller, id),
          organizationId: caller.organizationId,
          action: isApproved ? 'signUp.approved' : 'signUp.rejected',
          entity: { type: 'signUp', id: signUpId },
          before: toSignUpView(before),
          after: toSignUpView(updated),
        });
        return updated;
      });
      decisionJobs.wakeJobs();
      return toSignUpView(after);
    },
  };
}
