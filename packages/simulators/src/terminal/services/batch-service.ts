// Batch: performs the requests one after the other, and stores each result before the next request.
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

/** The entry of the batch answer for one request. */
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

/** A failed request gets its own entry, and the batch continues. */
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
    // After a power loss the restarted terminal owns the progress.
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
