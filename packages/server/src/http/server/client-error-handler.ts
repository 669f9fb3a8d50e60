// Writes the response to data that is not a valid request: malformed HTTP, oversized headers, a request timeout.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, errorCodes, ProblemError } from '@switchyard/contract';
import { problemMediaType, problemOf } from '../responses/problem-responses.ts';
import { hstsHeaderLines } from './strict-transport-security.ts';

const errorByNodeCode: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request headers are longer than the limit.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['payload_too_large', 'The chunk extensions are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [
    'request_timeout',
    'The server did not receive the whole request in time.',
  ],
};

export function createClientErrorHandler(
  baseUrl: string,
  requestId: () => string,
  sendsHsts: boolean,
) {
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const [code, detail] = errorByNodeCode[error.code ?? ''] ?? [
      'request_malformed' as const,
      'The request is not valid HTTP.',
    ];
    const id = requestId();
    const { status } = errorCodes[code];
    const body = JSON.stringify(problemOf(new ProblemError(code, detail), id, baseUrl));
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      `Content-Type: ${problemMediaType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${id}`,
      ...hstsHeaderLines(sendsHsts),
      'Connection: close',
    ];
    // The client may never read, so the socket is destroyed when the response is sent.
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  };
}
