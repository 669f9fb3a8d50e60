/** Sends events of payments to the platform: one try at a time, and what became of it. */
import type { ProviderEvent } from '@switchyard/contract';
import { type Clock, systemClock } from './clock.ts';
import { createTokens } from './tokens.ts';
import {
  createTransport,
  demandSafeUrl,
  type PlatformAnswer,
  type Transport,
} from './transport.ts';

export type { PlatformAnswer, PlatformRequest, Transport } from './transport.ts';

/**
 * How to reach the platform.
 *
 * @example
 * const options: EventsClientOptions = {
 *   baseUrl: 'https://pay.example', tokenUrl: 'https://pay.example/oauth2/v1/acme/token',
 *   clientId: 'acme-provider', clientSecret: process.env.CLIENT_SECRET,
 * };
 */
export type EventsClientOptions = {
  /** The platform: a token is never sent to another origin, whatever a call says. */
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A certificate authority in PEM, where the platform's is none that node knows. */
  readonly ca?: string | Buffer;
  /** 10,000 where it is left out. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** Left out: `node:https` with kept connections. */
  readonly transport?: Transport;
};

/**
 * What became of a try. `Acknowledged`: the platform has it, durably, and it must not be sent again.
 * `Refused`: it never will, and a repetition changes nothing. `Unsent`: to be tried again.
 *
 * @example
 * if (result.outcome === 'Unsent') later(event, result.retryAfterMs);
 */
export type SendResult =
  | { readonly outcome: 'Acknowledged'; readonly isDuplicate: boolean }
  | { readonly outcome: 'Refused'; readonly status: number; readonly code?: string }
  | { readonly outcome: 'Unsent'; readonly fault: string; readonly retryAfterMs?: number };

/**
 * Sends events.
 *
 * @example
 * const client: EventsClient = createEventsClient(options);
 */
export type EventsClient = {
  /** Never throws for what the platform or the network does. */
  send(eventsUrl: string, event: ProviderEvent): Promise<SendResult>;
  /** Lets go of the connections. */
  close(): void;
};

const defaultTimeoutMs = 10_000;
/** Of a configuration that somebody can still mend, or of a moment: the event stays good. */
const passing = new Set([401, 403, 408, 421, 425, 429]);

function codeOf(body: string): string | undefined {
  try {
    const { code } = JSON.parse(body) as { code?: unknown };
    return typeof code === 'string' ? code.slice(0, 64) : undefined;
  } catch {
    return undefined;
  }
}

function resultOf({ status, body, retryAfterSeconds }: PlatformAnswer): SendResult {
  if (status === 200) return { outcome: 'Acknowledged', isDuplicate: true };
  if (status >= 200 && status < 300) return { outcome: 'Acknowledged', isDuplicate: false };
  const code = codeOf(body);
  if (status >= 400 && status < 500 && !passing.has(status)) {
    return { outcome: 'Refused', status, ...(code === undefined ? {} : { code }) };
  }
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
  return {
    outcome: 'Unsent',
    fault: `status ${status}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

const unsent = (error: unknown): SendResult => ({
  outcome: 'Unsent',
  fault: error instanceof Error ? error.message : 'unreachable',
});

/**
 * Makes a client that sends events to the platform, with a token of client credentials that it asks
 * for and renews by itself. It makes one try; {@link createEventQueue} repeats.
 *
 * @param options - where the platform is, and who asks
 * @returns the client; call `close` when it is no longer needed
 * @throws TypeError for an address without TLS that is not of this machine
 * @example
 * ```ts
 * const client = createEventsClient({ baseUrl, tokenUrl, clientId, clientSecret });
 * const result = await client.send(payment.eventsUrl, event);
 * if (result.outcome === 'Acknowledged') forget(event);
 * ```
 */
export function createEventsClient(options: EventsClientOptions): EventsClient {
  const { tokenUrl, clientId, clientSecret, clock = systemClock } = options;
  const { origin } = demandSafeUrl(options.baseUrl, 'baseUrl');
  demandSafeUrl(tokenUrl, 'tokenUrl');
  const own = createTransport({
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
  const post = options.transport ?? own.post;
  const tokens = createTokens({ tokenUrl, clientId, clientSecret, post, clock });

  async function tryOnce(url: string, body: string): Promise<PlatformAnswer & { token: string }> {
    const token = await tokens.get();
    const answer = await post({
      url,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body,
    });
    return { ...answer, token };
  }

  return {
    async send(eventsUrl, event) {
      if (!URL.canParse(eventsUrl) || new URL(eventsUrl).origin !== origin) {
        return { outcome: 'Refused', status: 0, code: 'origin_unknown' };
      }
      const body = JSON.stringify(event);
      try {
        const first = await tryOnce(eventsUrl, body);
        if (first.status !== 401) return resultOf(first);
        // It may have been revoked before its time: another one is tried at once, and once.
        tokens.forget(first.token);
        return resultOf(await tryOnce(eventsUrl, body));
      } catch (error) {
        return unsent(error);
      }
    },
    close: () => own.close(),
  };
}
