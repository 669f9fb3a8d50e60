/** What the till asks of the Retail API: a message to the terminal, and its answer. */

import { isProblem } from '../../../../api/api-errors.ts';
import { callRaw } from '../../../../api/client.ts';

/** `Unknown`: it may have arrived; `NotSent`: the terminal never had it. */
export type DeliveryResult =
  | { readonly kind: 'Answered'; readonly text: string }
  /** It has no answer, such as an abort. */
  | { readonly kind: 'Taken' }
  | { readonly kind: 'NotSent' | 'Unknown'; readonly fault: unknown };

export type SendToTerminal = (text: string) => Promise<DeliveryResult>;

type Where = { readonly tsn: string; readonly deviceId: string; readonly posId: string };

/** Longer than the platform waits for a terminal, so that it is the one that tells. */
const answerLimitMs = 165_000;
const waitSeconds = 2;

/** @example const send = sendTo({ tsn, deviceId, posId }); const told = await send(writeMessage(message)); */
export function sendTo({ tsn, deviceId, posId }: Where): SendToTerminal {
  return async (text) => {
    try {
      const path = `/retail/v1/devices/${encodeURIComponent(tsn)}/sync`;
      const answer = await callRaw('POST', path, {
        query: { posId, waitSeconds },
        headers: { 'x-switchyard-till': deviceId },
        file: { content: new Blob([text]), type: 'application/json' },
        limitMs: answerLimitMs,
      });
      const responseText = await answer.text();
      return responseText === '' ? { kind: 'Taken' } : { kind: 'Answered', text: responseText };
    } catch (fault) {
      const isSure = isProblem(fault) && fault.problem.outcome === 'NotProcessed';
      return { kind: isSure ? 'NotSent' : 'Unknown', fault };
    }
  };
}
