/** Sends the request with the session of this browser and returns any response. */

import { defined, type Problem } from '@switchyard/contract';
import { parseProblem } from '../../api/api-errors.ts';
import { fetchResponse } from '../../api/client.ts';
import { nowMs } from '../../session/clock.ts';
import type { BuiltRequest, Header } from './build-request.ts';

/** The page reads at most this number of bytes. */
const readMost = 2_000_000;

export type ReceivedResponse = {
  readonly status: number;
  readonly tookMs: number;
  readonly headers: readonly Header[];
  readonly text: string;
  /** The number of bytes read; less than the total if the response was cut. */
  readonly bytes: number;
  readonly isCut: boolean;
  readonly problem: Problem | undefined;
};

async function readLimited(
  response: Response,
): Promise<Pick<ReceivedResponse, 'text' | 'bytes' | 'isCut'>> {
  const reader = response.body?.getReader();
  if (reader === undefined) return { text: '', bytes: 0, isCut: false };
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), bytes, isCut: false };
    bytes += value.byteLength;
    text += decoder.decode(value, { stream: true });
    if (bytes < readMost) continue;
    await reader.cancel();
    return { text, bytes, isCut: true };
  }
}

function problemOf(response: Response, text: string): Problem | undefined {
  const type = response.headers.get('content-type') ?? '';
  if (response.ok || !type.startsWith('application/problem+json')) return undefined;
  try {
    const requestId = response.headers.get('x-request-id') ?? '';
    return parseProblem(response.status, JSON.parse(text), requestId);
  } catch {
    return undefined;
  }
}

export async function sendRequest({
  method,
  address,
  headers,
  body,
}: BuiltRequest): Promise<ReceivedResponse> {
  const begun = nowMs();
  const response = await fetchResponse(method, address, {
    headers: Object.fromEntries(headers),
    acceptsErrorResponses: true,
    ...defined({
      file: body === undefined ? undefined : { content: new Blob([body.text]), type: body.type },
    }),
  });
  const read = await readLimited(response);
  return {
    status: response.status,
    tookMs: nowMs() - begun,
    ...read,
    headers: [...response.headers],
    problem: problemOf(response, read.text),
  };
}
