// Takes sign-ups from anybody, and decisions from the operator of the platform alone.
import { defined, refuse, type SignUp, type SignUpInput } from '@switchyard/contract';
import { actorOf } from '../audit/index.ts';
import type { Caller, FoundPage, PageRequest } from '../http/index.ts';
import { isoTime, type Log } from '../platform/index.ts';
import type { Receipts } from './confirmation-email.ts';
import type { Approval, ApprovalDeps } from './decision-jobs.ts';
import type { Forgetting } from './delete-expired-sign-ups.ts';
import { createSignUpStore, type SignUpRecord, type SignUpStatus } from './sign-up-sql.ts';

/** Sign-ups of one recipient that wait or are younger than the period: each sends a mail. */
const perRecipient = 3;
const recipientPeriodMs = 86_400_000;
/** Of all: more than anybody looks through, and less than a table that strangers fill is of harm. */
const waitingOfAll = 10_000;
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type SignUps = ReturnType<typeof createSignUps>;

type Decision = 'approve' | 'reject';

export function viewOf(record: SignUpRecord): SignUp {
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

function refuseUnknown(): never {
  return refuse('resource_not_found', 'No sign-up in your scope has this identifier.');
}

export type SignUpsDeps = ApprovalDeps & {
  readonly log: Log;
  readonly approval: Approval;
  readonly receipts: Receipts;
  readonly forgetting: Forgetting;
  /** How many wait at most; a test asks for fewer. */
  readonly waitingMax?: number;
};

export function createSignUps(deps: SignUpsDeps) {
  const { database, clock, ids, log, audit, identity, approval, receipts, forgetting } = deps;
  const most = { perRecipient, recipientPeriodMs, ofAll: deps.waitingMax ?? waitingOfAll };
  const store = createSignUpStore(database);

  /** Sign-ups belong to the platform: the administrator of any other organisation sees none. */
  const isOperator = async ({ organizationId, entityType }: Caller): Promise<boolean> =>
    entityType === 'tenant' && (await identity.isOperator(organizationId));

  const decided = (signUp: SignUpRecord, decision: Decision): boolean => {
    if (signUp.status === 'Pending') return false;
    const stands = signUp.status === 'Rejected' ? 'reject' : 'approve';
    if (stands === decision) return true;
    return refuse('concurrent_modification', 'The sign-up was decided otherwise already: read it.');
  };

  return {
    /** The same for everybody: nobody hears whether an address is known, or how many wait. */
    async take(input: SignUpInput): Promise<void> {
      const organizationId = ids.uuid();
      const wanted = { ...input, organizationId };
      const isTaken = await database.transaction(async (trx) => {
        if (!(await store.insert(trx, wanted, clock.now(), most))) return false;
        await receipts.owed(trx, organizationId);
        await forgetting.planned(trx, organizationId);
        return true;
      });
      if (isTaken) receipts.poke();
      else if (await store.isFull(most.ofAll)) {
        log.warn({ waiting: most.ofAll }, 'too many sign-ups wait: no more are taken');
      }
    },

    async list(
      caller: Caller,
      status: SignUpStatus | undefined,
      page: PageRequest,
    ): Promise<FoundPage<SignUpRecord>> {
      if (!(await isOperator(caller))) return { items: [] };
      const rows = await store.list(status, { ...page, limit: page.limit + 1 });
      const items = rows.slice(0, page.limit);
      return { items, next: rows.length > page.limit ? items.at(-1)?.organizationId : undefined };
    },

    async get(caller: Caller, signUpId: string): Promise<SignUpRecord> {
      const isKnown = uuidPattern.test(signUpId) && (await isOperator(caller));
      return (isKnown ? await store.find(signUpId) : undefined) ?? refuseUnknown();
    },

    /** The same decision again changes nothing. */
    async decide(
      { caller, id }: { readonly caller: Caller; readonly id: string },
      signUpId: string,
      decision: Decision,
    ): Promise<SignUpRecord> {
      if (!uuidPattern.test(signUpId) || !(await isOperator(caller))) refuseUnknown();
      const after = await database.transaction(async (trx) => {
        const before = (await store.hold(trx, signUpId)) ?? refuseUnknown();
        if (decided(before, decision)) return before;
        const isApproved = decision === 'approve';
        const status = isApproved ? 'Approving' : 'Rejected';
        const moved = await store.move(trx, signUpId, status, clock.now());
        await (isApproved ? approval.approved(trx, moved) : approval.rejected(trx, moved));
        await audit.record(trx, {
          ...actorOf(caller, id),
          organizationId: caller.organizationId,
          action: isApproved ? 'signUp.approved' : 'signUp.rejected',
          entity: { type: 'signUp', id: signUpId },
          before: viewOf(before),
          after: viewOf(moved),
        });
        return moved;
      });
      approval.poke();
      return after;
    },
  };
}
