// Reads HTTP/1.1 answers from the bytes of one connection: as much of the protocol as our server uses.

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
