// HTTP requests of a device: mutual TLS, an access token that is renewed, and limits of the response.
import { Agent, request } from 'node:https';
import { defined } from '@switchyard/contract';

/**
 * The identity of a device, and the URLs of the platform.
 *
 * @example
 * const platform = connectTerminalPlatform(facts, Date.now);
 */
export type DeviceConnection = {
  readonly baseUrl: string;
  readonly deviceAuthUrl: string;
  /** Certificate and key of the device, and the authority of the platform: PEM. */
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
  readonly serialNumber: string;
  readonly timeoutMs?: number;
};

export type DeviceResponse =
  | {
      readonly outcome: 'Answered';
      readonly status: number;
      readonly body: unknown;
      /** The merchant of the token that the request used. */
      readonly merchant?: string;
    }
  | { readonly outcome: 'Unknown' | 'NotSent' };

export type DeviceClient = {
  call(method: string, path: string, body?: unknown): Promise<DeviceResponse>;
  /** An access token of the device, valid only with its certificate. */
  token(): Promise<string | undefined>;
  /** The merchant of the terminal; undefined where the platform does not answer. */
  merchant(): Promise<string | undefined>;
  close(): void;
};

type OutgoingRequest = {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

const answerMaxBytes = 1_048_576;
const standardTimeoutMs = 45_000;
const socketsMax = 4;
const renewBeforeMs = 60_000;
const unauthorized = 401;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Merchant = { readonly clientId?: unknown; readonly clientSecret?: unknown };
/** A token and its merchant. */
type MerchantToken = { readonly token: string; readonly merchant: string; readonly until: number };
type TokenAnswer = { readonly access_token?: unknown; readonly expires_in?: unknown };

/** @example const calls = createDeviceCalls(facts, { now: Date.now }); */
export function createDeviceClient(
  facts: DeviceConnection,
  clock: { now(): number },
): DeviceClient {
  const { cert, key, ca } = facts;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: socketsMax,
    cert,
    key,
    ...defined({ ca }),
  });
  let cachedToken: MerchantToken | undefined;
  let pendingRequest: Promise<MerchantToken | undefined> | undefined;

  function send({ url, method, headers, body }: OutgoingRequest): Promise<DeviceResponse> {
    return new Promise((resolve) => {
      let isConnected = false;
      const sent = request(url, { method, headers, agent }, (answer) => {
        const parts: Buffer[] = [];
        let size = 0;
        answer.on('data', (part: Buffer) => {
          size += part.length;
          parts.push(part);
          if (size > answerMaxBytes) sent.destroy(new Error('the answer is too large'));
        });
        answer.on('end', () => {
          const text = Buffer.concat(parts).toString();
          resolve({ outcome: 'Answered', status: answer.statusCode ?? 0, body: parseJson(text) });
        });
        answer.on('error', () => resolve({ outcome: 'Unknown' }));
      });
      const ms = facts.timeoutMs ?? standardTimeoutMs;
      const timer = setTimeout(() => sent.destroy(new Error('no answer in time')), ms);
      sent.on('close', () => clearTimeout(timer));
      sent.on('socket', (socket) => {
        isConnected = !socket.connecting;
        if (isConnected) return;
        socket.once('secureConnect', () => {
          isConnected = true;
        });
      });
      // After the TLS handshake the request may have arrived, also with errors such as ENETUNREACH.
      sent.on('error', () => resolve({ outcome: isConnected ? 'Unknown' : 'NotSent' }));
      sent.end(body);
    });
  }

  async function requestToken(): Promise<MerchantToken | undefined> {
    const credentials = new URL('/oauth2-mtls/v1/merchants-credentials', facts.deviceAuthUrl);
    credentials.searchParams.set('serial_number', facts.serialNumber);
    const listed = await send({ url: credentials, method: 'GET', headers: {} });
    if (listed.outcome !== 'Answered' || !Array.isArray(listed.body)) return undefined;
    const [merchant] = listed.body as Merchant[];
    const clientId = String(merchant?.clientId ?? '');
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: String(merchant?.clientSecret ?? ''),
    });
    const answer = await send({
      url: new URL('/oauth2-mtls/v1/token', facts.deviceAuthUrl),
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    });
    if (answer.outcome !== 'Answered') return undefined;
    const { access_token: token, expires_in: seconds } = (answer.body ?? {}) as TokenAnswer;
    if (typeof token !== 'string' || typeof seconds !== 'number') return undefined;
    // The platform has one application for the devices of each merchant.
    const until = clock.now() + seconds * 1000 - renewBeforeMs;
    cachedToken = { token, merchant: clientId, until };
    return cachedToken;
  }

  async function currentToken(): Promise<MerchantToken | undefined> {
    if (cachedToken !== undefined && cachedToken.until > clock.now()) return cachedToken;
    pendingRequest ??= requestToken().finally(() => {
      pendingRequest = undefined;
    });
    return pendingRequest;
  }

  async function sendWithToken(
    method: string,
    path: string,
    body: unknown,
  ): Promise<DeviceResponse> {
    const merchantToken = await currentToken();
    if (merchantToken === undefined) return { outcome: 'NotSent' };
    const called = await send({
      url: new URL(path, facts.baseUrl),
      method,
      headers: {
        authorization: `Bearer ${merchantToken.token}`,
        ...defined({ 'content-type': body === undefined ? undefined : 'application/json' }),
      },
      ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
    });
    return called.outcome === 'Answered' ? { ...called, merchant: merchantToken.merchant } : called;
  }

  return {
    token: async () => (await currentToken())?.token,
    merchant: async () => (await currentToken())?.merchant,
    async call(method, path, body) {
      const answer = await sendWithToken(method, path, body);
      if (answer.outcome !== 'Answered' || answer.status !== unauthorized) return answer;
      // The token was revoked before it expired: try once with a new token.
      cachedToken = undefined;
      return sendWithToken(method, path, body);
    },
    close: () => agent.destroy(),
  };
}
