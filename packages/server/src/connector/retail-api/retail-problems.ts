// Converts the faults of the connector to HTTP errors with the same codes.
import {
  connectorFaults,
  defined,
  isErrorCode,
  ProblemError,
  type RetailMessage,
  throwProblem,
} from '@switchyard/contract';
import { Fault } from '../protocol/connector-fault.ts';
import { messagePath } from './message-url.ts';

const usualRetryMs = 5000;

/**
 * Keeps the code if HTTP has it; a fault that only a connection can have becomes `shutting_down`.
 */
export function refusalFrom({ code, extra }: Fault): ProblemError {
  const { summary, retryable } = connectorFaults[code];
  const { retryAfterSeconds, level } = extra;
  const retryAfterMs = retryAfterSeconds === undefined ? usualRetryMs : retryAfterSeconds * 1000;
  // The application of the token was disabled a moment ago.
  if (code === 'unauthorized') return new ProblemError('token_invalid', summary);
  return new ProblemError(isErrorCode(code) ? code : 'shutting_down', summary, {
    ...(retryable ? { retryAfterMs } : {}),
    ...defined({ extensions: level === undefined ? undefined : { level } }),
  });
}

/** @example const state = await translated(() => claims.status(asking, tsn)); */
export async function translated<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Fault ? refusalFrom(error) : error;
  }
}

/** For a session that ended before the answer: the outcome at the terminal is unknown. */
export function refusalOfEnd(word: string): ProblemError {
  if (word === 'device_disconnected') {
    return new ProblemError(word, 'The connection of the terminal broke before its answer.');
  }
  return new ProblemError('session_lost', 'The session ended before the answer of the terminal.', {
    extensions: { reason: word },
  });
}

/** For a ServiceID that was used before: the first message shows if money has moved. */
export function refuseReused(first: RetailMessage | undefined): never {
  if (first === undefined) {
    return throwProblem('service_id_reused', 'The terminal was sent this ServiceID before.');
  }
  const { messageId, saleId, serviceId, status } = first;
  const message = { messageId, saleId, serviceId, status, address: messagePath(first) };
  return throwProblem('service_id_reused', 'This was sent before: read what became of it.', {
    extensions: { message },
  });
}

export const refuseUnknownDevice = (): never =>
  throwProblem('device_unknown', connectorFaults.device_unknown.summary);
