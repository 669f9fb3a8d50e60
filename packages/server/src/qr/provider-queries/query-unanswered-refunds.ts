// Asks the provider for the status of refunds that it has not answered, and stores the answer.
import { throwProblem } from '@switchyard/contract';
import { settle, settleRefund } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import type { LoadedQr, StoredOperation } from '../transaction/records.ts';
import { unansweredRefunds } from '../transaction/unanswered-refunds.ts';
import { refOf } from './query-provider.ts';

/** The maximum number of status calls in one request; the operator repeats it for the rest. */
const askedMax = 8;

/** @returns whether the provider gave a usable answer about the refund */
async function askOne(
  deps: QrDeps,
  found: LoadedQr,
  { operationId, amount }: StoredOperation,
  actor: string,
): Promise<boolean> {
  const answer = await deps.providers.refundStatus(refOf(found), operationId);
  if (answer.outcome === 'NotFound') {
    await settleRefund(deps, found, operationId, { said: 'Forgotten' }, { actor });
    return true;
  }
  if (answer.outcome !== 'Answered') return false;
  const { status, failure, providerRefundId, amount: told } = answer;
  const { currency } = found.row.position;
  if (told !== undefined && (told.amount !== amount || told.currency !== currency)) {
    deps.alarms.raise('amount_differs', found.row);
    const data = { reason: 'AmountDiffers', amount: told.amount, currency: told.currency, actor };
    await settle(deps, found, () => ({
      at: deps.clock.now(),
      type: 'qr.noted',
      changes: {},
      data,
    }));
    return true;
  }
  await settleRefund(
    ...([deps, found, operationId, { said: status, failure, providerRefundId }] as const),
    { actor },
  );
  return true;
}

/**
 * Returns the payment after the answers. It stays on hold if the provider does not know the refund.
 *
 * @throws Refusal provider_timeout if the provider gives no usable answer
 */
export async function askHeldRefunds(
  deps: QrDeps,
  found: LoadedQr,
  actor: string,
): Promise<LoadedQr> {
  const asked = unansweredRefunds(found).slice(0, askedMax);
  const heard = await Promise.all(asked.map((each) => askOne(deps, found, each, actor)));
  if (!heard.includes(true)) {
    throwProblem(
      'provider_timeout',
      'The provider does not say how the refund stands; it stays held.',
    );
  }
  const standing = await deps.store.find(found.row);
  if (standing === undefined) throw new Error('a QR payment has vanished');
  return standing;
}
