/** Sends a message to the terminal through the Retail API and returns the response. */

import { isProblem } from '../../../../api/api-errors.ts';
import { fetchResponse } from '../../../../api/client.ts';

/**
 * `Unknown`: the terminal may have received the message. `NotSent`: the terminal did not receive
 * it.
 */
export type DeliveryResult =
  | { readonly kind: 'Answered'; readonly text: string }
  /** The message has no response, such as an abort. */
  | { readonly kind: 'Taken' }
  | { readonly kind: 'NotSent' | 'Unknown'; readonly fault: unknown };

export type SendToTerminal = (text: string) => Promise<DeliveryResult>;

type Where = { readonly tsn: string; readonly deviceId: string; readonly posId: string };

/** Longer than the time limit of the platform, so that the platform reports the timeout. */
const answerLimitMs = 165_000;
const waitSeconds = 2;

/**
 * @example const send = createTerminalSender({ tsn, deviceId, posId }); const delivery = await
 * send(writeMessage(message));
 */
export function createTerminalSender({ tsn, deviceId, posId }: Where): SendToTerminal {
  return async (text) => {
    try {
      const path = `/retail/v1/devices/${encodeURIComponent(tsn)}/sync`;
      const answer = await fetchResponse('POST', path, {
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
