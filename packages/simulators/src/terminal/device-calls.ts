// Calls of a device: mutual TLS, its token looked up and renewed, limits on what comes back.
import { Agent, request } from 'node:https';

/**
 * What a device is known by, and where the platform is.
 *
 * @example
 * const platform = connectTerminalPlatform(facts, Date.now);
 */
export type DeviceFacts = {
  readonly baseUrl: string;
  readonly deviceAuthUrl: string;
  /** Certificate and key of the device, and the authority of the platform: PEM. */
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
  readonly serialNumber: string;
  readonly timeoutMs?: number;
};

export type Called =
  | { readonly outcome: 'Answered'; readonly status: number; readonly body: unknown }
  | { readonly outcome: 'Unknown' | 'NotSent' };

export type DeviceCalls = {
  call(method: string, path: string, body?: unknown): Promise<Called>;
  /** A token of the device, for a connection that shows its certificate. */
  token(): Promise<string | undefined>;
  close(): void;
};

type Sent = {
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
/** Nothing has left: the connection was never made. */
const neverSent = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Merchant = { readonly clientId?: unknown; readonly clientSecret?: unknown };
type TokenAnswer = { readonly access_token?: unknown; readonly expires_in?: unknown };

/** @example const calls = createDeviceCalls(facts, { now: Date.now }); */
export function createDeviceCalls(facts: DeviceFacts, clock: { now(): number }): DeviceCalls {
  const { cert, key, ca } = facts;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: socketsMax,
    ...{ cert, key },
    ...(ca === undefined ? {} : { ca }),
  });
  let known: { token: string; until: number } | undefined;
  let asking: Promise<string | undefined> | undefined;

  function send({ url, method, headers, body }: Sent): Promise<Called> {
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
          resolve({ outcome: 'Answered', status: answer.statusCode ?? 0, body: parsed(text) });
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
      sent.on('error', (error: NodeJS.ErrnoException) => {
        const isNotSent = !isConnected || neverSent.includes(error.code ?? '');
        resolve({ outcome: isNotSent ? 'NotSent' : 'Unknown' });
      });
      sent.end(body);
    });
  }

  async function lookUp(): Promise<string | undefined> {
    const credentials = new URL('/oauth2-mtls/v1/merchants-credentials', facts.deviceAuthUrl);
    credentials.searchParams.set('serial_number', facts.serialNumber);
    const listed = await send({ url: credentials, method: 'GET', headers: {} });
    if (listed.outcome !== 'Answered' || !Array.isArray(listed.body)) return undefined;
    const [merchant] = listed.body as Merchant[];
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: String(merchant?.clientId ?? ''),
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
    known = { token, until: clock.now() + seconds * 1000 - renewBeforeMs };
    return token;
  }

  async function token(): Promise<string | undefined> {
    if (known !== undefined && known.until > clock.now()) return known.token;
    asking ??= lookUp().finally(() => {
      asking = undefined;
    });
    return asking;
  }

  async function once(method: string, path: string, body: unknown): Promise<Called> {
    const bearer = await token();
    if (bearer === undefined) return { outcome: 'NotSent' };
    return send({
      url: new URL(path, facts.baseUrl),
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  return {
    token,
    async call(method, path, body) {
      const answer = await once(method, path, body);
      if (answer.outcome !== 'Answered' || answer.status !== unauthorized) return answer;
      // Taken back before its time: a new one, once.
      known = undefined;
      return once(method, path, body);
    },
    close: () => agent.destroy(),
  };
}
