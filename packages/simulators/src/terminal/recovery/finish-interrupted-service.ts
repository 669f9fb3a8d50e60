// After a restart during a service: finds its outcome and stores the missing answer.
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  additionalResponse,
  answerHeader,
  failureTo,
  type Header,
  passOnReason,
  type RefusalReason,
  type ServiceRecord,
  type Structure,
} from '@switchyard/nexo';
import { type ServiceContext, ServiceError, successResponse } from '../context/service-context.ts';
import { errorEvent } from '../context/terminal-events.ts';
import { recordTotals } from '../payments/record-totals.ts';
import { queueReversal } from '../payments/reversal-and-upload-queue.ts';
import { errorConditionOf, findSaleOutcome } from '../payments/sale-outcome.ts';
import { performedTransaction } from '../services/batch-service.ts';
import { completeOperation } from '../services/follow-up-operations.ts';
import {
  approvedSaleAnswer,
  operationAnswer,
  operationTotals,
} from '../services/payment-service.ts';
import { reversalAnswer } from '../services/reversal-service.ts';
import type { BatchProgress, PendingOperation, PendingSale } from '../storage/terminal-store.ts';

function failureAnswer(
  context: ServiceContext,
  { header, saleData }: Pick<PendingOperation, 'header' | 'saleData'>,
  condition: Parameters<typeof failureTo>[1],
  additional: RefusalReason | undefined,
): AnyMessage | undefined {
  const request = { header, body: defined({ SaleData: saleData }) };
  const at = new Date(context.now()).toISOString();
  return failureTo(request, condition, { at, ...defined({ additional }) });
}

/** The answer to a pending sale; the till gets it by TransactionStatus. */
async function recoverSale(
  context: ServiceContext,
  pending: PendingSale,
): Promise<AnyMessage | undefined> {
  const { givenBack } = pending;
  if (givenBack !== undefined) {
    return failureAnswer(context, pending, givenBack.condition, passOnReason(givenBack.why));
  }
  const outcome = await findSaleOutcome(context, pending);
  if (outcome.kind === 'NotTaken') {
    return failureAnswer(context, pending, 'Aborted', 'terminal_restarted');
  }
  if (outcome.kind === 'Unreachable') {
    const { clientTransactionId, until, merchant } = pending;
    const fault = new ServiceError('UnreachableHost', 'outcome_unknown_reversed');
    queueReversal(context, { clientTransactionId, until, merchant, reason: 'Timeout' }, fault);
    return failureAnswer(context, pending, fault.condition, fault.additional);
  }
  const { transaction } = outcome;
  const { header, saleData, currency, kind } = pending;
  if (!transaction.approved) {
    return failureAnswer(
      context,
      pending,
      errorConditionOf(transaction),
      passOnReason(transaction.response?.reason ?? ''),
    );
  }
  const type = kind === 'Reservation' ? 'FirstReservation' : 'Debit';
  const line = { type, brand: transaction.card?.scheme ?? '', currency, saleId: header.SaleID };
  const { authorizedAmount: amount } = transaction;
  if (pending.isBooked !== true) recordTotals(context, { ...line, amount });
  const PaymentType = kind === 'Reservation' ? 'FirstReservation' : 'Normal';
  return {
    header: answerHeader(header),
    body: approvedSaleAnswer(saleData, transaction, { PaymentType }),
  };
}

