/** Sends a call with the session of this browser, and keeps what came back, refusal or not. */

import { defined, type Problem } from '@switchyard/contract';
import { problemFrom } from '../../api/api-errors.ts';
import { callRaw } from '../../api/client.ts';
import { nowMs } from '../../session/clock.ts';
import type { Header, Request } from './build-request.ts';

/** What is longer is for programs: the page shows its beginning. */
const readMost = 2_000_000;

export type Answered = {
  readonly status: number;
  readonly tookMs: number;
  readonly headers: readonly Header[];
  readonly text: string;
  /** Bytes that were read; all of them unless it was cut. */
  readonly bytes: number;
  readonly isCut: boolean;
  readonly problem: Problem | undefined;
};

async function readSome(response: Response): Promise<Pick<Answered, 'text' | 'bytes' | 'isCut'>> {
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
    return problemFrom(response.status, JSON.parse(text), requestId);
  } catch {
    return undefined;
  }
}

export async function send({ method, address, headers, body }: Request): Promise<Answered> {
  const begun = nowMs();
  const response = await callRaw(method, address, {
    headers: Object.fromEntries(headers),
    takesRefusals: true,
    ...defined({
      file: body === undefined ? undefined : { content: new Blob([body.text]), type: body.type },
    }),
  });
  const read = await readSome(response);
  return {
    status: response.status,
    tookMs: nowMs() - begun,
    ...read,
    headers: [...response.headers],
    problem: problemOf(response, read.text),
  };
}
