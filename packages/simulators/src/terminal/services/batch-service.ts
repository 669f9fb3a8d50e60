// Several requests in one: done one after the other, and what is done is remembered before the next is begun.
import { additionalResponse, type Structure } from '@switchyard/nexo';
import {
  type Inside,
  type Reply,
  ServiceFault,
  succeeded,
  type Work,
} from '../context/service-context.ts';
import { nothingBegun } from '../storage/terminal-store.ts';
import { loyalty } from './card-and-account-services.ts';
import { payment } from './payment-service.ts';
import { reversal } from './reversal-service.ts';

type Performed = Structure<'PerformedTransaction'>;

const batchMax = 20;

/** The answer to one of them, in its place. */
export function performedOf(reply: Reply): Performed {
  const { Response, SaleData, POIData, PaymentResult, LoyaltyResult, ReversedAmount } = reply;
  const members = { SaleData, POIData, PaymentResult, LoyaltyResult, ReversedAmount };
  const held = Object.entries(members).filter(([, value]) => value !== undefined);
  return { Response, ...Object.fromEntries(held) } as Performed;
}

async function perform(
  work: Work<'BatchRequest'>,
  inside: Inside,
  one: Structure<'TransactionToPerform'>,
): Promise<Reply> {
  const { PaymentRequest, LoyaltyRequest, ReversalRequest } = one;
  if (PaymentRequest !== undefined) return payment({ ...work, body: PaymentRequest }, inside);
  if (LoyaltyRequest !== undefined) return loyalty({ ...work, body: LoyaltyRequest }, inside);
  if (ReversalRequest !== undefined) return reversal({ ...work, body: ReversalRequest }, inside);
  return {};
}

/** What fails is told in its place, and the rest goes on. */
export async function batch(work: Work<'BatchRequest'>, inside: Inside): Promise<Reply> {
  const { header, body } = work;
  const { keeper } = inside;
  const wanted = body.TransactionToPerform ?? [];
  if (wanted.length > batchMax) throw new ServiceFault('NotAllowed', 'batch_too_large');
  let performed: readonly Performed[] = [];
  const keep = () => {
    // What a restart has found out about it is not written over.
    work.signal.throwIfAborted();
    const begun = { header, wanted: wanted.length, performed };
    keeper.keep({ ...nothingBegun, batch: begun });
  };
  keep();
  for (const one of wanted) {
    let done: Performed;
    try {
      done = performedOf(await perform(work, inside, one));
    } catch (error) {
      if (!(error instanceof ServiceFault)) throw error;
      const { condition: ErrorCondition, additional } = error;
      const AdditionalResponse = additionalResponse(ErrorCondition, additional);
      done = { Response: { Result: 'Failure', ErrorCondition, AdditionalResponse } };
    }
    performed = [...performed, done];
    keep();
  }
  const answer: Structure<'BatchResponse'> = {
    Response: succeeded,
    PerformedTransaction: [...performed],
  };
  return answer;
}
