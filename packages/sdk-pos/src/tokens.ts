/** The access token of a point of sale: asked for once, kept until shortly before it ends. */
import { readRefusalBody, refusalText } from '@switchyard/contract';
import { type Clock, within } from './clock.ts';
import { late, PosError } from './errors.ts';
import { type HttpAnswer, type PosTls, post } from './http.ts';

/**
 * An access token, and until when it may be used.
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
 * Who the point of sale is: its application, or a function that gets tokens elsewhere, such as from a
 * back end of the merchant that keeps the secret.
 *
 * @example
 * const credentials: PosCredentials = {
 *   tokenUrl: 'https://pay.example/oauth2/v1/acme/token', clientId: 'acme-pos-3', clientSecret,
 * };
 */
export type PosCredentials =
  | { readonly tokenUrl: string; readonly clientId: string; readonly clientSecret: string }
  | { readonly fetchToken: (signal: AbortSignal) => Promise<AccessToken> };

export type Tokens = {
  /** @throws PosError of kind `Transport`; never with a secret in its text */
  get(): Promise<AccessToken>;
  /** The platform refused it, or it ends soon: the next one is another. */
  forget(token: string): void;
};

type Deps = {
  readonly credentials: PosCredentials;
  readonly tls: PosTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
};

/** How long before its end a token is not used any more. */
export const earlyMs = 30_000;
const secondMs = 1000;
const answerBytesMax = 65_536;
const lastStatusOfClient = 499;
const tooManyRequests = 429;

/** A success without a token in its body is a refusal, too. */
function refusalOf({ status, body, retryAfterMs }: HttpAnswer): PosError {
  const refusal = readRefusalBody(body);
  return new PosError('Transport', `no token was given: status ${refusalText(status, refusal)}`, {
    code: refusal.code ?? 'token_refused',
    status,
    retryable: status > lastStatusOfClient || status === tooManyRequests,
    retryAfterMs,
  });
}

function read(body: string, askedAt: number): AccessToken | undefined {
  try {
    const { access_token: token, expires_in: seconds } = JSON.parse(body) as {
      access_token?: unknown;
      expires_in?: unknown;
    };
    if (typeof token !== 'string' || token === '') return undefined;
    const lifeMs = typeof seconds === 'number' && seconds > 0 ? seconds * secondMs : 0;
    return { token, expiresAt: askedAt + lifeMs };
  } catch {
    return undefined;
  }
}

export function createTokens({ credentials, tls, timeoutMs, clock }: Deps): Tokens {
  let known: AccessToken | undefined;
  let asking: Promise<AccessToken> | undefined;

  async function ask(signal: AbortSignal): Promise<AccessToken> {
    if ('fetchToken' in credentials) return credentials.fetchToken(signal);
    const { tokenUrl, clientId, clientSecret } = credentials;
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
    const askedAt = clock.now();
    const response = await post({
      url: tokenUrl,
      tls,
      signal,
      bytesMax: answerBytesMax,
      body: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    });
    const token = response.status === 200 ? read(response.body, askedAt) : undefined;
    if (token === undefined) throw refusalOf(response);
    return token;
  }

  async function askInTime(): Promise<AccessToken> {
    try {
      known = await within(timeoutMs, { clock }, ask, () => late('the token'));
      return known;
    } catch (error) {
      if (error instanceof PosError) {
        // Whatever became of the request, no terminal has seen it.
        const { code, message, status, retryable, retryAfterMs } = error;
        throw new PosError('Transport', message, { code, status, retryable, retryAfterMs });
      }
      const message = 'the function that fetches tokens threw';
      throw new PosError('Transport', message, { code: 'token_refused', cause: error });
    }
  }

  return {
    get() {
      if (known !== undefined && known.expiresAt - earlyMs > clock.now()) {
        return Promise.resolve(known);
      }
      asking ??= askInTime().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    forget(token) {
      if (known?.token === token) known = undefined;
    },
  };
}
