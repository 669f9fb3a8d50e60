// Parses event streams in pieces, with every kind of line end, and from a server that never stops.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createEventParser } from './server-sent-events.ts';

const bytes = (text: string) => Buffer.from(text);

describe('a reader of events', () => {
  test('finds the same events for every split of the bytes', () => {
    const text =
      'event: qr.pending\r\ndata: {"a":1}\r\n\r\n: ping\n\ndata: zwei ☂\rdata: drei\r\rid: 4\n\n';
    const whole = createEventParser().parse(bytes(`${text}data: end\n\n`));
    assert.deepEqual(whole, [
      { type: 'qr.pending', data: '{"a":1}' },
      { type: 'message', data: 'zwei ☂\ndrei' },
      { type: 'message', data: 'end' },
    ]);
    const reader = createEventParser();
    const events = [...bytes(`${text}data: end\n\n`)].flatMap((byte) =>
      reader.parse(Uint8Array.of(byte)),
    );
    assert.deepEqual(events, whole);
  });

  test('an event longer than the limit is rejected, in one line and in many', () => {
    const inOne = createEventParser();
    assert.throws(() => {
      for (let piece = 0; piece < 20; piece += 1) inOne.parse(bytes('x'.repeat(100_000)));
    }, /too long/);
    const inMany = createEventParser();
    assert.throws(() => {
      for (let piece = 0; piece < 20_000; piece += 1)
        inMany.parse(bytes(`data: ${'x'.repeat(100)}\n`));
    }, /too long/);
    const many = createEventParser();
    let eventCount = 0;
    for (let piece = 0; piece < 20_000; piece += 1) {
      eventCount += many.parse(bytes(`data: ${'x'.repeat(100)}\n\n`)).length;
    }
    assert.equal(eventCount, 20_000, 'many short ones are no long one');
  });
});
