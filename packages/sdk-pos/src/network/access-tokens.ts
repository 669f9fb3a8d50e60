/** Caches the access token of a point of sale until shortly before it expires. */
import { problemText, readProblemBody } from '@switchyard/contract';
import { type Clock, withTimeLimit } from '../support/clock.ts';
import { PosError, timeoutError } from '../support/pos-error.ts';
import { type HttpResponse, type PosTls, post } from './http-post.ts';

/**
 * An access token and its expiry time.
 *
 * @example
 * const token: AccessToken = { token: 'eyJ…', expiresAt: Date.now() + 3_600_000 };
 */
export type AccessToken = {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
};

/**
 * The credentials of the point of sale: its application, or a function that gets tokens, for
 * example from a back end of the merchant that keeps the secret.
 *
 * @example
 * const credentials: PosCredentials = {
 *   tokenUrl: 'https://pay.example/oauth2/v1/acme/token', clientId: 'acme-pos-3', clientSecret,
 * };
 */
export type PosCredentials =
  | { readonly tokenUrl: string; readonly clientId: string; readonly clientSecret: string }
  | { readonly fetchToken: (signal: AbortSignal) => Promise<AccessToken> };

export type AccessTokens = {
  /** @throws PosError of kind `Transport`; its text never contains a secret */
  get(): Promise<AccessToken>;
  /**
   * Discards a token that the platform refused or that expires soon; `get` then requests a new one.
   */
  invalidate(token: string): void;
};

type AccessTokensOptions = {
  readonly credentials: PosCredentials;
  readonly tls: PosTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
};

/** How long before its expiry a token is no longer used. */
export const renewBeforeExpiryMs = 30_000;
const secondMs = 1000;
const answerBytesMax = 65_536;
const lastStatusOfClient = 499;
const tooManyRequests = 429;

/** Converts a response without a token to an error, also if its status is a success. */
function tokenError({ status, body, retryAfterMs }: HttpResponse): PosError {
  const problem = readProblemBody(body);
  return new PosError(
    'Transport',
    `the token request failed: status ${problemText(status, problem)}`,
    {
      code: problem.code ?? 'token_refused',
      status,
      retryable: status > lastStatusOfClient || status === tooManyRequests,
      retryAfterMs,
    },
  );
}

function parseToken(body: string, requestedAt: number): AccessToken | undefined {
  try {
    const { access_token: token, expires_in: seconds } = JSON.parse(body) as {
      access_token?: unknown;
      expires_in?: unknown;
    };
    if (typeof token !== 'string' || token === '') return undefined;
    const lifeMs = typeof seconds === 'number' && seconds > 0 ? seconds * secondMs : 0;
    return { token, expiresAt: requestedAt + lifeMs };
  } catch {
    return undefined;
  }
}

export function createAccessTokens({
  credentials,
  tls,
  timeoutMs,
  clock,
}: AccessTokensOptions): AccessTokens {
  let currentToken: AccessToken | undefined;
  let pendingRequest: Promise<AccessToken> | undefined;

  async function requestToken(signal: AbortSignal): Promise<AccessToken> {
    if ('fetchToken' in credentials) return credentials.fetchToken(signal);
    const { tokenUrl, clientId, clientSecret } = credentials;
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
    const requestedAt = clock.now();
    const response = await post({
      url: tokenUrl,
      tls,
      signal,
      bytesMax: answerBytesMax,
      body: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    });
    const token = response.status === 200 ? parseToken(response.body, requestedAt) : undefined;
    if (token === undefined) throw tokenError(response);
    return token;
  }

  async function requestTokenInTime(): Promise<AccessToken> {
    try {
      currentToken = await withTimeLimit(timeoutMs, { clock }, requestToken, () =>
        timeoutError('the token'),
      );
      return currentToken;
    } catch (error) {
      if (error instanceof PosError) {
        // The token request may have been processed, but the terminal has received no message.
        const { code, message, status, retryable, retryAfterMs } = error;
        throw new PosError('Transport', message, { code, status, retryable, retryAfterMs });
      }
      const message = 'the function fetchToken threw an error';
      throw new PosError('Transport', message, { code: 'token_refused', cause: error });
    }
  }

  return {
    get() {
      if (
        currentToken !== undefined &&
        currentToken.expiresAt - renewBeforeExpiryMs > clock.now()
      ) {
        return Promise.resolve(currentToken);
      }
      pendingRequest ??= requestTokenInTime().finally(() => {
        pendingRequest = undefined;
      });
      return pendingRequest;
    },
    invalidate(token) {
      if (currentToken?.token === token) currentToken = undefined;
    },
  };
}