/** The answer to a pending operation: sent again with its identifier, it is the same operation. */
async function recoverOperation(
  context: ServiceContext,
  pending: PendingOperation,
): Promise<AnyMessage | undefined> {
  const { header, saleData, type = 'Normal', id, verb } = pending;
  // In a batch the header has another category.
  const isReversal = saleData === undefined;
  try {
    const done = await completeOperation(context, pending, { wasSent: true });
    const line = operationTotals(done, verb);
    const booked = isReversal ? { ...line, type: 'ReverseDebit' } : line;
    if (pending.isBooked !== true) recordTotals(context, { ...booked, saleId: header.SaleID });
    if (!isReversal) {
      return { header: answerHeader(header), body: operationAnswer(done, saleData, type) };
    }
    const TimeStamp = done.transaction.createdAt;
    const original = { POITransactionID: { TransactionID: id, TimeStamp } };
    return { header: answerHeader(header), body: reversalAnswer(done, original) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return failureAnswer(context, pending, error.condition, error.additional);
  }
}

/** The batch answer with an entry for each performed request; the other requests are not performed any more. */
function batchAnswer(
  context: ServiceContext,
  { header, wanted, performed }: BatchProgress,
  last: AnyMessage | undefined,
): AnyMessage | undefined {
  const PerformedTransaction = [...performed, ...(last ? [performedTransaction(last.body)] : [])];
  if (wanted > 0 && PerformedTransaction.length === 0) {
    return failureAnswer(context, { header }, 'Aborted', 'terminal_restarted');
  }
  const Response: Structure<'Response'> =
    PerformedTransaction.length === wanted
      ? successResponse
      : {
          Result: 'Partial',
          ErrorCondition: 'Aborted',
          AdditionalResponse: additionalResponse('Aborted', 'batch_interrupted'),
        };
  return { header: answerHeader(header), body: { Response, PerformedTransaction } };
}

/** The answer to the service that had, or may have had, an effect before the restart. */
export async function answerAfterRestart(context: ServiceContext): Promise<AnyMessage | undefined> {
  const answer = await pendingAnswer(context);
  const { batch } = context.store.read();
  return batch === undefined ? answer : batchAnswer(context, batch, answer);
}

async function pendingAnswer(context: ServiceContext): Promise<AnyMessage | undefined> {
  const { pending, operation, answerDue } = context.store.read();
  if (pending !== undefined) return recoverSale(context, pending);
  if (operation !== undefined) return recoverOperation(context, operation);
  if (answerDue === undefined) return undefined;
  return { header: answerHeader(answerDue.header), body: answerDue.body };
}

/** Pause between attempts, as a multiple of the enquiry pause. */
const retryFactor = 5;

/**
 * Repeats the recovery while the disk is full. No new service starts during this time, because its outcome could not
 * be stored.
 */
export async function retryUntilRecovered(
  context: ServiceContext,
  recoverOnce: () => Promise<void>,
): Promise<void> {
  const { power, sleep, times, emit } = context;
  const powerLoss = power();
  let isReported = false;
  while (!powerLoss.aborted) {
    try {
      await recoverOnce();
      return;
    } catch (error) {
      if (powerLoss.aborted) return;
      if (!isReported) emit(errorEvent(error));
      isReported = true;
    }
    await sleep(times.enquiryMs * retryFactor, powerLoss).catch(() => powerLoss.aborted);
  }
}

const isOpen = ({ answer, refused, dropped }: ServiceRecord): boolean =>
  answer === undefined && refused !== true && dropped !== true;

/** Failure answers to services that the restart ended before they had an effect. */
export function abandonedAnswers(
  context: ServiceContext,
  services: readonly ServiceRecord[],
  pending: Pick<PendingSale, 'header'> | undefined,
): AnyMessage[] {
  const { poiId: POIID } = context;
  return services
    .filter((record) => {
      const { SaleID, ServiceID } = pending?.header ?? {};
      const isPending = record.saleId === SaleID && record.serviceId === ServiceID;
      return isOpen(record) && !isPending;
    })
    .flatMap(({ saleId: SaleID, serviceId: ServiceID, category: MessageCategory }) => {
      const header: Header = {
        MessageClass: 'Service' as const,
        MessageType: 'Request' as const,
        MessageCategory,
        SaleID,
        ServiceID,
        POIID,
      };
      const text = 'terminal_restarted';
      return failureAnswer(context, { header }, 'Aborted', text) ?? [];
    });
}
