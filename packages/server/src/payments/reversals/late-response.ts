// Stores a late response. The reversal stays valid.
import type { LateResponse } from '../../acquiring/index.ts';
import type { Log } from '../../platform/index.ts';
import { commitTransition, updateWithRetry } from '../repository/update-with-retry.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { withDatabaseRetry } from '../runtime/retry-while-database-down.ts';
import { isApprovalOfSale } from '../transaction/approved-at-host.ts';
import { databaseRetryMs } from '../transaction/retry-delays-and-time-limits.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { type ReverseAgainPorts, reverseOnceMore } from './create-reversal.ts';
import { alertLateContradiction } from './reconciliation-alerts.ts';

export type LateResponsePorts = ReverseAgainPorts & { log: Pick<Log, 'error'> };

/**
 * After an approval a finished reversal is sent once more: it may have reached the host before the sale.
 *
 * @returns the current transaction
 */
export async function storeLateResponse(
  ports: LateResponsePorts,
  lateResponse: LateResponse,
): Promise<TransactionRecord | undefined> {
  const { organizationId, transactionId, kind, responseCode } = lateResponse;
  const transactions = withDatabaseRetry(ports, databaseRetryMs);
  const transaction = await transactions.findById(organizationId, transactionId);
  if (transaction === undefined) return undefined;
  const current = await updateWithRetry(transactions, transaction, (latest) =>
    commitTransition(transactions, latest, {
      at: ports.clock.now(),
      type: 'transaction.late_response',
      changes: {},
      data: { response: { code: responseCode }, reason: kind },
    }),
  );
  alertLateContradiction(ports, current, lateResponse);
  if (!isApprovalOfSale(kind, responseCode)) return current;
  return reverseOnceMore(ports, current, 'LateApproval', { approvedAtHost: true });
}

type RecordPorts = LateResponsePorts & {
  inFlightTransactions: Pick<InFlightTransactions, 'inTurn'>;
};

/** Runs in turn, so that a shutdown waits for it: the host does not repeat the response. */
export function recordLateResponse(ports: RecordPorts, lateResponse: LateResponse): void {
  ports.inFlightTransactions
    .inTurn(`late ${lateResponse.transactionId}`, () => storeLateResponse(ports, lateResponse))
    .catch((error: unknown) => {
      ports.log.error(
        { err: error, transactionId: lateResponse.transactionId },
        'storing a late response failed',
      );
    });
}
