// Asks the server under test for single things over HTTPS: tokens, refunds.
import { request } from 'node:https';
import { defined } from '@switchyard/contract';
import type { ServerProcess } from './server-process.ts';

export type ApiClient = {
  /** @param message the headers, and the body as `text` */
  post(
    path: string,
    message: { text: string; 'content-type': string; authorization?: string },
  ): Promise<{ status: number; text: string }>;
  get(path: string, authorization: string): Promise<{ status: number; text: string }>;
};

type Message = { text?: string; [header: string]: string | undefined };

export function createApiClient(server: ServerProcess, ca: string): ApiClient {
  function sendRequest(
    method: 'GET' | 'POST',
    path: string,
    { text, ...headers }: Message,
  ): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const clientRequest = request({
        host: '127.0.0.1',
        servername: 'localhost',
        port: server.port,
        ca,
        method,
        path,
        agent: false,
        headers: {
          host: server.authority,
          ...defined({
            'content-length': text === undefined ? undefined : Buffer.byteLength(text),
          }),
          ...headers,
        },
      });
      clientRequest.on('error', reject);
      clientRequest.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, text: answer });
        });
      });
      clientRequest.end(text);
    });
  }
  return {
    post: (path, message) => sendRequest('POST', path, message),
    get: (path, authorization) => sendRequest('GET', path, { authorization }),
  };
}
