// Demands the approval of a refund or cancel, right before its intent; its code is used by the commit of that.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { type Clock, createWorks, isoTime } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { OperationIdTaken } from '../repository/transaction-repository.ts';
import type { Verb } from '../transaction/state-machine.ts';
import type { LoadedTransaction, OperationKind } from '../transaction/transaction.ts';
import type { ApprovalStore, Judged, Use } from './approval-code-sql.ts';

/** What was sent, and by whom: tries are counted for each device, person or application. */
export type Approval = { readonly code: string | undefined; readonly by: string };

/** A code that approves, as long as nobody else uses it first. */
export type Approved = { readonly approvalCodeId: string; readonly use: Use };

/** Another operation has used the code since it was judged. */
export class CodeTaken extends Error {}

export type ApprovalsDeps = {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly provisioning: Pick<Provisioning, 'findOrganization'>;
  readonly markOf: (organizationId: string, code: string) => string;
};

/** What is to be approved, and the code that came with it. */
export type Asked = {
  readonly verb: Verb;
  readonly approval: Approval | undefined;
  readonly kind: OperationKind;
  readonly clientOperationId: string | undefined;
};

/** Gives what approves; nothing where none was needed. */
export type Approve = (loaded: LoadedTransaction, amount: number) => Promise<Approved | undefined>;

export type Approvals = {
  /**
   * Finds what approves an operation of this amount. It is not used yet: an operation that does not come to be
   * has used nothing.
   *
   * @throws OperationIdTaken where the very operation was done meanwhile, perhaps with this code
   */
  approve(asked: Asked, loaded: LoadedTransaction, amount: number): Promise<Approved | undefined>;
  /** Uses it, within the commit of its operation. @throws CodeTaken */
  use(trx: Kysely<unknown>, approved: Approved): Promise<void>;
  /** Gives the code back that approved an operation of which nothing was sent. */
  giveBack(trx: Kysely<unknown>, organizationId: string, approvalCodeId: string): Promise<void>;
};

/** A reversal must not wait for a supervisor: a terminal asks for it that has lost its way. */
const needing: ReadonlySet<Verb> = new Set<Verb>(['Refund', 'Cancel']);

export const triesMax = 5;
const triesSpanMs = 15 * 60_000;

const at = (code: 'approval_code_required' | 'approval_code_invalid', detail: string) => ({
  errors: [{ pointer: '/approvalCode', code, detail }],
});

function refuseJudged(judged: Exclude<Judged, { approvalCodeId: string }>, now: number): never {
  if (judged === 'Done') throw new OperationIdTaken();
  if (judged === 'Wrong') {
    return refuse('approval_code_invalid', 'The approval code does not approve this.', {
      ...at('approval_code_invalid', 'Unknown, used, expired, or of another place or amount.'),
    });
  }
  return refuse('approval_code_locked', 'Too many approval codes were tried here.', {
    retryAfterMs: Math.max(0, judged.lockedUntil - now),
  });
}

/** @example const approvals = createApprovals({ store, clock, provisioning, markOf }); */
export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { store, clock, provisioning } = deps;
  const turns = createWorks<string>();

  async function isRequired(organizationId: string, verb: Verb): Promise<boolean> {
    if (!needing.has(verb)) return false;
    return (await provisioning.findOrganization(organizationId))?.approvalCodeRequired ?? false;
  }

  async function judge(
    { row }: LoadedTransaction,
    { kind, clientOperationId }: Asked,
    { code, by }: { code: string; by: string },
    amount: number,
  ): Promise<Approved> {
    const { organizationId, merchantId, storeId, currency } = row;
    // Who waits for the same row would hold a connection each.
    return turns.inTurn(`${organizationId}|${by}`, async () => {
      const now = clock.now();
      const mark = deps.markOf(organizationId, code);
      const use = { organizationId, merchantId, storeId, amount, currency, mark, at: isoTime(now) };
      const judged = await store.judge(
        { ...use, kind, clientOperationId },
        { by, max: triesMax, until: isoTime(now + triesSpanMs) },
      );
      const isRight = typeof judged === 'object' && 'approvalCodeId' in judged;
      if (!isRight) return refuseJudged(judged, now);
      return { approvalCodeId: judged.approvalCodeId, use };
    });
  }

  return {
    async approve(asked, loaded, amount) {
      const { verb, approval } = asked;
      if (approval === undefined) return undefined;
      const { code, by } = approval;
      if (code !== undefined) return judge(loaded, asked, { code, by }, amount);
      if (await isRequired(loaded.row.organizationId, verb)) {
        refuse('approval_code_required', 'The organisation asks for an approval code.', {
          ...at('approval_code_required', 'The code of a supervisor.'),
        });
      }
      return undefined;
    },
    async use(trx, { use }) {
      if (!(await store.use(trx, use))) throw new CodeTaken();
    },
    giveBack: (trx, organizationId, id) => store.giveBack(trx, organizationId, id),
  };
}
