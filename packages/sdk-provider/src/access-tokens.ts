/** The token of a provider: requested once and kept until shortly before it expires. */
import { problemText, readProblemBody } from '@switchyard/contract';
import type { Clock } from './clock.ts';
import type { Transport } from './http-transport.ts';

export type Tokens = {
  /** @throws Error if no token is given; its text never contains a secret */
  get(): Promise<string>;
  /** Discards a token that the platform refused; the next `get` requests a new one. */
  forget(token: string): void;
};

const earlyMs = 30_000;
const shortestMs = 1_000;

type Deps = {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly post: Transport;
  readonly clock: Clock;
};

function read(body: string): { token: string; lifeMs: number } | undefined {
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

export function createTokens({ tokenUrl, clientId, clientSecret, post, clock }: Deps): Tokens {
  let known: { token: string; until: number } | undefined;
  let asking: Promise<string> | undefined;

  async function ask(): Promise<string> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
    const askedAt = clock.now();
    const { status, body } = await post({
      url: tokenUrl,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: form.toString(),
    });
    const answer = status === 200 ? read(body) : undefined;
    if (answer === undefined) {
      const reason = problemText(status, readProblemBody(body));
      throw new Error(`no token was given: status ${reason}`);
    }
    known = {
      token: answer.token,
      until: askedAt + Math.max(answer.lifeMs - earlyMs, shortestMs),
    };
    return answer.token;
  }

  return {
    get() {
      if (known !== undefined && known.until > clock.now()) return Promise.resolve(known.token);
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    forget(token) {
      if (known?.token === token) known = undefined;
    },
  };
}
