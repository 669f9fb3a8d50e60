// An answer after its time is recorded; whatever it says, the reversal stands.
import type { LateAnswer } from '../../acquiring/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { outlast } from '../runtime/retry-while-database-down.ts';
import { isApprovalOfSale } from '../transaction/approval-evidence.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';
import { after, changeOf } from '../transaction/transition.ts';
import { reverseAgain } from './create-reversal.ts';
import { alarmLateContradiction } from './schedule-retry.ts';

const triesMax = 20;
/** The host tells it once: a database that restarts must not cost it. */
const patienceMs = 120_000;

/**
 * Makes the answer durable; where it approves and its reversal has ended, the sale is reversed once more.
 *
 * @returns the transaction as it stands then
 */
export async function noteLateAnswer(
  deps: PaymentsDeps,
  late: LateAnswer,
): Promise<LoadedTransaction | undefined> {
  const until = deps.clock.now() + patienceMs;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const loaded = await outlast(deps, until, () =>
      deps.store.findById(late.organizationId, late.transactionId),
    );
    if (loaded === undefined) return undefined;
    const change = changeOf(loaded.row, {
      at: deps.clock.now(),
      type: 'transaction.late_response',
      changes: {},
      data: { response: { code: late.responseCode }, reason: late.kind },
    });
    if (!(await outlast(deps, until, () => deps.store.commit(change)))) continue;
    alarmLateContradiction(deps, loaded, late);
    const standing = after(loaded, change);
    if (!isApprovalOfSale(late.kind, late.responseCode)) return standing;
    // Its reversal has ended and may have come first: an approval behind it is taken back again.
    return reverseAgain(deps, standing, 'LateApproval', { approvedAtHost: true });
  }
  throw new Error('a late answer could not be recorded');
}

/** A stop waits for it: the host does not tell it again. */
export function recordLateAnswer(deps: PaymentsDeps, late: LateAnswer): void {
  deps.running
    .inTurn(`late ${late.transactionId}`, () => noteLateAnswer(deps, late))
    .catch((error: unknown) => {
      deps.log.error({ err: error, transactionId: late.transactionId }, 'a late answer is lost');
    });
}
