/** The token of a provider: requested once and kept until shortly before it expires. */
import { problemText, readProblemBody } from '@switchyard/contract';
import type { Clock } from './clock.ts';
import type { Transport } from './http-transport.ts';

export type AccessTokens = {
  /** @throws Error if no token is given; its text never contains a secret */
  get(): Promise<string>;
  /** Discards a token that the platform refused; the next `get` requests a new one. */
  invalidate(token: string): void;
};

const renewBeforeExpiryMs = 30_000;
const minLifetimeMs = 1_000;

type AccessTokensOptions = {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly post: Transport;
  readonly clock: Clock;
};

function parseToken(body: string): { token: string; lifeMs: number } | undefined {
  try {
    const { access_token: token, expires_in: seconds } = JSON.parse(body) as Record<
      string,
      unknown
    >;
    if (typeof token !== 'string' || token === '') return undefined;
    return { token, lifeMs: typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : 0 };
  } catch {
    return undefined;
  }
}

export function createAccessTokens({
  tokenUrl,
  clientId,
  clientSecret,
  post,
  clock,
}: AccessTokensOptions): AccessTokens {
  let cached: { token: string; renewAt: number } | undefined;
  let pendingRequest: Promise<string> | undefined;

  async function requestToken(): Promise<string> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
    const requestedAt = clock.now();
    const { status, body } = await post({
      url: tokenUrl,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: form.toString(),
    });
    const answer = status === 200 ? parseToken(body) : undefined;
    if (answer === undefined) {
      const reason = problemText(status, readProblemBody(body));
      throw new Error(`the token request failed: status ${reason}`);
    }
    cached = {
      token: answer.token,
      renewAt: requestedAt + Math.max(answer.lifeMs - renewBeforeExpiryMs, minLifetimeMs),
    };
    return answer.token;
  }

  return {
    get() {
      if (cached !== undefined && cached.renewAt > clock.now())
        return Promise.resolve(cached.token);
      pendingRequest ??= requestToken().finally(() => {
        pendingRequest = undefined;
      });
      return pendingRequest;
    },
    invalidate(token) {
      if (cached?.token === token) cached = undefined;
    },
  };
}
