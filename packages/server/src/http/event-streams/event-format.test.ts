import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import {
  formatEvent,
  formatStreamEnd,
  formatStreamStart,
  readStreamCursor,
  wantsEventStream,
} from './event-format.ts';

describe('the format of a stream', () => {
  it('is an id, a type and a line of data', () => {
    const text = formatEvent({ id: 7, type: 'qr.completed', data: '{"a":1}' });
    assert.equal(text, 'id: 7\nevent: qr.completed\ndata: {"a":1}\n\n');
  });

  it('no line of the data can be read as a field of another event', () => {
    for (const end of ['\n', '\r', '\r\n']) {
      const text = formatEvent({ id: 1, type: 't', data: `a${end}id: 9${end}${end}event: end` });
      assert.equal(text, 'id: 1\nevent: t\ndata: a\ndata: id: 9\ndata: \ndata: event: end\n\n');
    }
  });

  it('contains the start position, the reconnection time and the reason of the end', () => {
    assert.equal(formatStreamStart(41, 1500), 'id: 41\nretry: 1500\n\n');
    assert.equal(formatStreamEnd('replaced'), 'event: end\ndata: {"reason":"replaced"}\n\n');
  });
});

describe('the cursor of a client', () => {
  const cursorOf = (lastEventId: string | undefined, after?: number) =>
    readStreamCursor({ headers: { 'last-event-id': lastEventId } }, after);

  it('is Last-Event-ID, which wins over the query parameter', () => {
    assert.equal(cursorOf('12', 3), 12);
    assert.equal(cursorOf('0', 3), 0);
    assert.equal(cursorOf('9007199254740991'), Number.MAX_SAFE_INTEGER);
    assert.equal(cursorOf(undefined, 3), 3);
    assert.equal(cursorOf('', 3), 3);
    assert.equal(cursorOf(undefined), 0);
  });

  it('is rejected when it is not an event id', () => {
    for (const lastEventId of ['-1', '1.0', '01', '1e3', ' 1', 'a', '9007199254740992', '1, 2']) {
      assert.throws(
        () => cursorOf(lastEventId),
        (error) => error instanceof ProblemError && error.code === 'header_invalid',
        lastEventId,
      );
    }
  });
});

describe('a client that accepts a stream', () => {
  const wants = (accept: string | undefined) => wantsEventStream({ headers: { accept } });

  it('names text/event-stream in Accept', () => {
    for (const accept of [
      'text/event-stream',
      'Text/Event-Stream',
      'text/event-stream, application/json',
      'application/json;q=0.5, text/event-stream',
      'text/event-stream, */*',
    ]) {
      assert.equal(wants(accept), true, accept);
    }
  });

  it('does not accept a stream by a wildcard or with a preference for JSON', () => {
    for (const accept of [
      undefined,
      '*/*',
      'text/*',
      'application/json',
      'text/event-stream;q=0',
      'text/event-stream;q=0.4, application/json',
    ]) {
      assert.equal(wants(accept), false, accept);
    }
  });
});
