/** Sends events of payments to the platform, one attempt for each call, and returns the result. */

import {
  defined,
  type ProviderEvent,
  problemText,
  type QrEventResult,
  qrEventResults,
  readProblemBody,
} from '@switchyard/contract';
import {
  type CachedToken,
  clientCredentialsRequest,
  createTokenCache,
  parseTokenResponse,
  renewBeforeExpiryMs,
  systemClock,
  type TokenCache,
} from '@switchyard/sdk-core';
import type { Clock } from './clock.ts';
import {
  createTransport,
  type PlatformAnswer,
  requireSafeUrl,
  type Transport,
} from './http-transport.ts';

export type { PlatformAnswer, PlatformRequest, Transport } from './http-transport.ts';

/**
 * The address to which events may go. The client sends its token only to the platform's origin,
 * even if a call names another one. `anyOrigin` is for `switchyard provider conformance`, which
 * receives the events itself.
 *
 * @example
 * const place: PlatformAddress = { baseUrl: 'https://pay.example' };
 */
export type PlatformAddress = { readonly baseUrl: string } | { readonly anyOrigin: true };

/**
 * The credentials of the sender: an application of the platform, or an existing token.
 *
 * @example
 * const teller: ProviderCredentials = {
 *   tokenUrl: 'https://pay.example/oauth2/v1/acme/token', clientId: 'acme-provider', clientSecret,
 * };
 */
export type ProviderCredentials =
  | { readonly tokenUrl: string; readonly clientId: string; readonly clientSecret: string }
  | { readonly token: string };

/**
 * How to reach the platform.
 *
 * @example
 * const options: EventsClientOptions = {
 *   baseUrl: 'https://pay.example', tokenUrl: 'https://pay.example/oauth2/v1/acme/token',
 *   clientId: 'acme-provider', clientSecret: process.env.CLIENT_SECRET,
 * };
 */
export type EventsClientOptions = PlatformAddress &
  ProviderCredentials & {
    /** A certificate authority in PEM, if Node does not know the platform's. */
    readonly ca?: string | Buffer;
    /** Default: 10,000. */
    readonly timeoutMs?: number;
    readonly clock?: Clock;
    /** Default: `node:https` with reused connections. */
    readonly transport?: Transport;
  };

/**
 * The result of an attempt.
 *
 * - `Acknowledged`: the platform has stored the event; do not send it again. `result` gives its
 *   effect: `UnderReview` needs a decision by the operator, `Ignored` changed nothing.
 * - `Refused`: the platform will never accept the event. `code` and `detail` come from the
 *   platform.
 * - `Unsent`: send the event again later.
 *
 * @example
 * if (result.outcome === 'Unsent') later(event, result.retryAfterMs);
 */
export type SendResult =
  | {
      readonly outcome: 'Acknowledged';
      readonly isDuplicate: boolean;
      /** Absent if the response has no readable body. */
      readonly result?: QrEventResult;
    }
  | {
      readonly outcome: 'Refused';
      readonly status: number;
      readonly code?: string;
      readonly detail?: string;
    }
  | { readonly outcome: 'Unsent'; readonly fault: string; readonly retryAfterMs?: number };

/**
 * Sends events.
 *
 * @example
 * const client: EventsClient = createEventsClient(options);
 */
export type EventsClient = {
  /** Never throws because of the platform or the network. */
  send(eventsUrl: string, event: ProviderEvent): Promise<SendResult>;
  /** Closes the connections. */
  close(): void;
};

const defaultTimeoutMs = 10_000;
const minTokenUseMs = 1_000;
/**
 * Temporary statuses, or ones that a corrected configuration can resolve; the event stays queued.
 */
const temporaryStatuses = new Set([401, 403, 408, 421, 425, 429]);

function parseEventResult(body: string): QrEventResult | undefined {
  try {
    const { result } = Object(JSON.parse(body)) as { result?: unknown };
    return qrEventResults.find((eventResult) => eventResult === result);
  } catch {
    return undefined;
  }
}

function toSendResult({ status, body, retryAfterSeconds }: PlatformAnswer): SendResult {
  if (status >= 200 && status < 300) {
    const result = parseEventResult(body);
    return { outcome: 'Acknowledged', isDuplicate: status === 200, ...defined({ result }) };
  }
  const problem = readProblemBody(body);
  if (status >= 400 && status < 500 && !temporaryStatuses.has(status)) {
    return { outcome: 'Refused', status, ...problem };
  }
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
  return {
    outcome: 'Unsent',
    fault: `status ${problemText(status, problem)}`,
    ...defined({ retryAfterMs }),
  };
}

const unsentResult = (error: unknown): SendResult => ({
  outcome: 'Unsent',
  fault: error instanceof Error ? error.message : 'unreachable',
});

function createUrlCheck(address: PlatformAddress): (url: string) => boolean {
  if ('anyOrigin' in address) return (url) => URL.canParse(url);
  const { origin } = requireSafeUrl(address.baseUrl, 'baseUrl');
  return (url) => URL.canParse(url) && new URL(url).origin === origin;
}

function createTokenSource(
  credentials: ProviderCredentials,
  post: Transport,
  clock: Clock,
): TokenCache<CachedToken> {
  if ('token' in credentials) {
    const { token } = credentials;
    return { get: async () => ({ token, renewAt: Number.POSITIVE_INFINITY }), invalidate() {} };
  }
  requireSafeUrl(credentials.tokenUrl, 'tokenUrl');
  return createTokenCache(async () => {
    const requestedAt = clock.now();
    const { status, body } = await post(clientCredentialsRequest(credentials));
    const granted = status === 200 ? parseTokenResponse(body) : undefined;
    if (granted === undefined) {
      const reason = problemText(status, readProblemBody(body));
      throw new Error(`the token request failed: status ${reason}`);
    }
    const usableMs = Math.max(granted.lifeMs - renewBeforeExpiryMs, minTokenUseMs);
    return { token: granted.token, renewAt: requestedAt + usableMs };
  }, clock);
}

/**
 * Makes a client that sends events to the platform. It gets a token with client credentials and
 * renews it. It makes one attempt; {@link createEventQueue} repeats.
 *
 * @param options - the address of the platform and the credentials
 * @returns the client; call `close` when it is no longer needed
 * @throws TypeError for an address without TLS that is not on this machine
 * @example
 * ```ts
 * const client = createEventsClient({ baseUrl, tokenUrl, clientId, clientSecret });
 * const result = await client.send(payment.eventsUrl, event);
 * if (result.outcome === 'Acknowledged') forget(event);
 * ```
 */
export function createEventsClient(options: EventsClientOptions): EventsClient {
  const { clock = systemClock } = options;
  const isAllowed = createUrlCheck(options);
  const defaultTransport = createTransport({
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    ...defined({ ca: options.ca }),
  });
  const post = options.transport ?? defaultTransport.post;
  const tokens = createTokenSource(options, post, clock);

  async function postOnce(url: string, body: string): Promise<PlatformAnswer & { token: string }> {
    const { token } = await tokens.get();
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
      if (!isAllowed(eventsUrl)) {
        return { outcome: 'Refused', status: 0, code: 'origin_unknown' };
      }
      const body = JSON.stringify(event);
      try {
        const first = await postOnce(eventsUrl, body);
        if (first.status !== 401) return toSendResult(first);
        // Retries once with a new token, because the platform can revoke a token before it expires.
        tokens.invalidate(first.token);
        return toSendResult(await postOnce(eventsUrl, body));
      } catch (error) {
        return unsentResult(error);
      }
    },
    close: () => defaultTransport.close(),
  };
}
