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
import { type Inside, ServiceFault, succeeded } from '../context/service-context.ts';
import { faultOf } from '../context/terminal-events.ts';
import { book } from '../payments/record-totals.ts';
import { reverse } from '../payments/reversal-and-upload-queue.ts';
import { conditionOf, findOut } from '../payments/sale-outcome.ts';
import { performedOf } from '../services/batch-service.ts';
import { approvedAnswer, bookedOperation, operatedAnswer } from '../services/payment-service.ts';
import { reversedAnswer } from '../services/reversal-service.ts';
import { outcomeOf } from '../services/transaction-operations.ts';
import type { Pending, PendingBatch, PendingOperation } from '../storage/terminal-store.ts';

function failed(
  inside: Inside,
  { header, saleData }: Pick<PendingOperation, 'header' | 'saleData'>,
  condition: Parameters<typeof failureTo>[1],
  additional: RefusalReason | undefined,
): AnyMessage | undefined {
  const request = { header, body: defined({ SaleData: saleData }) };
  const at = new Date(inside.now()).toISOString();
  return failureTo(request, condition, { at, ...defined({ additional }) });
}

/** The answer to what was pending; the till gets it by TransactionStatus. */
async function recovered(inside: Inside, pending: Pending): Promise<AnyMessage | undefined> {
  const { givenBack } = pending;
  if (givenBack !== undefined) {
    return failed(inside, pending, givenBack.condition, passOnReason(givenBack.why));
  }
  const known = await findOut(inside, pending);
  if (known.kind === 'NotTaken') {
    return failed(inside, pending, 'Aborted', 'terminal_restarted');
  }
  if (known.kind === 'Unreachable') {
    const { clientTransactionId, until, merchant } = pending;
    const fault = new ServiceFault('UnreachableHost', 'outcome_unknown_reversed');
    reverse(inside, { clientTransactionId, until, merchant, reason: 'Timeout' }, fault);
    return failed(inside, pending, fault.condition, fault.additional);
  }
  const { transaction } = known;
  const { header, saleData, currency, kind } = pending;
  if (!transaction.approved) {
    return failed(
      inside,
      pending,
      conditionOf(transaction),
      passOnReason(transaction.response?.reason ?? ''),
    );
  }
  const type = kind === 'Reservation' ? 'FirstReservation' : 'Debit';
  const line = { type, brand: transaction.card?.scheme ?? '', currency, saleId: header.SaleID };
  const { authorizedAmount: amount } = transaction;
  if (pending.isBooked !== true) book(inside, { ...line, amount });
  return { header: answerHeader(header), body: approvedAnswer(saleData, transaction) };
}

/** The answer to an operation: asked again under its own identifier, it is the same one. */
async function recoveredOperation(
  inside: Inside,
  pending: PendingOperation,
): Promise<AnyMessage | undefined> {
  const { header, saleData, type = 'Normal', id, verb } = pending;
  // In a batch the header does not tell.
  const isReversal = saleData === undefined;
  try {
    const done = await outcomeOf(inside, pending, { wasAsked: true });
    const line = bookedOperation(done, verb);
    const booked = isReversal ? { ...line, type: 'ReverseDebit' } : line;
    if (pending.isBooked !== true) book(inside, { ...booked, saleId: header.SaleID });
    if (!isReversal) {
      return { header: answerHeader(header), body: operatedAnswer(done, saleData, type) };
    }
    const TimeStamp = done.transaction.createdAt;
    const original = { POITransactionID: { TransactionID: id, TimeStamp } };
    return { header: answerHeader(header), body: reversedAnswer(done, original) };
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    return failed(inside, pending, error.condition, error.additional);
  }
}

/** What was done is told, each in its place; what was not begun is left out, and is not begun any more. */
function batchAnswer(
  inside: Inside,
  { header, wanted, performed }: PendingBatch,
  last: AnyMessage | undefined,
): AnyMessage | undefined {
  const PerformedTransaction = [...performed, ...(last ? [performedOf(last.body)] : [])];
  if (wanted > 0 && PerformedTransaction.length === 0) {
    return failed(inside, { header }, 'Aborted', 'terminal_restarted');
  }
  const Response: Structure<'Response'> =
    PerformedTransaction.length === wanted
      ? succeeded
      : {
          Result: 'Partial',
          ErrorCondition: 'Aborted',
          AdditionalResponse: additionalResponse('Aborted', 'batch_interrupted'),
        };
  return { header: answerHeader(header), body: { Response, PerformedTransaction } };
}

/** The answer to the service that had done something, or may have, when the terminal went down. */
export async function answerAfterRestart(inside: Inside): Promise<AnyMessage | undefined> {
  const answer = await openAnswer(inside);
  const { batch } = inside.keeper.read();
  return batch === undefined ? answer : batchAnswer(inside, batch, answer);
}

async function openAnswer(inside: Inside): Promise<AnyMessage | undefined> {
  const { pending, operation, answerDue } = inside.keeper.read();
  if (pending !== undefined) return recovered(inside, pending);
  if (operation !== undefined) return recoveredOperation(inside, operation);
  if (answerDue === undefined) return undefined;
  return { header: answerHeader(answerDue.header), body: answerDue.body };
}

/** In pauses between two enquiries. */
const patience = 5;

/**
 * Finds out what was begun, again and again while the disk does not take it. Nothing new is begun meanwhile, since
 * nobody could write down what became of it.
 */
export async function untilFoundOut(
  inside: Inside,
  findOutOnce: () => Promise<void>,
): Promise<void> {
  const { power, sleep, times, tell } = inside;
  const off = power();
  let isTold = false;
  while (!off.aborted) {
    try {
      await findOutOnce();
      return;
    } catch (error) {
      if (off.aborted) return;
      if (!isTold) tell(faultOf(error));
      isTold = true;
    }
    await sleep(times.enquiry * patience, off).catch(() => off.aborted);
  }
}

const isOpen = ({ answer, refused, dropped }: ServiceRecord): boolean =>
  answer === undefined && refused !== true && dropped !== true;

/** Answers to services that a restart has ended before anything was done. */
export function abandoned(
  inside: Inside,
  services: readonly ServiceRecord[],
  pending: Pick<Pending, 'header'> | undefined,
): AnyMessage[] {
  const { poiId: POIID } = inside;
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
      return failed(inside, { header }, 'Aborted', text) ?? [];
    });
}
