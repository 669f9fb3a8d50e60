// A browser without a window: it keeps cookies by RFC 6265bis and follows redirects on request.
import assert from 'node:assert/strict';
import { Agent, request as send } from 'node:https';
import { defined } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';

type Sent = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
};
type Received = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
};
export type Transport = (request: Sent) => Promise<Received>;

export type BrowserResponse = Received & {
  /** The address of the response, after any redirects. */
  readonly url: URL;
  /** The target of a redirect. */
  readonly location: URL | undefined;
  /** The fields of the JSON body. */
  json(): Record<string, unknown>;
};

export type VisitOptions = {
  readonly method?: string;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
  /** Sent unchanged. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The request comes from a page of another site, so a POST does not send SameSite=Lax cookies.
   */
  readonly isCrossSite?: boolean;
};

export type Cookie = {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly host: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly expiresAt: number | undefined;
};

export type Browser = {
  /** Sends one request; it does not follow a redirect. */
  visit(address: string | URL, visit?: VisitOptions): Promise<BrowserResponse>;
  /** Follows at most 10 redirects, and only within this server. */
  browse(address: string | URL, visit?: VisitOptions): Promise<BrowserResponse>;
  /** The cookies that the browser would send to this address. */
  cookiesFor(address: string | URL): Cookie[];
  readonly cookies: readonly Cookie[];
  /** Stores the cookies of a response that did not pass through this browser. */
  storeCookies(lines: readonly string[], from: URL): void;
  /** Stores a cookie, as an attacker would. */
  setCookie(cookie: Cookie): void;
};

const redirectsMax = 10;

function directoryOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 ? '/' : path.slice(0, end);
}

function pathMatches(requestPath: string, path: string): boolean {
  if (requestPath === path) return true;
  return requestPath.startsWith(path.endsWith('/') ? path : `${path}/`);
}

/** Asserts that a real browser would not reject the cookie. */
function readCookie(line: string, url: URL): Cookie {
  const [pair = '', ...rest] = line.split(';').map((part) => part.trim());
  const at = pair.indexOf('=');
  const name = pair.slice(0, at);
  const attributes = new Map(
    rest.map((part) => {
      const [key = '', ...value] = part.split('=');
      return [key.toLowerCase(), value.join('=')] as const;
    }),
  );
  assert.equal(attributes.has('domain'), false, `${name} is for this host alone`);
  if (/^__(?:Host|Secure)-/.test(name)) assert.ok(attributes.has('secure'), `${name} is secure`);
  if (name.startsWith('__Host-')) assert.equal(attributes.get('path'), '/', `${name} has path /`);
  const seconds = attributes.get('max-age');
  const expires = attributes.get('expires');
  return {
    name,
    value: pair.slice(at + 1),
    path: attributes.get('path') ?? directoryOf(url.pathname),
    host: url.host,
    attributes,
    expiresAt:
      seconds !== undefined
        ? Date.now() + Number(seconds) * 1000
        : expires === undefined
          ? undefined
          : Date.parse(expires),
  };
}

export function createBrowser(baseUrl: string, transport: Transport): Browser {
  let cookies: Cookie[] = [];

  function storeCookie(cookie: Cookie): void {
    cookies = cookies.filter(
      (other) =>
        other.name !== cookie.name || other.path !== cookie.path || other.host !== cookie.host,
    );
    const isExpired = cookie.expiresAt !== undefined && cookie.expiresAt <= Date.now();
    if (!isExpired) cookies.push(cookie);
  }

  function cookiesFor(address: string | URL): Cookie[] {
    const url = new URL(address, baseUrl);
    return cookies
      .filter((cookie) => cookie.host === url.host && pathMatches(url.pathname, cookie.path))
      .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > Date.now())
      .sort((a, b) => b.path.length - a.path.length);
  }

  async function visit(
    address: string | URL,
    options: VisitOptions = {},
  ): Promise<BrowserResponse> {
    const url = new URL(address, baseUrl);
    const { form, isCrossSite = false } = options;
    const body =
      options.body ?? (form === undefined ? undefined : String(new URLSearchParams(form)));
    const method = options.method ?? (body === undefined ? 'GET' : 'POST');
    const sent = isCrossSite && method !== 'GET' ? [] : cookiesFor(url);
    const received = await transport({
      method,
      url,
      headers: {
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
        ...(sent.length === 0
          ? {}
          : { cookie: sent.map(({ name, value }) => `${name}=${value}`).join('; ') }),
        ...defined({
          'content-type': form === undefined ? undefined : 'application/x-www-form-urlencoded',
        }),
        ...options.headers,
      },
      body,
    });
    for (const line of [received.headers['set-cookie'] ?? []].flat())
      storeCookie(readCookie(line, url));
    const { location } = received.headers;
    return {
      ...received,
      url,
      location: typeof location === 'string' ? new URL(location, url) : undefined,
      json: () => JSON.parse(received.text) as Record<string, unknown>,
    };
  }

  return {
    visit,
    async browse(address, options) {
      let response = await visit(address, options);
      for (let hop = 0; hop < redirectsMax; hop += 1) {
        const { location, status } = response;
        const isRedirect = status >= 300 && status < 400 && location !== undefined;
        if (!isRedirect || location.host !== new URL(baseUrl).host) return response;
        response = await visit(location);
      }
      throw new Error(`more than ${redirectsMax} redirects`);
    },
    cookiesFor,
    get cookies() {
      return cookies;
    },
    storeCookies(lines, from) {
      for (const line of lines) storeCookie(readCookie(line, from));
    },
    setCookie: storeCookie,
  };
}

/** A transport for a server that accepts only injected requests. */
export function injectionTransport(app: FastifyInstance): Transport {
  return async ({ method, url, headers, body }) => {
    const response = await app.inject({
      method: method as 'GET',
      url: url.pathname + url.search,
      headers: { host: url.host, ...headers },
      ...defined({ payload: body }),
    });
    const { statusCode: status, headers: receivedHeaders, body: text } = response;
    return { status, headers: receivedHeaders as Received['headers'], text };
  };
}

/** A transport for a server over TLS; the caller destroys the agent. */
export function tlsTransport(ca: string): { transport: Transport; agent: Agent } {
  const agent = new Agent({ ca, keepAlive: true });
  const transport: Transport = ({ method, url, headers, body }) =>
    new Promise((resolve, reject) => {
      const length =
        body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const sent = send(url, { method, agent, headers: { ...headers, ...length } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: status = 0, headers: receivedHeaders } = response;
          resolve({ status, headers: receivedHeaders, text: Buffer.concat(chunks).toString() });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  return { transport, agent };
}

/** `fetch` over a transport, for client libraries that accept a `fetch` function. */
export function fetchWithTransport(transport: Transport): typeof fetch {
  return async (input, init = {}) => {
    const request = new Request(input, init);
    const text = await request.text();
    const {
      status,
      headers,
      text: receivedHeaders,
    } = await transport({
      method: request.method,
      url: new URL(request.url),
      headers: Object.fromEntries(request.headers),
      body: request.method === 'GET' ? undefined : text,
    });
    const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
    const body = status === 204 || status === 304 ? null : receivedHeaders;
    return new Response(body, { status, headers: pairs.map(([name, value]) => [name, value]) });
  };
}
