/** After a reload in the middle of a service: what became of it, and the answer that the till never got. */
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  answerHeader,
  failureTo,
  type Header,
  passOnReason,
  type ServiceRecord,
} from '@switchyard/nexo';
import { approvedAnswer, reversedAnswer } from './payment-responses.ts';
import { conditionOf, confirmed, findOut, takeBack } from './sale-outcome.ts';
import type { Inside, Reply } from './service-context.ts';
import { ServiceFault } from './service-error.ts';
import { operated } from './services.ts';
import type { Pending } from './terminal-storage.ts';

const nothingTaken = 'terminal_restarted';

async function replyTo(inside: Inside, pending: Pending): Promise<Reply> {
  if (pending.kind === 'Reversal') {
    return reversedAnswer(pending.original, await operated(inside, pending));
  }
  const { clientTransactionId, until, saleData } = pending;
  const outcome = await findOut(inside, pending);
  if (outcome.kind === 'NotTaken') throw new ServiceFault('Aborted', nothingTaken);
  if (outcome.kind === 'Unreachable') {
    await takeBack(inside, { clientTransactionId, until, reason: 'Timeout' });
    throw new ServiceFault('UnreachableHost', 'outcome_unknown_reversed', clientTransactionId);
  }
  const { transaction } = outcome;
  if (transaction.approved && pending.isSignatureDue) {
    await takeBack(inside, { clientTransactionId, until, reason: 'CustomerCancel' });
    throw new ServiceFault('Aborted', 'signature_missing_reversed', transaction.transactionId);
  }
  if (transaction.approved) return approvedAnswer(saleData, await confirmed(inside, transaction));
  const { response, state, transactionId } = transaction;
  throw new ServiceFault(
    conditionOf(transaction),
    passOnReason(response?.reason ?? state),
    transactionId,
  );
}

/** The answer to what was pending; the till gets it by TransactionStatus. */
export async function answerAfterRestart(
  inside: Inside,
  pending: Pending,
): Promise<AnyMessage | undefined> {
  const { header } = pending;
  try {
    return { header: answerHeader(header), body: await replyTo(inside, pending) };
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    const body = pending.kind === 'Sale' ? { SaleData: pending.saleData } : {};
    const { condition, additional, transactionId } = error;
    const at = new Date(inside.now()).toISOString();
    const facts = { at, ...defined({ additional, transactionId }) };
    return failureTo({ header, body }, condition, facts);
  }
}

const isOpen = ({ answer, refused, dropped }: ServiceRecord): boolean =>
  answer === undefined && refused !== true && dropped !== true;

/** Answers to services that a reload has ended before anything was asked of the platform. */
export function abandoned(inside: Inside): AnyMessage[] {
  const { dialogue, pending } = inside.keeper.read();
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
