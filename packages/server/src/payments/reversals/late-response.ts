// Stores a late response. The reversal stays valid.

import type { LateResponse } from '../../acquiring/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { retryWhileUnavailable } from '../runtime/retry-while-database-down.ts';
import { isApprovalOfSale } from '../transaction/approval-evidence.ts';
import { databaseRetryMs } from '../transaction/timeouts.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { applyTransition, withChange } from '../transaction/transition.ts';
import { reverseOnceMore } from './create-reversal.ts';
import { alertLateContradiction } from './schedule-retry.ts';

const maxConflictRetries = 20;

/**
 * Makes the answer durable; where it approves and its reversal has ended, the sale is reversed once more.
 *
 * @returns the transaction as it stands then
 */
export async function storeLateResponse(
  deps: PaymentsDeps,
  lateResponse: LateResponse,
): Promise<TransactionRecord | undefined> {
  const clock = deps.dueClock;
  const deadlineMs = clock.now() + databaseRetryMs;
  for (let attempt = 0; attempt < maxConflictRetries; attempt += 1) {
    const transaction = await retryWhileUnavailable({ clock }, deadlineMs, () =>
      deps.transactions.findById(lateResponse.organizationId, lateResponse.transactionId),
    );
    if (transaction === undefined) return undefined;
    const change = applyTransition(transaction.row, {
      at: deps.clock.now(),
      type: 'transaction.late_response',
      changes: {},
      data: { response: { code: lateResponse.responseCode }, reason: lateResponse.kind },
    });
    if (
      !(await retryWhileUnavailable({ clock }, deadlineMs, () => deps.transactions.update(change)))
    )
      continue;
    alertLateContradiction(deps, transaction, lateResponse);
    const current = withChange(transaction, change);
    if (!isApprovalOfSale(lateResponse.kind, lateResponse.responseCode)) return current;
    // Its reversal has ended and may have come first: an approval behind it is taken back again.
    return reverseOnceMore(deps, current, 'LateApproval', { approvedAtHost: true });
  }
  throw new Error('the late response could not be stored after all retries');
}

/** A stop waits for it: the host does not tell it again. */
export function recordLateResponse(deps: PaymentsDeps, lateResponse: LateResponse): void {
  deps.inFlightTransactions
    .inTurn(`late ${lateResponse.transactionId}`, () => storeLateResponse(deps, lateResponse))
    .catch((error: unknown) => {
      deps.log.error(
        { err: error, transactionId: lateResponse.transactionId },
        'storing a late response failed',
      );
    });
}
