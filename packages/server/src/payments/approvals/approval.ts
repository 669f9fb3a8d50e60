// Demands the approval of a refund or cancel: once for each operation, right before its intent.
import { Refusal, refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { type Clock, createWorks, isoTime, type Log } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { LoadedTransaction } from '../model.ts';
import type { Verb } from '../state.ts';
import type { ApprovalStore, Judged } from './store.ts';

/** What was sent, and by whom: tries are counted for each device, person or application. */
export type Approval = { readonly code: string | undefined; readonly by: string };

export type ApprovalsDeps = {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly provisioning: Pick<Provisioning, 'findOrganization'>;
  readonly markOf: (organizationId: string, code: string) => string;
};

/** Gives the identifier of the code that approved; nothing where none was needed. */
export type Approve = (loaded: LoadedTransaction, amount: number) => Promise<string | undefined>;

export type Approvals = {
  /**
   * Runs a reservation, which asks for the approval once it knows the amount. What was used for a
   * reservation that failed is given back, unless it may stand all the same.
   */
  approving<Result>(
    asked: { readonly verb: Verb; readonly approval: Approval | undefined },
    reserve: (approve: Approve) => Promise<Result>,
  ): Promise<Result>;
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

/** @example const approvals = createApprovals({ store, clock, log, provisioning, markOf }); */
export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { store, clock, log, provisioning } = deps;
  const turns = createWorks<string>();

  async function isRequired(organizationId: string, verb: Verb): Promise<boolean> {
    if (!needing.has(verb)) return false;
    return (await provisioning.findOrganization(organizationId))?.approvalCodeRequired ?? false;
  }

  function refuseJudged(judged: Exclude<Judged, { approvalCodeId: string }>, now: number): never {
    if (judged === 'Wrong') {
      return refuse('approval_code_invalid', 'The approval code does not approve this.', {
        ...at('approval_code_invalid', 'Unknown, used, expired, or of another place or amount.'),
      });
    }
    return refuse('approval_code_locked', 'Too many approval codes were tried here.', {
      retryAfterMs: Math.max(0, judged.lockedUntil - now),
    });
  }

  async function use(
    { row }: LoadedTransaction,
    { code, by }: Approval & { code: string },
    amount: number,
  ): Promise<string> {
    const { organizationId, merchantId, storeId, currency } = row;
    // Who waits for the same row would hold a connection each.
    return turns.inTurn(`${organizationId}|${by}`, async () => {
      const now = clock.now();
      const mark = deps.markOf(organizationId, code);
      const judged = await store.judge(
        { organizationId, merchantId, storeId, amount, currency, mark, at: isoTime(now) },
        { by, max: triesMax, until: isoTime(now + triesSpanMs) },
      );
      const isRight = judged !== 'Wrong' && 'approvalCodeId' in judged;
      return isRight ? judged.approvalCodeId : refuseJudged(judged, now);
    });
  }

  return {
    giveBack: (trx, organizationId, id) => store.giveBack(organizationId, id, trx),
    async approving({ verb, approval }, reserve) {
      let used: { organizationId: string; id: string; amount: number } | undefined;
      const approve: Approve = async (loaded, amount) => {
        if (approval === undefined) return undefined;
        if (used !== undefined && amount <= used.amount) return used.id;
        const { organizationId } = loaded.row;
        // Somebody was faster, and it is about more money now: that is asked for anew.
        if (used !== undefined) await store.giveBack(organizationId, used.id);
        used = undefined;
        const { code, by } = approval;
        if (code !== undefined) {
          used = { organizationId, id: await use(loaded, { code, by }, amount), amount };
          return used.id;
        }
        if (await isRequired(organizationId, verb)) {
          refuse('approval_code_required', 'The organisation asks for an approval code.', {
            ...at('approval_code_required', 'The code of a supervisor.'),
          });
        }
        return undefined;
      };
      try {
        return await reserve(approve);
      } catch (error) {
        // What may have been committed all the same has its approval: its code must approve nothing else.
        const mayStand = error instanceof Refusal && error.outcome === 'Unknown';
        if (used !== undefined && !mayStand) {
          // The refusal is what the caller is told; a code that stays used harms nobody's money.
          await store.giveBack(used.organizationId, used.id).catch((fault: unknown) => {
            log.warn({ err: fault }, 'an approval code could not be given back');
          });
        }
        throw error;
      }
    },
  };
}
