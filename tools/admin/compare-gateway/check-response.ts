// Checks a recorded response as the running platform does, and gives the reason if it would not be accepted.
import { defined, responseCodeFacts } from '@switchyard/contract';
import type { Message } from '@switchyard/iso8583';
import { isAmbiguousDecline } from '../../../packages/server/src/acquiring/index.ts';
import type { ProductionMessages } from './production-messages.ts';

/** The outcome of a request by its response. After `Refused` the platform reverses a sale. */
export type ResponseCheck =
  | {
      readonly result: 'Approved' | 'Declined';
      /** The number that the host assigned (DE37). */
      readonly retrievalReference?: string;
    }
  | { readonly result: 'Refused'; readonly reason: string };

const refused = (reason: string): ResponseCheck => ({ result: 'Refused', reason });

/** The first field that alone makes a response invalid: without it or with the value of the request it is accepted. */
function findWrongField(
  production: ProductionMessages,
  request: Message,
  response: Message,
  currency: string,
): number | undefined {
  return production.comparedFields.find((field) =>
    [request.fields[field], undefined].some((value) => {
      const fields = { ...response.fields, [field]: value };
      const { outcome } = production.outcome(request, { ...response, fields }, currency);
      return outcome !== 'Unknown';
    }),
  );
}

/** @param request the canonical request; `currency` is alphabetic */
export function checkResponse(
  production: ProductionMessages,
  { request, currency }: { request: Message; currency: string },
  response: Message,
): ResponseCheck {
  const { 39: code } = response.fields;
  if (code === undefined) return refused('the response has no response code (39)');
  const outcome = production.outcome(request, response, currency);
  if (isAmbiguousDecline(outcome))
    return refused(
      responseCodeFacts(code).known
        ? `the response code ${code} says that the host may have booked the payment`
        : `the response code ${code} is in no table (responseCodes)`,
    );
  if (outcome.outcome === 'Approved' || outcome.outcome === 'Declined') {
    const { retrievalReference } = outcome;
    return { result: outcome.outcome, ...defined({ retrievalReference }) };
  }
  const field = findWrongField(production, request, response, currency);
  return refused(
    field === undefined
      ? 'the message type or several fields do not match the request'
      : `field ${field} does not match the request`,
  );
}
