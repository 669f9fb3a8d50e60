// Several requests in one: done one after the other, and what is done is remembered before the next is begun.
import { additionalResponse, type Structure } from '@switchyard/nexo';
import {
  type ReplyBody,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
  successResponse,
} from '../context/service-context.ts';
import { nothingPending } from '../storage/terminal-store.ts';
import { loyalty } from './card-and-account-services.ts';
import { payment } from './payment-service.ts';
import { reversal } from './reversal-service.ts';

type Performed = Structure<'PerformedTransaction'>;

const batchMax = 20;

/** The answer to one of them, in its place. */
export function performedTransaction(reply: ReplyBody): Performed {
  const { Response, SaleData, POIData, PaymentResult, LoyaltyResult, ReversedAmount } = reply;
  const members = { SaleData, POIData, PaymentResult, LoyaltyResult, ReversedAmount };
  const definedMembers = Object.entries(members).filter(([, value]) => value !== undefined);
  return { Response, ...Object.fromEntries(definedMembers) } as Performed;
}

async function perform(
  call: ServiceCall<'BatchRequest'>,
  context: ServiceContext,
  one: Structure<'TransactionToPerform'>,
): Promise<ReplyBody> {
  const { PaymentRequest, LoyaltyRequest, ReversalRequest } = one;
  if (PaymentRequest !== undefined) return payment({ ...call, body: PaymentRequest }, context);
  if (LoyaltyRequest !== undefined) return loyalty({ ...call, body: LoyaltyRequest }, context);
  if (ReversalRequest !== undefined) return reversal({ ...call, body: ReversalRequest }, context);
  return {};
}

/** What fails is told in its place, and the rest goes on. */
export async function batch(
  call: ServiceCall<'BatchRequest'>,
  context: ServiceContext,
): Promise<ReplyBody> {
  const { header, body } = call;
  const { store } = context;
  const requests = body.TransactionToPerform ?? [];
  if (requests.length > batchMax) throw new ServiceError('NotAllowed', 'batch_too_large');
  let performed: readonly Performed[] = [];
  const saveProgress = () => {
    // What a restart has found out about it is not written over.
    call.signal.throwIfAborted();
    const begun = { header, wanted: requests.length, performed };
    store.update({ ...nothingPending, batch: begun });
  };
  saveProgress();
  for (const one of requests) {
    let done: Performed;
    try {
      done = performedTransaction(await perform(call, context, one));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { condition: ErrorCondition, additional } = error;
      const AdditionalResponse = additionalResponse(ErrorCondition, additional);
      done = { Response: { Result: 'Failure', ErrorCondition, AdditionalResponse } };
    }
    performed = [...performed, done];
    saveProgress();
  }
  const answer: Structure<'BatchResponse'> = {
    Response: successResponse,
    PerformedTransaction: [...performed],
  };
  return answer;
}
