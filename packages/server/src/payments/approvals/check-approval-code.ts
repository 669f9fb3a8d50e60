// Checks the approval code of a refund or cancellation. The commit of the operation consumes the code.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { type Clock, createWorks, isoTime } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { DuplicateOperationId } from '../repository/transaction-repository.ts';
import type { OperationType } from '../transaction/state-machine.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import type { ApprovalStore, CodeCheck, CodeUse } from './approval-code-sql.ts';

/** What was sent, and by whom: tries are counted for each device, person or application. */
export type ApprovalAttempt = { readonly code: string | undefined; readonly attemptedBy: string };

/** A code that approves, as long as nobody else uses it first. */
export type ApprovedCode = { readonly approvalCodeId: string; readonly codeUse: CodeUse };

/** Another operation has used the code since it was judged. */
export class ApprovalCodeUsed extends Error {}

export type ApprovalCheckerDeps = {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly provisioning: Pick<Provisioning, 'findOrganization'>;
  readonly hashCode: (organizationId: string, code: string) => string;
};

/** What is to be approved, and the code that came with it. */
export type ApprovalRequest = {
  readonly operationType: OperationType;
  readonly approval: ApprovalAttempt;
  readonly clientOperationId: string | undefined;
};

export type ApprovalChecker = {
  /**
   * Finds what approves an operation of this amount. It is not used yet: an operation that does not come to be
   * has used nothing.
   *
   * @throws OperationIdTaken where the very operation was done meanwhile, perhaps with this code
   */
  approve(
    request: ApprovalRequest,
    transaction: TransactionRecord,
    amount: number,
  ): Promise<ApprovedCode | undefined>;
  /** Uses it, within the commit of its operation. @throws CodeTaken */
  consume(trx: Kysely<unknown>, approved: ApprovedCode): Promise<void>;
  /** Gives the code back that approved an operation of which nothing was sent. */
  restore(trx: Kysely<unknown>, organizationId: string, approvalCodeId: string): Promise<void>;
};

/** A reversal must not wait for a supervisor: a terminal asks for it that has lost its way. */
const operationsWithApproval: ReadonlySet<OperationType> = new Set<OperationType>([
  'Refund',
  'Cancel',
]);

export const maxFailedAttempts = 5;
const failureWindowMs = 15 * 60_000;

const at = (code: 'approval_code_required' | 'approval_code_invalid', detail: string) => ({
  errors: [{ pointer: '/approvalCode', code, detail }],
});

function refuseCodeCheck(
  codeCheck: Exclude<CodeCheck, { approvalCodeId: string }>,
  now: number,
): never {
  if (codeCheck === 'Done') throw new DuplicateOperationId();
  if (codeCheck === 'Wrong') {
    return refuse('approval_code_invalid', 'The approval code is not valid for this operation.', {
      ...at(
        'approval_code_invalid',
        'Unknown, used, expired, or valid for another location or amount.',
      ),
    });
  }
  return refuse(
    'approval_code_locked',
    'Too many invalid approval codes. Wait before the next attempt.',
    {
      retryAfterMs: Math.max(0, codeCheck.lockedUntil - now),
    },
  );
}

/** @example const approvals = createApprovals({ store, clock, provisioning, markOf }); */
export function createApprovalChecker(deps: ApprovalCheckerDeps): ApprovalChecker {
  const { store, clock, provisioning } = deps;
  const keyedTasks = createWorks<string>();

  async function isRequired(
    organizationId: string,
    operationType: OperationType,
  ): Promise<boolean> {
    if (!operationsWithApproval.has(operationType)) return false;
    return (await provisioning.findOrganization(organizationId))?.approvalCodeRequired ?? false;
  }

  async function checkCode(
    { row }: TransactionRecord,
    { operationType, clientOperationId }: ApprovalRequest,
    { code, attemptedBy }: { code: string; attemptedBy: string },
    amount: number,
  ): Promise<ApprovedCode> {
    const { organizationId, merchantId, storeId, currency } = row;
    // Who waits for the same row would hold a connection each.
    return keyedTasks.inTurn(`${organizationId}|${attemptedBy}`, async () => {
      const now = clock.now();
      const codeHash = deps.hashCode(organizationId, code);
      const codeUse = {
        organizationId,
        merchantId,
        storeId,
        amount,
        currency,
        codeHash,
        at: isoTime(now),
      };
      const codeCheck = await store.judge(
        { ...codeUse, kind: operationType, clientOperationId },
        {
          attemptedBy,
          maxFailures: maxFailedAttempts,
          windowEndsAt: isoTime(now + failureWindowMs),
        },
      );
      const isAccepted = typeof codeCheck === 'object' && 'approvalCodeId' in codeCheck;
      if (!isAccepted) return refuseCodeCheck(codeCheck, now);
      return { approvalCodeId: codeCheck.approvalCodeId, codeUse };
    });
  }

  return {
    async approve(request, transaction, amount) {
      const { operationType, approval } = request;
      const { code, attemptedBy } = approval;
      if (code !== undefined) return checkCode(transaction, request, { code, attemptedBy }, amount);
      if (await isRequired(transaction.row.organizationId, operationType)) {
        refuse('approval_code_required', 'The organisation requires an approval code.', {
          ...at('approval_code_required', 'The code of a supervisor.'),
        });
      }
      return undefined;
    },
    async consume(trx, { codeUse }) {
      if (!(await store.use(trx, codeUse))) throw new ApprovalCodeUsed();
    },
    restore: (trx, organizationId, id) => store.giveBack(trx, organizationId, id),
  };
}
