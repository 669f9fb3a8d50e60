// Sends single requests to the server under test: to set it up, and to read single results.
import { type IncomingHttpHeaders, Agent as PlainAgent, request as requestPlain } from 'node:http';
import { Agent, request } from 'node:https';
import { defined } from '@switchyard/contract';

/** A server on loopback; without `ca` it is called without TLS. */
export type Target = {
  port: number;
  /** Host and port by which the server calls itself; clients send it in `Host`. */
  authority: string;
  ca?: string | undefined;
  /** Of more processes of the same platform, which take turns with `port` for kept connections. */
  otherPorts?: readonly number[];
};

export type SingleRequest = {
  method?: 'GET' | 'POST';
  path: string;
  token?: string | undefined;
  accept?: string;
  contentType?: string;
  body?: string;
  /** A certificate with its key, PEM, for mutual TLS. */
  client?: { cert: string; key: string };
  /** Ends the request with an error. */
  timeoutMs?: number;
};

export type SingleResponse = { status: number; text: string; headers: IncomingHttpHeaders };

/** The certificate of the server is issued for this name. */
export const serverName = 'localhost';
export const loopback = '127.0.0.1';

const maxSockets = 32;
const agent = new Agent({ keepAlive: true, maxSockets });
const plainAgent = new PlainAgent({ keepAlive: true, maxSockets });

export function sendRequest(
  { port, authority, ca }: Target,
  { method = 'GET', path, token, accept, contentType, body, client, timeoutMs }: SingleRequest,
): Promise<SingleResponse> {
  return new Promise((resolve, reject) => {
    const options = {
      ...defined({
        signal: timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs),
      }),
      host: loopback,
      port,
      method,
      path,
      headers: defined({
        host: authority,
        authorization: token === undefined ? undefined : `Bearer ${token}`,
        accept,
        'content-type': contentType,
        'content-length': body === undefined ? undefined : Buffer.byteLength(body),
      }),
    };
    const sent =
      ca === undefined
        ? requestPlain({ ...options, agent: plainAgent })
        : request({ ...options, ...client, ca, servername: serverName, agent });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response;
        resolve({ status, text: Buffer.concat(chunks).toString(), headers: received });
      });
    });
    sent.end(body);
  });
}

function assertSuccess({ status, text }: SingleResponse, request: string) {
  if (status >= 300) throw new Error(`${request}: ${status} ${text}`);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

export type ApiClient = {
  /** @throws Error with the answer if it is not a success */
  call(method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown>>;
};

/** Calls the API as one application. */
export function createApiClient(target: Target, token: string): ApiClient {
  return {
    async call(method, path, body) {
      const content =
        body === undefined ? {} : { contentType: 'application/json', body: JSON.stringify(body) };
      const response = await sendRequest(target, { method, path, token, ...content });
      return assertSuccess(response, `${method} ${path}`);
    },
  };
}

export const formType = 'application/x-www-form-urlencoded';
export const tokenPath = (realm: string): string => `/oauth2/v1/${realm}/token`;

export type Credentials = { clientId: string; clientSecret: string };

export function clientCredentialsForm({
  clientId,
  clientSecret,
}: Credentials): Record<string, string> {
  return {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  };
}

/** @param token of a user, where a device requests its token */
export async function fetchToken(
  target: Target,
  path: string,
  form: Readonly<Record<string, string>>,
  token?: string,
): Promise<{ accessToken: string; refreshToken: string }> {
  const body = new URLSearchParams(form).toString();
  const request = { method: 'POST', path, token, contentType: formType, body } as const;
  const answer = assertSuccess(await sendRequest(target, request), path);
  return {
    accessToken: String(answer['access_token']),
    refreshToken: String(answer['refresh_token']),
  };
}
