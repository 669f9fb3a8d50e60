/** Hands one event to a server of this machine or nearby, as the platform would, and tells what it said. */

import { type IncomingMessage, Agent as PlainAgent, request as sendPlain } from 'node:http';
import { Agent, request as sendSecure } from 'node:https';
import { defined } from '@switchyard/contract';
import type { Clock } from '../runtime/clock.ts';
import type { WebhookSigner } from './webhook-signer.ts';

/** As the feed lists it. */
export type FeedEvent = {
  readonly eventId: string;
  readonly position: number;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
};

export type Forwarded = { readonly ms: number } & (
  | { readonly status: number; readonly answer: string }
  | { readonly fault: string }
);

export type Forwarder = { send(event: FeedEvent): Promise<Forwarded>; close(): void };

type Deps = {
  readonly url: URL;
  readonly signer: WebhookSigner;
  readonly clock: Clock;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca?: string | undefined;
  readonly timeoutMs: number;
  readonly stopping: AbortSignal;
};

const answerShownBytes = 1024;

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the name is not known',
  ECONNRESET: 'the connection was broken off',
  ETIMEDOUT: 'no answer in time',
  ABORT_ERR: 'interrupted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate belongs to another host',
};

function faultOf(error: NodeJS.ErrnoException & { errors?: unknown }): string {
  // localhost has two addresses: the faults of both come in one.
  const [first] = Array.isArray(error.errors) ? (error.errors as NodeJS.ErrnoException[]) : [];
  const code = first?.code ?? error.code ?? '';
  return faults[code] ?? (code === '' ? error.message : code);
}

/** The start of the answer; the rest is read away. */
async function startOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    if (bytes < answerShownBytes) parts.push(part.subarray(0, answerShownBytes - bytes));
    bytes += part.length;
  }
  return Buffer.concat(parts).toString('utf8');
}

/** The bytes that are signed: those of a delivery. */
export const bodyOf = ({ type, timestamp, data }: FeedEvent): string =>
  JSON.stringify({ type, timestamp, data });

/** @example const forwarder = createForwarder({ url, signer, clock, headers: {}, timeoutMs, stopping }); */
export function createForwarder(deps: Deps): Forwarder {
  const { url, signer, clock, timeoutMs, stopping } = deps;
  const isSecure = url.protocol === 'https:';
  const ca = defined({ ca: deps.ca });
  const agent = isSecure ? new Agent(ca) : new PlainAgent();

  function post(event: FeedEvent): Promise<{ status: number; answer: string }> {
    const body = bodyOf(event);
    const headers = {
      'user-agent': 'switchyard-cli',
      ...deps.headers,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...signer.headers(event.eventId, body, clock.now()),
    };
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
    return new Promise((resolve, reject) => {
      const send = isSecure ? sendSecure : sendPlain;
      const sent = send(url, { method: 'POST', headers, agent, signal }, (response) => {
        startOf(response).then(
          (answer) => resolve({ status: response.statusCode ?? 0, answer }),
          reject,
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  return {
    async send(event) {
      const began = clock.now();
      try {
        const answer = await post(event);
        return { ...answer, ms: clock.now() - began };
      } catch (error) {
        const ms = clock.now() - began;
        const isLate = ms >= timeoutMs && !stopping.aborted;
        return { fault: isLate ? 'no answer in time' : faultOf(error as Error), ms };
      }
    },
    close: () => agent.destroy(),
  };
}
