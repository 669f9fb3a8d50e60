/** Caches the access token of a point of sale until shortly before it expires. */
import { problemText, readProblemBody } from '@switchyard/contract';
import {
  type CachedToken,
  type Clock,
  clientCredentialsRequest,
  createTokenCache,
  parseTokenResponse,
  renewBeforeExpiryMs,
  type TokenCache,
  withTimeLimit,
} from '@switchyard/sdk-core';
import { createPosError, PosError, timeoutError } from '../support/pos-error.ts';
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

/** `get` throws PosError of kind `Transport`; its text never contains a secret. */
export type AccessTokens = TokenCache<AccessToken & CachedToken>;

type AccessTokensOptions = {
  readonly credentials: PosCredentials;
  readonly tls: PosTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
};

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

export function createAccessTokens({
  credentials,
  tls,
  timeoutMs,
  clock,
}: AccessTokensOptions): AccessTokens {
  async function requestToken(signal: AbortSignal): Promise<AccessToken> {
    if ('fetchToken' in credentials) return credentials.fetchToken(signal);
    const requestedAt = clock.now();
    const response = await post({
      ...clientCredentialsRequest(credentials),
      tls,
      signal,
      bytesMax: answerBytesMax,
    });
    const granted = response.status === 200 ? parseTokenResponse(response.body) : undefined;
    if (granted === undefined) throw tokenError(response);
    return { token: granted.token, expiresAt: requestedAt + granted.lifeMs };
  }

  async function requestTokenInTime(): Promise<AccessToken & CachedToken> {
    try {
      const limits = { clock, createError: createPosError };
      const token = await withTimeLimit(timeoutMs, limits, requestToken, () =>
        timeoutError('the token'),
      );
      return { ...token, renewAt: token.expiresAt - renewBeforeExpiryMs };
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

  return createTokenCache(requestTokenInTime, clock);
}
