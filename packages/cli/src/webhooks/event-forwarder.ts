/** Sends an event to the user's server, signed as the platform signs it, and returns the response. */

import { type IncomingMessage, Agent as PlainAgent, request as sendPlain } from 'node:http';
import { Agent, request as sendSecure } from 'node:https';
import { defined } from '@switchyard/contract';
import type { Clock } from '../runtime/clock.ts';
import type { WebhookSigner } from './webhook-signer.ts';

/** An event of GET /events/v1. */
export type FeedEvent = {
  readonly eventId: string;
  readonly position: number;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
};

export type ForwardResult = { readonly ms: number } & (
  | { readonly status: number; readonly responseText: string }
  | { readonly fault: string }
);

export type Forwarder = { send(event: FeedEvent): Promise<ForwardResult>; close(): void };

type ForwarderOptions = {
  readonly url: URL;
  readonly signer: WebhookSigner;
  readonly clock: Clock;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca?: string | undefined;
  readonly timeoutMs: number;
  readonly stopping: AbortSignal;
};

const responseMaxBytes = 1024;

const networkErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'the host name does not exist',
  ECONNRESET: 'the connection was closed',
  ETIMEDOUT: 'no response in time',
  ABORT_ERR: 'interrupted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate belongs to another host',
};

function describeError(error: NodeJS.ErrnoException & { errors?: unknown }): string {
  // localhost has two addresses: one error contains the errors of both.
  const [first] = Array.isArray(error.errors) ? (error.errors as NodeJS.ErrnoException[]) : [];
  const code = first?.code ?? error.code ?? '';
  return networkErrors[code] ?? (code === '' ? error.message : code);
}

/** The start of the response; the rest is read and dropped. */
async function readStart(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    if (bytes < responseMaxBytes) parts.push(part.subarray(0, responseMaxBytes - bytes));
    bytes += part.length;
  }
  return Buffer.concat(parts).toString('utf8');
}

/** The body of a webhook delivery, which is signed. */
export const webhookBody = ({ type, timestamp, data }: FeedEvent): string =>
  JSON.stringify({ type, timestamp, data });

/** @example const forwarder = createForwarder({ url, signer, clock, headers: {}, timeoutMs, stopping }); */
export function createForwarder(options: ForwarderOptions): Forwarder {
  const { url, signer, clock, timeoutMs, stopping } = options;
  const isSecure = url.protocol === 'https:';
  const ca = defined({ ca: options.ca });
  const agent = isSecure ? new Agent(ca) : new PlainAgent();

  function post(event: FeedEvent): Promise<{ status: number; responseText: string }> {
    const body = webhookBody(event);
    const headers = {
      'user-agent': 'switchyard-cli',
      ...options.headers,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...signer.headers(event.eventId, body, clock.now()),
    };
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
    return new Promise((resolve, reject) => {
      const send = isSecure ? sendSecure : sendPlain;
      const sent = send(url, { method: 'POST', headers, agent, signal }, (response) => {
        readStart(response).then(
          (responseText) => resolve({ status: response.statusCode ?? 0, responseText }),
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
        const responseText = await post(event);
        return { ...responseText, ms: clock.now() - began };
      } catch (error) {
        const ms = clock.now() - began;
        const isLate = ms >= timeoutMs && !stopping.aborted;
        return { fault: isLate ? 'no response in time' : describeError(error as Error), ms };
      }
    },
    close: () => agent.destroy(),
  };
}
