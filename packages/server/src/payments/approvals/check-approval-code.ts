// Checks the approval code of a refund or cancellation. The commit of the operation uses the code.
import { throwFieldProblem, throwProblem } from '@switchyard/contract';
import { type Clock, createKeyedQueue, isoTime, type Queries } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { DuplicateOperationId } from '../repository/transaction-repository.ts';
import type { OperationType } from '../transaction/state-machine.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import type { ApprovalStore, CodeCheck, CodeUse } from './approval-code-sql.ts';

/** Failed attempts are counted by `attemptedBy`: a device, a user or an application. */
export type ApprovalAttempt = { readonly code: string | undefined; readonly attemptedBy: string };

export type ApprovedCode = { readonly approvalCodeId: string; readonly codeUse: CodeUse };

/** Another operation has used the code since it was checked. */
export class ApprovalCodeUsed extends Error {}

export const maxFailedAttempts = 5;
const failureWindowMs = 15 * 60_000;
const pointer = '/approvalCode';

function throwCodeProblem(
  check: Exclude<CodeCheck, { approvalCodeId: string }>,
  now: number,
): never {
  switch (check) {
    case 'OperationExists':
      throw new DuplicateOperationId();
    case 'Used': {
      const detail = 'Another operation has used this one-time approval code. Send another code.';
      return throwFieldProblem('approval_code_used', pointer, detail);
    }
    case 'Invalid':
    case 'Unknown': {
      const detail =
        'The approval code is unknown, revoked, expired, or valid for another location or amount.';
      return throwFieldProblem('approval_code_invalid', pointer, detail);
    }
    default: {
      const detail = 'Too many invalid approval codes. Wait before the next attempt.';
      const retryAfterMs = Math.max(0, check.lockedUntil - now);
      return throwProblem('approval_code_locked', detail, { retryAfterMs });
    }
  }
}

type Ports = {
  store: Pick<ApprovalStore, 'check' | 'consume' | 'restore'>;
  clock: Clock;
  provisioning: Pick<Provisioning, 'findOrganization'>;
  hashCode: (organizationId: string, code: string) => string;
};

/** @example const approvals = createApprovalChecker({ store, clock, provisioning, hashCode }); */
export function createApprovalChecker({ store, clock, provisioning, hashCode }: Ports) {
  const attempts = createKeyedQueue();
  return {
    /**
     * Does not use the code, so that an operation that is refused later leaves it free.
     *
     * @throws DuplicateOperationId if another request stored the same operation
     */
    async approve(
      request: {
        operationType: OperationType;
        approval: ApprovalAttempt;
        clientOperationId: string | undefined;
      },
      { row }: TransactionRecord,
      amount: number,
    ): Promise<ApprovedCode | undefined> {
      const { operationType: kind, approval, clientOperationId } = request;
      const { code, attemptedBy } = approval;
      const { organizationId, merchantId, storeId, currency } = row;
      if (code === undefined) {
        // A reversal needs no code: a terminal in an error state must not wait for a supervisor.
        if (kind !== 'Refund' && kind !== 'Cancel') return undefined;
        const organization = await provisioning.findOrganization(organizationId);
        if (organization?.approvalCodeRequired !== true) return undefined;
        const detail = 'The organisation requires the approval code of a supervisor.';
        return throwFieldProblem('approval_code_required', pointer, detail);
      }
      const codeHash = hashCode(organizationId, code);
      // In turn: each attempt that waits for the lock on the failure count occupies a connection.
      return attempts.run(`${organizationId}|${attemptedBy}`, async () => {
        const now = clock.now();
        const at = isoTime(now);
        const codeUse = { organizationId, merchantId, storeId, amount, currency, codeHash, at };
        const windowEndsAt = isoTime(now + failureWindowMs);
        const check = await store.check(
          { ...codeUse, kind, clientOperationId },
          { attemptedBy, maxFailures: maxFailedAttempts, windowEndsAt },
        );
        if (typeof check === 'object' && 'approvalCodeId' in check) return { ...check, codeUse };
        return throwCodeProblem(check, now);
      });
    },

    /** Uses the code in the commit of its operation. @throws ApprovalCodeUsed */
    async consume(trx: Queries, { codeUse }: ApprovedCode): Promise<void> {
      if (!(await store.consume(trx, codeUse))) throw new ApprovalCodeUsed();
    },

    /** Frees the code of an operation of which no message was sent. */
    restore: store.restore,
  };
}

export type ApprovalChecker = ReturnType<typeof createApprovalChecker>;
