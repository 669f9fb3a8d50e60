// Writes HTTP/1.1 requests and reads answers from the bytes of one connection: as much of the protocol as our server uses.
import type { SingleRequest } from '../environment/send-single-request.ts';

export type HttpResponse = {
  status: number;
  /** The bytes in which the body lies; valid until the handler returns. */
  bytes: Buffer;
  bodyStart: number;
  bodyEnd: number;
  /** The server will close the connection after this answer. */
  isLast: boolean;
};

export class HttpProtocolError extends Error {}

const headEnd = Buffer.from('\r\n\r\n');
const statusAt = 'HTTP/1.1 '.length;
const lengthHeader = 'content-length: ';

type Head = { status: number; bodyStart: number; bodyEnd: number; isLast: boolean };

function readHead(bytes: Buffer, start: number): Head | undefined {
  const end = bytes.indexOf(headEnd, start);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', start, end).toLowerCase();
  if (!head.startsWith('http/1.1 ')) throw new HttpProtocolError('no HTTP/1.1 answer');
  const at = head.indexOf(lengthHeader);
  if (at < 0) throw new HttpProtocolError('an answer without content-length');
  const length = Number.parseInt(head.slice(at + lengthHeader.length, at + 32), 10);
  const bodyStart = end + headEnd.length;
  return {
    status: Number.parseInt(head.slice(statusAt, statusAt + 3), 10),
    bodyStart,
    bodyEnd: bodyStart + length,
    isLast: head.includes('connection: close'),
  };
}

/** Gives a function that takes chunks in order and calls back once for each whole answer. */
export function createResponseReader(
  onAnswer: (answer: HttpResponse) => void,
): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  return (chunk) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    while (start < bytes.length) {
      const head = readHead(bytes, start);
      if (head === undefined || head.bodyEnd > bytes.length) break;
      onAnswer({ ...head, bytes });
      start = head.bodyEnd;
    }
    rest = start < bytes.length ? bytes.subarray(start) : undefined;
  };
}

const codeMember = /"code":"(\w+)"/;

/** The status and the error code of an answer that is not the right one. */
export function describeFailure(
  { status, bytes, bodyStart, bodyEnd }: HttpResponse,
  reason: string,
): string {
  return `${status} ${codeMember.exec(bytes.toString('utf8', bodyStart, bodyEnd))?.[1] ?? reason}`;
}

/** Accepts answers with this status and with this text in the body. */
export function expectInBody(expected: string, status = 200) {
  const bytes = Buffer.from(expected);
  return (answer: HttpResponse): string | undefined => {
    const at = answer.status === status ? answer.bytes.indexOf(bytes, answer.bodyStart) : -1;
    return at < 0 || at > answer.bodyEnd
      ? describeFailure(answer, 'without the requested object')
      : undefined;
  };
}

/** A request as HTTP text. */
export function writeRequest(
  authority: string,
  {
    method = 'GET',
    path,
    token,
    accept,
    contentType = 'application/json',
    body = '',
  }: SingleRequest,
): string {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${authority}`];
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
  if (accept !== undefined) lines.push(`Accept: ${accept}`);
  if (body !== '') {
    lines.push(`Content-Type: ${contentType}`, `Content-Length: ${Buffer.byteLength(body)}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
