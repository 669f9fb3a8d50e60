/**
 * Calls the platform's API with a token and JSON, and converts refusals to errors of this package.
 */

import { defined, type Problem } from '@switchyard/contract';
import type { TokenSource } from '../authentication/device-tokens.ts';
import { createHttp, type Http, type HttpAnswer } from '../network/http-client.ts';
import { demandHttps } from '../network/secure-url.ts';
import type { DeviceTls } from '../network/tls-settings.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { DeviceError } from '../support/device-error.ts';
import { type DeviceLog, faultFacts, guardedLog } from '../support/device-log.ts';

export type CallOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
};

export type PlatformCalls = {
  get<Answer>(path: string, options?: CallOptions): Promise<Answer>;
  post<Answer>(path: string, body: unknown, options?: CallOptions): Promise<Answer>;
  readonly http: Http;
  readonly baseUrl: string;
  token(signal?: AbortSignal): Promise<string>;
  forget(token: string): void;
};

const outcomes = new Set(['NotProcessed', 'Processed', 'Unknown']);
const statusFirstOfServer = 500;
const unauthorized = 401;
/** The position of identifiers in payment paths, and the other words at this position. */
const idAt = 4;
const noIds = new Set(['process', 'technical']);

/** Removes identifiers from a path, because the log must not contain them. */
const shapeOf = (path: string): string =>
  (path.split('?')[0] ?? '')
    .split('/')
    .map((part, at) => (at === idAt && !noIds.has(part) ? ':id' : part))
    .join('/');

function problemIn(body: string): Problem | undefined {
  try {
    const read = JSON.parse(body) as Problem;
    return typeof read?.code === 'string' && outcomes.has(read.outcome) ? read : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Without a problem body, as from a proxy, a 5xx does not say whether the request was processed.
 */
export function errorOf({ status, headers, body }: HttpAnswer): DeviceError {
  const problem = problemIn(body);
  const seconds = Number(headers['retry-after']);
  const retryAfterMs =
    problem?.retryAfterMs ??
    (Number.isInteger(seconds) && seconds > 0 ? seconds * 1000 : undefined);
  const isUnknown =
    problem === undefined ? status >= statusFirstOfServer : problem.outcome === 'Unknown';
  return new DeviceError(isUnknown ? 'Unknown' : 'Refused', problem?.detail ?? `status ${status}`, {
    code: problem?.code ?? `http_${status}`,
    status,
    retryable: problem?.retryable ?? status >= statusFirstOfServer,
    retryAfterMs,
    problem,
    correlationId: problem?.requestId,
  });
}

/** Gets a token. Without one, the call itself was never sent. */
async function tokenFrom(tokens: TokenSource, signal?: AbortSignal): Promise<string> {
  try {
    return await tokens.get(signal);
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    const { kind, code, retryable, retryAfterMs, status } = error;
    // Credentials that were refused stay refused; a temporary failure becomes `NotSent`.
    const isOfTheMoment = kind === 'Unknown' || (kind === 'Refused' && retryable);
    if (!isOfTheMoment) throw error;
    const facts = { code, retryable, retryAfterMs, status, cause: error };
    throw new DeviceError('NotSent', error.message, facts);
  }
}

function bodyOf<Answer>(answer: HttpAnswer): Answer {
  if (answer.status < 200 || answer.status > 299) throw errorOf(answer);
  try {
    return JSON.parse(answer.body) as Answer;
  } catch (error) {
    throw new DeviceError('Unknown', 'the answer is no JSON', {
      code: 'bad_answer',
      retryable: true,
      cause: error,
    });
  }
}

export function createPlatformCalls(options: {
  readonly baseUrl: string;
  readonly tokens: TokenSource;
  readonly tls?: DeviceTls | undefined;
  readonly log?: DeviceLog | undefined;
  readonly clock?: Clock | undefined;
}): PlatformCalls {
  const { tokens, clock = systemClock } = options;
  const log = guardedLog(options.log);
  demandHttps(options.baseUrl, 'baseUrl');
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  const http = createHttp(options.tls);

  async function once(
    method: 'GET' | 'POST',
    path: string,
    body: string | undefined,
    { signal, timeoutMs }: CallOptions,
  ): Promise<HttpAnswer & { token: string }> {
    const token = await tokenFrom(tokens, signal);
    const answer = await http.ask({
      method,
      url: baseUrl + path,
      signal,
      ...defined({ timeoutMs, body }),
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...defined({ 'content-type': body === undefined ? undefined : 'application/json' }),
      },
    });
    return { ...answer, token };
  }

  /** Retries once with a new token, because the platform can revoke a token before it expires. */
  async function answered<Answer>(
    method: 'GET' | 'POST',
    path: string,
    body: string | undefined,
    call: CallOptions,
  ): Promise<Answer> {
    const first = await once(method, path, body, call);
    if (first.status !== unauthorized) return bodyOf(first);
    tokens.forget(first.token);
    return bodyOf(await once(method, path, body, call));
  }

  async function call<Answer>(...asked: Parameters<typeof answered>): Promise<Answer> {
    const [method, path] = asked;
    const facts = { method, path: shapeOf(path) };
    const from = clock.now();
    try {
      const answer = await answered<Answer>(...asked);
      log.debug({ ...facts, ms: clock.now() - from }, 'called');
      return answer;
    } catch (error) {
      log.warn({ ...facts, ms: clock.now() - from, ...faultFacts(error) }, 'a call failed');
      throw error;
    }
  }

  return {
    get: (path, given = {}) => call('GET', path, undefined, given),
    post: (path, body, given = {}) => call('POST', path, JSON.stringify(body), given),
    http,
    baseUrl,
    token: (signal) => tokenFrom(tokens, signal),
    forget: (token) => tokens.forget(token),
  };
}
