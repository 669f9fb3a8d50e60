/**
 * Calls the platform's API with a token and JSON, and converts refusals to errors of this package.
 */

import { defined, type Problem } from '@switchyard/contract';
import {
  type Clock,
  type HttpClient,
  type HttpResponse,
  requireSecureUrl,
  systemClock,
} from '@switchyard/sdk-core';
import type { TokenSource } from '../authentication/device-tokens.ts';
import type { DeviceTls } from '../network/http-client.ts';
import { createDeviceHttpClient } from '../network/http-client.ts';
import { createDeviceError, DeviceError } from '../support/device-error.ts';
import { type DeviceLog, errorLogFields, safeLog } from '../support/device-log.ts';

export type CallOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
};

export type PlatformApi = {
  get<Answer>(path: string, options?: CallOptions): Promise<Answer>;
  post<Answer>(path: string, body: unknown, options?: CallOptions): Promise<Answer>;
  readonly http: HttpClient;
  readonly baseUrl: string;
  token(signal?: AbortSignal): Promise<string>;
  invalidateToken(token: string): void;
};

const outcomes = new Set(['NotProcessed', 'Processed', 'Unknown']);
const statusFirstOfServer = 500;
const unauthorized = 401;
/** The position of identifiers in payment paths, and the other words at this position. */
const idPosition = 4;
const fixedPathParts = new Set(['process', 'technical']);

/** Removes identifiers from a path, because the log must not contain them. */
const pathWithoutIds = (path: string): string =>
  (path.split('?')[0] ?? '')
    .split('/')
    .map((part, at) => (at === idPosition && !fixedPathParts.has(part) ? ':id' : part))
    .join('/');

function parseProblem(body: string): Problem | undefined {
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
export function responseError({ status, headers, body }: HttpResponse): DeviceError {
  const problem = parseProblem(body);
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
async function getToken(tokens: TokenSource, signal?: AbortSignal): Promise<string> {
  try {
    return await tokens.get(signal);
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
    const { kind, code, retryable, retryAfterMs, status } = error;
    // Credentials that were refused stay refused; a temporary failure becomes `NotSent`.
    const isTemporary = kind === 'Unknown' || (kind === 'Refused' && retryable);
    if (!isTemporary) throw error;
    const details = { code, retryable, retryAfterMs, status, cause: error };
    throw new DeviceError('NotSent', error.message, details);
  }
}

function parseBody<Answer>(answer: HttpResponse): Answer {
  if (answer.status < 200 || answer.status > 299) throw responseError(answer);
  try {
    return JSON.parse(answer.body) as Answer;
  } catch (error) {
    throw new DeviceError('Unknown', 'the response is not valid JSON', {
      code: 'bad_answer',
      retryable: true,
      cause: error,
    });
  }
}

export function createPlatformApi(options: {
  readonly baseUrl: string;
  readonly tokens: TokenSource;
  readonly tls?: DeviceTls | undefined;
  readonly log?: DeviceLog | undefined;
  readonly clock?: Clock | undefined;
}): PlatformApi {
  const { tokens, clock = systemClock } = options;
  const log = safeLog(options.log);
  requireSecureUrl(options.baseUrl, 'baseUrl', 'https', createDeviceError);
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  const http = createDeviceHttpClient(options.tls);

  async function requestOnce(
    method: 'GET' | 'POST',
    path: string,
    body: string | undefined,
    { signal, timeoutMs }: CallOptions,
  ): Promise<HttpResponse & { token: string }> {
    const token = await getToken(tokens, signal);
    const answer = await http.request({
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
  async function requestWithRetry<Answer>(
    method: 'GET' | 'POST',
    path: string,
    body: string | undefined,
    options: CallOptions,
  ): Promise<Answer> {
    const first = await requestOnce(method, path, body, options);
    if (first.status !== unauthorized) return parseBody(first);
    tokens.invalidate(first.token);
    return parseBody(await requestOnce(method, path, body, options));
  }

  async function loggedRequest<Answer>(
    ...args: Parameters<typeof requestWithRetry>
  ): Promise<Answer> {
    const [method, path] = args;
    const logFields = { method, path: pathWithoutIds(path) };
    const startedAt = clock.now();
    try {
      const answer = await requestWithRetry<Answer>(...args);
      log.debug({ ...logFields, ms: clock.now() - startedAt }, 'called');
      return answer;
    } catch (error) {
      log.warn(
        { ...logFields, ms: clock.now() - startedAt, ...errorLogFields(error) },
        'a call failed',
      );
      throw error;
    }
  }

  return {
    get: (path, options = {}) => loggedRequest('GET', path, undefined, options),
    post: (path, body, options = {}) => loggedRequest('POST', path, JSON.stringify(body), options),
    http,
    baseUrl,
    token: (signal) => getToken(tokens, signal),
    invalidateToken: (token) => tokens.invalidate(token),
  };
}
