// Asks the provider for the status of refunds that it has not answered, and stores the answer.
import { throwProblem } from '@switchyard/contract';
import { commitRefundReport, commitWithRetry } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import type { LoadedPayment, StoredOperation } from '../transaction/records.ts';
import { unansweredRefunds } from '../transaction/unanswered-refunds.ts';
import { providerPaymentRef } from './query-provider.ts';

/** The maximum number of status calls in one request; the operator repeats it for the rest. */
const queriesMax = 8;

/** @returns whether the provider gave a usable answer about the refund */
async function queryRefund(
  deps: QrDeps,
  payment: LoadedPayment,
  { operationId, amount }: StoredOperation,
  actor: string,
): Promise<boolean> {
  const answer = await deps.providers.refundStatus(providerPaymentRef(payment), operationId);
  if (answer.outcome === 'NotFound') {
    await commitRefundReport(deps, payment, operationId, { status: 'Forgotten' }, { actor });
    return true;
  }
  if (answer.outcome !== 'Answered') return false;
  const { status, failure, providerRefundId, amount: reportedAmount } = answer;
  const { currency } = payment.row.position;
  if (
    reportedAmount !== undefined &&
    (reportedAmount.amount !== amount || reportedAmount.currency !== currency)
  ) {
    deps.alarms.raise('amount_differs', payment.row);
    const data = {
      reason: 'AmountDiffers',
      amount: reportedAmount.amount,
      currency: reportedAmount.currency,
      actor,
    };
    await commitWithRetry(deps, payment, () => ({
      at: deps.clock.now(),
      type: 'qr.noted',
      changes: {},
      data,
    }));
    return true;
  }
  await commitRefundReport(
    ...([deps, payment, operationId, { status, failure, providerRefundId }] as const),
    { actor },
  );
  return true;
}

/**
 * Returns the payment after the answers. It stays on hold if the provider does not know the refund.
 *
 * @throws ProblemError provider_timeout if the provider gives no usable answer
 */
export async function queryUnansweredRefunds(
  deps: QrDeps,
  payment: LoadedPayment,
  actor: string,
): Promise<LoadedPayment> {
  const refunds = unansweredRefunds(payment).slice(0, queriesMax);
  const hasAnswers = await Promise.all(
    refunds.map((each) => queryRefund(deps, payment, each, actor)),
  );
  if (!hasAnswers.includes(true)) {
    throwProblem(
      'provider_timeout',
      'The provider does not report the status of the refund. The payment stays under review.',
    );
  }
  const current = await deps.store.find(payment.row);
  if (current === undefined) throw new Error('a stored QR payment was not found');
  return current;
}
