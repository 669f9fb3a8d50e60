// Creates the errors of the Retail API about sessions and messages.
import {
  connectorFaults,
  ProblemError,
  type RetailMessage,
  throwProblem,
} from '@switchyard/contract';
import { messagePath } from './message-url.ts';

/** For a session that ended before the answer: the outcome at the terminal is unknown. */
export function sessionEndProblem(reason: string): ProblemError {
  if (reason === 'device_disconnected') {
    return new ProblemError(
      reason,
      'The terminal disconnected before it answered. The outcome is unknown: send a TransactionStatus request.',
    );
  }
  return new ProblemError(
    'session_lost',
    'The session ended before the terminal answered. The outcome is unknown: send a TransactionStatus request.',
    {
      extensions: { reason },
    },
  );
}

/** For a ServiceID that was used before: the first message shows if money has moved. */
export function throwServiceIdReused(first: RetailMessage | undefined): never {
  if (first === undefined) {
    return throwProblem(
      'service_id_reused',
      'A message with this ServiceID was already sent to the terminal.',
    );
  }
  const { messageId, saleId, serviceId, status } = first;
  const message = { messageId, saleId, serviceId, status, address: messagePath(first) };
  return throwProblem(
    'service_id_reused',
    'A message with this ServiceID was already sent. Read its result at the address in this response.',
    {
      extensions: { message },
    },
  );
}

export const throwUnknownDevice = (): never =>
  throwProblem('device_unknown', connectorFaults.device_unknown.summary);
