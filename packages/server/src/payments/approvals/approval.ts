// Demands the approval of a refund or cancel: once for each operation, right before its intent.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { type Clock, isoTime, type Log } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { LoadedTransaction } from '../model.ts';
import type { Verb } from '../state.ts';
import type { ApprovalStore } from './store.ts';

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
   * reservation that failed is given back.
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

  async function isRequired(organizationId: string, verb: Verb): Promise<boolean> {
    if (!needing.has(verb)) return false;
    return (await provisioning.findOrganization(organizationId))?.approvalCodeRequired ?? false;
  }

  async function countTry(organizationId: string, by: string): Promise<void> {
    const now = clock.now();
    const until = isoTime(now + triesSpanMs);
    const counted = await store.countTry(organizationId, by, isoTime(now), until);
    if (counted.tries <= triesMax) return;
    refuse('approval_code_locked', 'Too many approval codes were tried here.', {
      retryAfterMs: Math.max(0, counted.countedUntil - now),
    });
  }

  async function use(
    { row }: LoadedTransaction,
    { code, by }: Approval & { code: string },
    amount: number,
  ): Promise<string> {
    const { organizationId, merchantId, storeId, currency } = row;
    await countTry(organizationId, by);
    const used = await store.use({
      ...{ organizationId, merchantId, storeId, amount, currency },
      mark: deps.markOf(organizationId, code),
      at: isoTime(clock.now()),
    });
    if (used === undefined) {
      return refuse('approval_code_invalid', 'The approval code does not approve this.', {
        ...at('approval_code_invalid', 'Unknown, used, expired, or of another place or amount.'),
      });
    }
    await store.takeBackTry(organizationId, by);
    return used;
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
        if (used !== undefined) {
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
