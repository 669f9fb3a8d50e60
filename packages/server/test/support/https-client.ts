// A plain HTTPS client for the end-to-end tests: it sends requests and returns responses.
import type { ClientRequest } from 'node:http';
import { Agent, request as send } from 'node:https';
import { defined } from '@switchyard/contract';
import { recordSentCardData } from './card-data/sent-card-data.ts';

export type HttpResponse = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  body: any;
  text: string;
};

export type RequestOptions = {
  token?: string;
  body?: unknown;
  /** Sent unchanged in place of `body`. */
  raw?: string | Buffer;
  headers?: Record<string, string>;
  /** Aborts the connection, as when a point of sale loses power. */
  signal?: AbortSignal;
};

export type Client = {
  call(method: string, path: string, call?: RequestOptions): Promise<HttpResponse>;
  token(realm: string, clientId: string, clientSecret: string): Promise<string>;
  close(): void;
};

/** The client does not reuse a connection after this idle time, because the server may close it. */
const idleMs = 5_000;

/** Adds facts about the connection to the error of a failed request. */
function withConnectionFacts(error: Error, request: ClientRequest, startedAt: number): Error {
  const { reusedSocket, socket } = request;
  const facts = {
    reusedSocket,
    afterMs: Math.round(performance.now() - startedAt),
    read: socket?.bytesRead,
    written: socket?.bytesWritten,
    port: socket?.localPort,
  };
  error.message += ` (${request.method} ${request.path} ${JSON.stringify(facts)})`;
  return error;
}

/** The client certificate of a device, or the local address of the connection. */
type ClientConnection = {
  readonly cert?: string;
  readonly key?: string;
  readonly localAddress?: string;
  readonly family?: 4 | 6;
};

/**
 * A client of one server that trusts one certificate authority; a device also sends a certificate.
 */
export function createClient(
  baseUrl: string,
  ca: string,
  connection: ClientConnection = {},
): Client {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 256, timeout: idleMs, ...connection });

  function call(method: string, path: string, options: RequestOptions = {}): Promise<HttpResponse> {
    recordSentCardData(options.body);
    const body =
      options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const headers: Record<string, string> = {
      ...defined({
        authorization: options.token === undefined ? undefined : `Bearer ${options.token}`,
        'content-type': body === undefined ? undefined : 'application/json',
      }),
      ...options.headers,
    };
    if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body));
    return new Promise((resolve, reject) => {
      const { signal } = options;
      const requestOptions = { method, headers, agent, ...defined({ signal }) };
      const request = send(new URL(path, baseUrl), requestOptions, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = /json(?!l)/.test(response.headers['content-type'] ?? '');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: isJson && text !== '' ? JSON.parse(text) : undefined,
            text,
          });
        });
      });
      const startedAt = performance.now();
      request.on('error', (error) => reject(withConnectionFacts(error, request, startedAt)));
      request.end(body);
    });
  }

  return {
    call,
    async token(realm, clientId, clientSecret) {
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      });
      const response = await call('POST', `/oauth2/v1/${realm}/token`, {
        raw: form.toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      if (response.status !== 200) throw new Error(`no token: ${response.status} ${response.text}`);
      return response.body.access_token as string;
    },
    close: () => agent.destroy(),
  };
}
