import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTokenBuckets } from '../runtime/token-bucket.ts';
import { createForwarder } from './forward-messages.ts';

const kib = 1024;

function sample() {
  let buffered = 0;
  let isPaused = false;
  let time = 7;
  const sent: (() => void)[] = [];
  const forwarder = createForwarder({
    from: {
      pause: () => {
        isPaused = true;
      },
      resume: () => {
        isPaused = false;
      },
    },
    to: {
      send(data, _isBinary, done) {
        buffered += data.length;
        sent.push(() => {
          buffered -= data.length;
          done?.();
        });
      },
      buffered: () => buffered,
    },
    now: () => time,
    onForwarded: () => {},
  });
  const pass = (bytes: number) => forwarder.forward(Buffer.alloc(bytes), true);
  const at = (now: number) => {
    time = now;
  };
  return { forwarder, pass, isPaused: () => isPaused, drain: () => sent.shift()?.(), at };
}

describe('a forwarder between two ends', () => {
  it('pauses the sender above 256 KiB of buffered data and resumes it after most of the data is sent', () => {
    const { forwarder, pass, isPaused, drain } = sample();
    for (let n = 0; n < 4; n += 1) pass(64 * kib);
    assert.equal(isPaused(), false);
    pass(64 * kib);
    assert.deepEqual([isPaused(), forwarder.slowSince()], [true, 7]);
    for (let n = 0; n < 3; n += 1) drain();
    assert.equal(isPaused(), true);
    drain();
    assert.deepEqual([isPaused(), forwarder.slowSince()], [false, undefined]);
  });

  it('restarts the slow-reader timer after each read, and does not restart it if the reader reads nothing', () => {
    const { forwarder, pass, isPaused, drain, at } = sample();
    for (let n = 0; n < 5; n += 1) pass(64 * kib);
    at(9_000);
    drain();
    assert.deepEqual([isPaused(), forwarder.slowSince()], [true, 9_000]);
    pass(64 * kib);
    at(18_000);
    drain();
    assert.deepEqual([isPaused(), forwarder.slowSince()], [true, 18_000]);
    at(60_000);
    assert.equal(forwarder.slowSince(), 18_000);
  });

  it('does not restart the slow-reader timer while more than 1 MiB is buffered', () => {
    const { forwarder, pass, drain, at } = sample();
    for (let n = 0; n < 18; n += 1) pass(64 * kib);
    at(5_000);
    drain();
    assert.equal(forwarder.slowSince(), 7);
    drain();
    assert.equal(forwarder.slowSince(), 5_000);
    at(6_000);
    pass(64 * kib);
    at(9_000);
    drain();
    assert.equal(forwarder.slowSince(), 9_000);
  });

  it('requests no send confirmation while the reader is fast, and one for each message while it is slow', () => {
    const confirmationFlags: boolean[] = [];
    const waiting: (() => void)[] = [];
    let buffered = 0;
    const noop = () => {};
    const forwarder = createForwarder({
      from: { pause: noop, resume: noop },
      to: {
        send(data, _isBinary, sent) {
          confirmationFlags.push(sent !== undefined);
          buffered += data.length;
          waiting.push(() => {
            buffered -= data.length;
            sent?.();
          });
        },
        buffered: () => buffered,
      },
      now: () => 7,
      onForwarded: noop,
    });
    const pass = (count: number) => {
      for (let n = 0; n < count; n += 1) forwarder.forward(Buffer.alloc(kib), true);
      return confirmationFlags.splice(0).filter((hasConfirmation) => hasConfirmation).length;
    };
    const drain = () => {
      for (const confirm of waiting.splice(0)) confirm();
    };
    for (let n = 0; n < 1000; n += 1) {
      assert.equal(pass(1), 0);
      drain();
    }
    assert.equal(pass(64), 0, 'so much may lie before it');
    assert.equal(pass(10), 10);
    for (const confirm of waiting.splice(0, 70)) confirm();
    assert.equal(pass(1), 1, 'until all is taken');
    drain();
    assert.equal(pass(1), 0);
  });

  it('lets the sender go on when it ends', () => {
    const { forwarder, pass, isPaused } = sample();
    pass(300 * kib);
    forwarder.stop();
    assert.equal(isPaused(), false);
  });
});

describe('a forwarder of many short messages', () => {
  it('pauses the sender above 1024 waiting messages and resumes it at 256', () => {
    const waiting: (() => void)[] = [];
    let isPaused = false;
    const forwarder = createForwarder({
      from: {
        pause: () => {
          isPaused = true;
        },
        resume: () => {
          isPaused = false;
        },
      },
      to: {
        send: (_data, _isBinary, sent) => void waiting.push(sent ?? (() => {})),
        buffered: () => 2,
      },
      now: () => 7,
      onForwarded: () => {},
    });
    for (let n = 0; n < 1024; n += 1) forwarder.forward(Buffer.of(), false);
    assert.equal(isPaused, false);
    forwarder.forward(Buffer.of(), false);
    assert.deepEqual([isPaused, forwarder.slowSince()], [true, 7]);
    for (const sent of waiting.splice(0, 1025 - 257)) sent();
    assert.equal(isPaused, true);
    for (const sent of waiting.splice(0, 1)) sent();
    assert.deepEqual([isPaused, forwarder.slowSince()], [false, undefined]);
  });
});

describe('a rate', () => {
  it('gives a burst, then so much a second, to each key', () => {
    const rate = createTokenBuckets({ burst: 3, perSecond: 2 });
    const takeTokens = (key: string, at: number) => rate.take(key, at);
    assert.deepEqual(
      [0, 0, 0, 0].map((at) => takeTokens('a', at)),
      [true, true, true, false],
    );
    assert.equal(takeTokens('b', 0), true);
    assert.deepEqual(
      [500, 500, 1000].map((at) => takeTokens('a', at)),
      [true, false, true],
    );
  });
});
