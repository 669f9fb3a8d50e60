// Finds a payment in the caller's scope by the server's or the client's identifier.
import { throwProblem } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { isUuidV7 } from '../../platform/index.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import type { LoadedPayment } from '../transaction/records.ts';

const identifierForm = /^[A-Za-z0-9._:-]{1,64}$/;

/** @throws ProblemError entity_out_of_scope if the token belongs to another merchant */
export function requireMerchantScope(
  caller: Caller,
  requestedMerchantId: string | undefined,
): string | undefined {
  if (caller.merchantId === undefined) return requestedMerchantId?.toLowerCase();
  if (
    requestedMerchantId !== undefined &&
    requestedMerchantId.toLowerCase() !== caller.merchantId
  ) {
    throwProblem('entity_out_of_scope', 'The token belongs to another merchant.');
  }
  return caller.merchantId;
}

function throwTransactionNotFound(): never {
  return throwProblem('transaction_not_found', 'There is no QR payment with this identifier.');
}

/**
 * @throws ProblemError transaction_not_found, also for transactions of another tenant;
 * transaction_ambiguous; recovery_required
 */
export async function findPayment(
  deps: Pick<QrDeps, 'store' | 'numbering'>,
  caller: Caller,
  identifier: string,
  requestedMerchantId?: string,
): Promise<LoadedPayment> {
  const { organizationId, storeId } = caller;
  const merchantId = requireMerchantScope(caller, requestedMerchantId);
  const isInScope = ({ row }: LoadedPayment) =>
    (merchantId === undefined || row.merchantId === merchantId) &&
    (storeId === undefined || row.storeId === storeId);
  if (!identifierForm.test(identifier)) return throwTransactionNotFound();
  if (isUuidV7(identifier)) {
    const transactionId = identifier.toLowerCase();
    const payment = await deps.store.find({ organizationId, transactionId });
    if (payment !== undefined && isInScope(payment)) return payment;
  }
  const all = await deps.store.findByClientId(organizationId, identifier, merchantId);
  const matches = all.filter(isInScope);
  const [match, another] = matches;
  if (match === undefined) {
    // During recovery the database may not contain the payment.
    if (deps.numbering.isRecoveryRequired()) deps.numbering.requireAvailable();
    return throwTransactionNotFound();
  }
  if (another !== undefined) {
    throwProblem(
      'transaction_ambiguous',
      'Several merchants use this identifier. Send merchantId to select one.',
      {
        extensions: { merchantIds: matches.map(({ row }) => row.merchantId) },
      },
    );
  }
  return match;
}
