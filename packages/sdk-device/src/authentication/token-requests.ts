/** Sends the token requests and reads their answers, without retries. */
import { type MerchantCredentials, problemText, readProblemBody } from '@switchyard/contract';
import type { Http, HttpAnswer } from '../network/http-client.ts';
import { DeviceError } from '../support/device-error.ts';

/**
 * A token from the platform.
 *
 * @example
 * const { accessToken, expiresInSeconds }: GivenToken = given;
 */
export type GivenToken = {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly refreshToken?: string;
  readonly refreshExpiresInSeconds?: number;
};

type Members = Readonly<Record<string, unknown>>;

function membersOf(body: string): Members {
  try {
    const read: unknown = JSON.parse(body);
    return typeof read === 'object' && read !== null ? (read as Members) : {};
  } catch {
    return {};
  }
}

const statusFirstOfServer = 500;
const tooMany = 429;

export function refusalOf({ status, headers, body }: HttpAnswer): DeviceError {
  const refusal = readProblemBody(body);
  const after = Number(headers['retry-after']);
  return new DeviceError('Refused', `the request was refused: ${problemText(status, refusal)}`, {
    code: refusal.code ?? `http_${status}`,
    status,
    retryable: status >= statusFirstOfServer || status === tooMany,
    ...(Number.isInteger(after) && after > 0 ? { retryAfterMs: after * 1000 } : {}),
  });
}

const positive = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? Math.floor(value) : 0;

function readToken(answer: HttpAnswer): GivenToken {
  const members = membersOf(answer.body);
  const { access_token: accessToken, refresh_token: refreshToken } = members;
  if (answer.status !== 200 || typeof accessToken !== 'string') throw refusalOf(answer);
  return {
    accessToken,
    expiresInSeconds: positive(members['expires_in']),
    ...(typeof refreshToken === 'string'
      ? { refreshToken, refreshExpiresInSeconds: positive(members['refresh_expires_in']) }
      : {}),
  };
}

export async function postForm(
  http: Http,
  url: string,
  form: Readonly<Record<string, string | undefined>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<GivenToken> {
  const sent = Object.entries(form).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const answer = await http.ask({
    method: 'POST',
    url,
    body: new URLSearchParams(sent).toString(),
    headers: {
      ...headers,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
  });
  return readToken(answer);
}

export async function getCredentials(
  http: Http,
  authUrl: string,
  serialNumber: string | undefined,
  signal?: AbortSignal,
): Promise<MerchantCredentials[]> {
  const query =
    serialNumber === undefined ? '' : `?serial_number=${encodeURIComponent(serialNumber)}`;
  const answer = await http.ask({
    method: 'GET',
    url: `${authUrl}/oauth2-mtls/v1/merchants-credentials${query}`,
    signal,
    headers: { accept: 'application/json' },
  });
  if (answer.status !== 200) throw refusalOf(answer);
  const list: unknown = JSON.parse(answer.body);
  if (!Array.isArray(list)) throw refusalOf(answer);
  return list as MerchantCredentials[];
}
