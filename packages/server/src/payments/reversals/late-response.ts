// Records acquirer responses that arrive after the time-out, or after the sale was reversed.
import { defined } from '@switchyard/contract';
import {
  type AcquirerOutcome,
  isAmbiguousDecline,
  type LateResponse,
} from '../../acquiring/index.ts';
import type { Log } from '../../platform/index.ts';
import {
  commitTransition,
  updateWithRetry,
  withDatabaseRetry,
} from '../repository/update-with-retry.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { databaseRetryMs } from '../transaction/time-limits.ts';
import {
  authorizationContext,
  isApprovalOfSale,
  isMessageOfSale,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { reverseOnceMore, type StoreReversalPorts } from './create-reversal.ts';
import { alertLateContradiction } from './reconciliation-alerts.ts';

export type LateResponsePorts = StoreReversalPorts & { log: Pick<Log, 'error'> };

/**
 * After an approval a finished reversal is sent once more: it may have reached the host before the sale.
 *
 * @returns the current transaction
 */
async function storeLateResponse(
  ports: LateResponsePorts,
  lateResponse: LateResponse,
): Promise<TransactionRecord | undefined> {
  const { organizationId, transactionId, kind, responseCode, retrievalReference } = lateResponse;
  const transactions = withDatabaseRetry(ports, databaseRetryMs);
  const transaction = await transactions.findById(organizationId, transactionId);
  if (transaction === undefined) return undefined;
  const current = await updateWithRetry(transactions, transaction, (latest) =>
    commitTransition(transactions, latest, {
      at: ports.clock.now(),
      type: 'transaction.late_response',
      changes: {},
      data: {
        response: { code: responseCode },
        reason: kind,
        ...defined({ retrievalReference: isMessageOfSale(kind) ? retrievalReference : undefined }),
      },
    }),
  );
  alertLateContradiction(ports, current, lateResponse);
  if (!isApprovalOfSale(kind, responseCode)) return current;
  const details = { approvedAtHost: true } as const;
  return reverseOnceMore(ports, current, { reason: 'LateApproval', details });
}

/** Runs in turn, so that a shutdown waits for it: the host does not repeat the response. */
export function recordLateResponse(
  ports: LateResponsePorts & { inFlightTransactions: Pick<InFlightTransactions, 'runExclusive'> },
  lateResponse: LateResponse,
): void {
  ports.inFlightTransactions
    .runExclusive(`late ${lateResponse.transactionId}`, () =>
      storeLateResponse(ports, lateResponse),
    )
    .catch((err: unknown) => {
      const { transactionId } = lateResponse;
      ports.log.error({ err, transactionId }, 'storing a late response failed');
    });
}

/**
 * Stores an approval during the reversal: the host then holds the sale, also if it does not find it. After
 * a finished reversal the sale is reversed once more.
 *
 * @returns the current transaction
 */
export async function recordSupersededOutcome(
  ports: LateResponsePorts,
  current: TransactionRecord,
  outcome: AcquirerOutcome,
): Promise<TransactionRecord> {
  const { organizationId, transactionId, position } = current.row;
  const isApproved = outcome.outcome === 'Approved';
  if (isApproved && position.phase === 'Reversing') {
    const { kind } = authorizationContext(current);
    const { responseCode, retrievalReference } = outcome;
    const lateResponse = {
      organizationId,
      transactionId,
      kind,
      responseCode,
      ...defined({ retrievalReference }),
    };
    return (await storeLateResponse(ports, lateResponse)) ?? current;
  }
  const isPossiblyAuthorized =
    isApproved || outcome.outcome === 'Unknown' || isAmbiguousDecline(outcome);
  if (!isPossiblyAuthorized || position.phase !== 'Reversed') return current;
  const details = isApproved ? ({ approvedAtHost: true } as const) : {};
  return reverseOnceMore(ports, current, { reason: 'ApprovedAfterReversal', details });
}
