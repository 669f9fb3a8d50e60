/** Completes a service that a reload interrupted, and builds the missing response. */
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  answerHeader,
  failureTo,
  type Header,
  passOnReason,
  type ServiceRecord,
} from '@switchyard/nexo';
import { approvedPaymentResponse, reversalResponse } from './payment-responses.ts';
import { confirmSale, errorConditionOf, findSaleOutcome, reverseSale } from './sale-outcome.ts';
import type { ServiceContext, ServiceResponse } from './service-context.ts';
import { ServiceError } from './service-error.ts';
import { performReversal } from './services.ts';
import type { PendingService } from './terminal-storage.ts';

const nothingTaken = 'terminal_restarted';

async function replyTo(inside: ServiceContext, pending: PendingService): Promise<ServiceResponse> {
  if (pending.kind === 'Reversal') {
    return reversalResponse(pending.original, await performReversal(inside, pending));
  }
  const { clientTransactionId, until, saleData } = pending;
  const outcome = await findSaleOutcome(inside, pending);
  if (outcome.kind === 'NotTaken') throw new ServiceError('Aborted', nothingTaken);
  if (outcome.kind === 'Unreachable') {
    await reverseSale(inside, { clientTransactionId, until, reason: 'Timeout' });
    throw new ServiceError('UnreachableHost', 'outcome_unknown_reversed', clientTransactionId);
  }
  const { transaction } = outcome;
  if (transaction.approved && pending.isSignatureDue) {
    await reverseSale(inside, { clientTransactionId, until, reason: 'CustomerCancel' });
    throw new ServiceError('Aborted', 'signature_missing_reversed', transaction.transactionId);
  }
  if (transaction.approved)
    return approvedPaymentResponse(saleData, await confirmSale(inside, transaction));
  const { response, state, transactionId } = transaction;
  throw new ServiceError(
    errorConditionOf(transaction),
    passOnReason(response?.reason ?? state),
    transactionId,
  );
}

/** The response to the pending service; the point of sale gets it by TransactionStatus. */
export async function answerAfterRestart(
  inside: ServiceContext,
  pending: PendingService,
): Promise<AnyMessage | undefined> {
  const { header } = pending;
  try {
    return { header: answerHeader(header), body: await replyTo(inside, pending) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const body = pending.kind === 'Sale' ? { SaleData: pending.saleData } : {};
    const { condition, additional, transactionId } = error;
    const at = new Date(inside.now()).toISOString();
    const facts = { at, ...defined({ additional, transactionId }) };
    return failureTo({ header, body }, condition, facts);
  }
}

const isOpen = ({ answer, refused, dropped }: ServiceRecord): boolean =>
  answer === undefined && refused !== true && dropped !== true;

/** Responses to services that a reload interrupted before the platform got a request. */
export function abandonedAnswers(inside: ServiceContext): AnyMessage[] {
  const { dialogue, pending } = inside.storage.read();
  const at = new Date(inside.now()).toISOString();
  return dialogue.services
    .filter((record) => {
      const { SaleID, ServiceID } = pending?.header ?? {};
      return isOpen(record) && !(record.saleId === SaleID && record.serviceId === ServiceID);
    })
    .flatMap(({ saleId: SaleID, serviceId: ServiceID, category: MessageCategory }) => {
      const header: Header = {
        MessageClass: 'Service' as const,
        MessageType: 'Request' as const,
        MessageCategory,
        SaleID,
        ServiceID,
        POIID: inside.tsn,
      };
      return failureTo(header, 'Aborted', { at, additional: nothingTaken }) ?? [];
    });
}
