import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createResponseReader, HttpProtocolError } from './http-text.ts';

type ReadResponse = { status: number; body: string; isLast: boolean };

function readAll(chunks: string[]): ReadResponse[] {
  const responses: ReadResponse[] = [];
  const readChunk = createResponseReader(({ status, bytes, bodyStart, bodyEnd, isLast }) =>
    responses.push({ status, body: bytes.toString('utf8', bodyStart, bodyEnd), isLast }),
  );
  for (const chunk of chunks) readChunk(Buffer.from(chunk));
  return responses;
}

const answer = (status: string, body: string, more = '') =>
  `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

describe('the HTTP response reader', () => {
  const one = answer('200 OK', '{"approved":true}');
  const other = answer('503 Service Unavailable', '{"näme":1}', 'connection: close\r\n');
  const expected: ReadResponse[] = [
    { status: 200, body: '{"approved":true}', isLast: false },
    { status: 503, body: '{"näme":1}', isLast: true },
  ];

  test('several complete responses in one chunk are read', () => {
    assert.deepEqual(readAll([one + other]), expected);
  });

  test('responses are read from chunks of any size', () => {
    const bytes = Buffer.from(one + other);
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const responses: ReadResponse[] = [];
      const readChunk = createResponseReader(({ status, bytes: all, bodyStart, bodyEnd, isLast }) =>
        responses.push({ status, body: all.toString('utf8', bodyStart, bodyEnd), isLast }),
      );
      readChunk(bytes.subarray(0, cut));
      readChunk(bytes.subarray(cut));
      assert.deepEqual(responses, expected, `cut at ${cut}`);
    }
  });

  test('a response without a body is read', () => {
    assert.deepEqual(readAll([answer('204 No Content', '')]), [
      { status: 204, body: '', isLast: false },
    ]);
  });

  test('an unsupported response is an error, not a hang', () => {
    assert.throws(() => readAll(['HTTP/1.0 200 OK\r\n\r\n']), HttpProtocolError);
    assert.throws(
      () => readAll(['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n']),
      HttpProtocolError,
    );
  });
});
