// After a restart in the middle of a service: what became of it, and the answer that it never got.
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
import {
  approvedSaleAnswer,
  operationAnswer,
  operationTotals,
} from '../services/payment-service.ts';
import { reversalAnswer } from '../services/reversal-service.ts';
import { completeOperation } from '../services/transaction-operations.ts';
import type { PendingBatch, PendingOperation, PendingSale } from '../storage/terminal-store.ts';

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

/** The answer to what was pending; the till gets it by TransactionStatus. */
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
  return { header: answerHeader(header), body: approvedSaleAnswer(saleData, transaction) };
}

/** The answer to an operation: asked again under its own identifier, it is the same one. */
async function recoverOperation(
  context: ServiceContext,
  pending: PendingOperation,
): Promise<AnyMessage | undefined> {
  const { header, saleData, type = 'Normal', id, verb } = pending;
  // In a batch the header does not tell.
  const isReversal = saleData === undefined;
  try {
    const done = await completeOperation(context, pending, { wasAsked: true });
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

/** What was done is told, each in its place; what was not begun is left out, and is not begun any more. */
function batchAnswer(
  context: ServiceContext,
  { header, wanted, performed }: PendingBatch,
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

/** The answer to the service that had done something, or may have, when the terminal went down. */
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

/** In pauses between two enquiries. */
const retryFactor = 5;

/**
 * Finds out what was begun, again and again while the disk does not take it. Nothing new is begun meanwhile, since
 * nobody could write down what became of it.
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

/** Answers to services that a restart has ended before anything was done. */
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
