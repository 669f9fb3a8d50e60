/** Sends the token requests and reads their answers, without retries. */
import {
  type MerchantCredentials,
  parseJsonObject,
  problemText,
  readProblemBody,
} from '@switchyard/contract';
import type { HttpClient, HttpResponse } from '@switchyard/sdk-core';
import { DeviceError } from '../support/device-error.ts';

/**
 * A token from the platform.
 *
 * @example
 * const { accessToken, expiresInSeconds }: IssuedToken = given;
 */
export type IssuedToken = {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly refreshToken?: string;
  readonly refreshExpiresInSeconds?: number;
};

type Members = Readonly<Record<string, unknown>>;

const parseMembers = (body: string): Members => parseJsonObject(body) ?? {};

const statusFirstOfServer = 500;
const tooMany = 429;

export function responseError({ status, headers, body }: HttpResponse): DeviceError {
  const problem = readProblemBody(body);
  const retryAfterSeconds = Number(headers['retry-after']);
  return new DeviceError('Refused', `the request was refused: ${problemText(status, problem)}`, {
    code: problem.code ?? `http_${status}`,
    status,
    retryable: status >= statusFirstOfServer || status === tooMany,
    ...(Number.isInteger(retryAfterSeconds) && retryAfterSeconds > 0
      ? { retryAfterMs: retryAfterSeconds * 1000 }
      : {}),
  });
}

const positiveIntegerOrZero = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? Math.floor(value) : 0;

function parseTokenResponse(answer: HttpResponse): IssuedToken {
  const members = parseMembers(answer.body);
  const { access_token: accessToken, refresh_token: refreshToken } = members;
  if (answer.status !== 200 || typeof accessToken !== 'string') throw responseError(answer);
  return {
    accessToken,
    expiresInSeconds: positiveIntegerOrZero(members['expires_in']),
    ...(typeof refreshToken === 'string'
      ? {
          refreshToken,
          refreshExpiresInSeconds: positiveIntegerOrZero(members['refresh_expires_in']),
        }
      : {}),
  };
}

export async function requestToken(
  http: HttpClient,
  url: string,
  form: Readonly<Record<string, string | undefined>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<IssuedToken> {
  const definedEntries = Object.entries(form).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const answer = await http.request({
    method: 'POST',
    url,
    body: new URLSearchParams(definedEntries).toString(),
    headers: {
      ...headers,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
  });
  return parseTokenResponse(answer);
}

export async function fetchCredentials(
  http: HttpClient,
  authUrl: string,
  serialNumber: string | undefined,
  signal?: AbortSignal,
): Promise<MerchantCredentials[]> {
  const query =
    serialNumber === undefined ? '' : `?serial_number=${encodeURIComponent(serialNumber)}`;
  const answer = await http.request({
    method: 'GET',
    url: `${authUrl}/oauth2-mtls/v1/merchants-credentials${query}`,
    signal,
    headers: { accept: 'application/json' },
  });
  if (answer.status !== 200) throw responseError(answer);
  const list: unknown = JSON.parse(answer.body);
  if (!Array.isArray(list)) throw responseError(answer);
  return list as MerchantCredentials[];
}
