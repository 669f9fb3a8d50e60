/** Requests access tokens with client credentials, and caches a token until it must be renewed. */
import type { Clock } from './clock.ts';

/** A token is renewed this long before its expiry. */
export const renewBeforeExpiryMs = 30_000;

export type CachedToken = {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly renewAt: number;
};

export type TokenCache<Token extends CachedToken> = {
  /** Shares one request between all callers. */
  get(): Promise<Token>;
  /** Discards a token that the platform refused; the next `get` requests a new one. */
  invalidate(token: string): void;
};

export function createTokenCache<Token extends CachedToken>(
  requestToken: () => Promise<Token>,
  clock: Pick<Clock, 'now'>,
): TokenCache<Token> {
  let cached: Token | undefined;
  let pendingRequest: Promise<Token> | undefined;

  async function renew(): Promise<Token> {
    try {
      cached = await requestToken();
      return cached;
    } finally {
      pendingRequest = undefined;
    }
  }

  return {
    get() {
      if (cached !== undefined && cached.renewAt > clock.now()) return Promise.resolve(cached);
      pendingRequest ??= renew();
      return pendingRequest;
    },
    invalidate(token) {
      if (cached?.token === token) cached = undefined;
    },
  };
}

export type ClientCredentials = {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
};

/** The request of the client credentials grant (RFC 6749, 4.4). */
export function clientCredentialsRequest({ tokenUrl, clientId, clientSecret }: ClientCredentials) {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  });
  return {
    url: tokenUrl,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: form.toString(),
  };
}

export type TokenResponse = { readonly token: string; readonly lifeMs: number };

/** Returns undefined for a response without a token; a missing lifetime is 0. */
export function parseTokenResponse(body: string): TokenResponse | undefined {
  try {
    const { access_token: token, expires_in: seconds } = JSON.parse(body) as {
      access_token?: unknown;
      expires_in?: unknown;
    };
    if (typeof token !== 'string' || token === '') return undefined;
    return { token, lifeMs: typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : 0 };
  } catch {
    return undefined;
  }
}
