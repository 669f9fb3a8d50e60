// Tells by HTTP what the connector cannot do, in its own words.
import {
  connectorFaults,
  defined,
  isErrorCode,
  Refusal,
  type RetailMessage,
  refuse,
} from '@switchyard/contract';
import { Fault } from '../faults.ts';
import { messagePath } from './addresses.ts';

const usualRetryMs = 5000;

/** The same word where there is a code of it; what only a connection can meet is a restart. */
export function refusalFrom({ code, extra }: Fault): Refusal {
  const { summary, retryable } = connectorFaults[code];
  const { retryAfterSeconds, level } = extra;
  const retryAfterMs = retryAfterSeconds === undefined ? usualRetryMs : retryAfterSeconds * 1000;
  // A token of an application that was disabled a moment ago.
  if (code === 'unauthorized') return new Refusal('token_invalid', summary);
  return new Refusal(isErrorCode(code) ? code : 'shutting_down', summary, {
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

/** Of a session that ended before the answer came: nobody knows what the terminal has done. */
export function refusalOfEnd(word: string): Refusal {
  if (word === 'device_disconnected') {
    return new Refusal(word, 'The connection of the terminal broke before its answer.');
  }
  return new Refusal('session_lost', 'The session ended before the answer of the terminal.', {
    extensions: { reason: word },
  });
}

/** Of a ServiceID that was used: whether money has moved is told by the message that came first. */
export function refuseReused(first: RetailMessage | undefined): never {
  if (first === undefined) {
    return refuse('service_id_reused', 'The terminal was sent this ServiceID before.');
  }
  const { messageId, saleId, serviceId, status } = first;
  const message = { messageId, saleId, serviceId, status, address: messagePath(first) };
  return refuse('service_id_reused', 'This was sent before: read what became of it.', {
    extensions: { message },
  });
}

export const refuseUnknownDevice = (): never =>
  refuse('device_unknown', connectorFaults.device_unknown.summary);
