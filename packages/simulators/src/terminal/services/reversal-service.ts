// The Reversal service.
import { defined } from '@switchyard/contract';
import {
  amountReason,
  formatDecimalAmount,
  NexoError,
  passOnReason,
  type Structure,
  toAmount,
  toMinorUnits,
} from '@switchyard/nexo';
import {
  type ReplyBody,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
  successResponse,
} from '../context/service-context.ts';
import { recordTotals } from '../payments/record-totals.ts';
import {
  type FollowUpOperationResult,
  finalReceiptsOf,
  runOperation,
} from './follow-up-operations.ts';
import { operationTotals } from './payment-service.ts';

/** Reasons that reverse the whole sale as a technical failure. */
const technicalReasons: readonly string[] = ['Malfunction', 'Unable2Compl'];

function requireMinorUnits(amount: number, currency: string): number {
  try {
    return toMinorUnits(amount, currency);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw new ServiceError('NotAllowed', amountReason(error));
  }
}

/** States in which the whole sale is already undone: another reversal would succeed without effect. */
const undoneStates: readonly string[] = ['Refunded', 'Cancelled', 'Reversed'];

/** The currency of the original, which the request does not name. */
async function currencyOf({ platform, runtime }: ServiceContext, id: string): Promise<string> {
  const lookup = runtime.isReachable ? await platform.findTransaction(id) : undefined;
  if (lookup?.outcome === 'Answered') {
    const { state, currency } = lookup.transaction;
    if (undoneStates.includes(state)) throw new ServiceError('NotAllowed', 'already_refunded', id);
    return currency;
  }
  if (lookup?.outcome === 'Refused') throw new ServiceError('NotFound', passOnReason(lookup.code));
  throw new ServiceError('UnreachableHost', 'original_lookup_failed');
}

/** The platform does not know an offline sale before its upload. */
function requireUploaded({ store }: ServiceContext, id: string): void {
  const isHere = store.read().uploads.some(({ body }) => body['clientTransactionId'] === id);
  if (isHere) throw new ServiceError('NotAllowed', 'original_not_uploaded');
}

/** The answer to a reversal. */
export function reversalAnswer(
  { transaction, operation }: FollowUpOperationResult,
  original: Structure<'OriginalPOITransaction'>,
): Structure<'ReversalResponse'> {
  const { currency } = transaction;
  const amount = operation?.amount ?? transaction.amount;
  const TransactionID = operation?.operationId ?? transaction.transactionId;
  const TimeStamp = operation?.createdAt ?? transaction.updatedAt;
  return {
    Response: successResponse,
    POIData: { POITransactionID: { TransactionID, TimeStamp } },
    OriginalPOITransaction: original,
    ReversedAmount: toAmount(amount, currency),
    ...defined({ PaymentReceipt: finalReceiptsOf({ transaction, operation }) }),
  };
}

export async function reversal(
  call: ServiceCall<'ReversalRequest'>,
  context: ServiceContext,
): Promise<ReplyBody> {
  const { header, body } = call;
  const { OriginalPOITransaction: original, ReversedAmount: wanted, ReversalReason } = body;
  const id = original.POITransactionID?.TransactionID;
  if (id === undefined) throw new ServiceError('NotAllowed', 'original_missing');
  requireUploaded(context, id);
  call.preventAbort();
  const currency = await currencyOf(context, id);
  call.signal.throwIfAborted();
  const part =
    wanted === undefined ? {} : { amount: requireMinorUnits(wanted, currency), currency };
  const isTechnical = technicalReasons.includes(ReversalReason) && wanted === undefined;
  const verb = isTechnical ? 'reverse' : 'takeBack';
  const done = await runOperation(context, { id, verb, service: { header } }, part);
  const { show, emit } = context;
  const { transactionId, state } = done.transaction;
  const { amount, ...line } = operationTotals(done, verb);
  recordTotals(context, { ...line, amount, type: 'ReverseDebit', saleId: header.SaleID });
  show('Approved', `${formatDecimalAmount(amount, currency)} ${currency}`, 'Reversed');
  emit({ type: 'Payment', transactionId, state, amount, currency });
  return reversalAnswer(done, original);
}
