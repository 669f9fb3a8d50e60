// Asks the server under test for single things over HTTPS: tokens, refunds.
import { request } from 'node:https';
import type { ServerProcess } from './server-process.ts';

export type Api = {
  /** @param message the headers, and the body as `text` */
  post(
    path: string,
    message: { text: string; 'content-type': string; authorization?: string },
  ): Promise<{ status: number; text: string }>;
};

export function createApi(server: ServerProcess, ca: string): Api {
  return {
    post: (path, { text, ...headers }) =>
      new Promise((resolve, reject) => {
        const asked = request({
          host: '127.0.0.1',
          servername: 'localhost',
          port: server.port,
          ca,
          method: 'POST',
          path,
          agent: false,
          headers: {
            host: server.authority,
            'content-length': Buffer.byteLength(text),
            ...headers,
          },
        });
        asked.on('error', reject);
        asked.on('response', (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const answer = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode ?? 0, text: answer });
          });
        });
        asked.end(text);
      }),
  };
}
