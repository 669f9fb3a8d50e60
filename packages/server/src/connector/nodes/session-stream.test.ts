// Tests a session over NATS: its order, its flow control, and its end after a loss.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createForwarder } from '../forwarding/forward-messages.ts';
import { createFakeNats } from './fake-nats-connection.fixture.ts';
import { writeFrame } from './session-frames.ts';
import { createSessionStream } from './session-stream.ts';

type ReceivedMessage = { data: Buffer; isBinary: boolean; confirm: () => void };

function openPair() {
  const nats = createFakeNats();
  const clock = { time: 0, now: () => clock.time };
  const [a, b] = ['here', 'there'].map((localName) => {
    const heard: ReceivedMessage[] = [];
    const ends: unknown[] = [];
    const remoteName = localName === 'here' ? 'there' : 'here';
    const pipe = createSessionStream(
      {
        natsClient: nats.natsClient(),
        clock,
        localSubject: localName,
        remoteSubject: remoteName,
        onEnded: () => ends.push('ended'),
      },
      {
        opened: () => ends.push('opened'),
        message: (data, isBinary, confirm) => heard.push({ data, isBinary, confirm }),
        closed: (code, reason) => ends.push([code, reason]),
        lost: () => ends.push('lost'),
      },
    );
    return { pipe, heard, ends };
  }) as [Side, Side];
  return { nats, clock, a, b };
}
type Side = {
  pipe: ReturnType<typeof createSessionStream>;
  heard: ReceivedMessage[];
  ends: unknown[];
};

const textOf = ({ heard }: Side) => heard.map(({ data }) => data.toString());

test('the session stream delivers messages complete, in order, and with their text or binary type', async () => {
  const { nats, a, b } = openPair();
  a.pipe.open();
  a.pipe.send(Buffer.from('one'), false);
  a.pipe.send(Buffer.of(1, 2), true);
  a.pipe.send(Buffer.of(), false);
  const large = Buffer.alloc(1_048_576, 9);
  a.pipe.send(large, true);
  b.pipe.send(Buffer.from('back'), false);
  await nats.settle();
  assert.deepEqual(
    b.heard.map(({ data, isBinary }) => [data.length, isBinary]),
    [
      [3, false],
      [2, true],
      [0, false],
      [1_048_576, true],
    ],
  );
  assert.ok(b.heard[3]?.data.equals(large));
  assert.deepEqual(textOf(a), ['back']);
  assert.deepEqual(b.ends, ['opened']);
});

test('the session stream counts unacknowledged messages as buffered and notifies the sender after each acknowledgement', async () => {
  const { nats, a, b } = openPair();
  // Each message counts 64 bytes more than its data.
  const each = 100 + 64;
  let sent = 0;
  for (let count = 0; count < 3; count += 1) {
    a.pipe.send(Buffer.alloc(100), true, () => {
      sent += 1;
    });
  }
  await nats.settle();
  assert.deepEqual([a.pipe.buffered(), sent], [3 * each, 0]);
  b.heard[0]?.confirm();
  b.heard[1]?.confirm();
  await nats.settle();
  assert.deepEqual([a.pipe.buffered(), sent], [each, 2]);
  b.pipe.pause();
  b.heard[2]?.confirm();
  await nats.settle();
  assert.deepEqual([a.pipe.buffered(), sent], [each, 2], 'a paused end sends no acknowledgement');
  b.pipe.resume();
  await nats.settle();
  assert.deepEqual([a.pipe.buffered(), sent], [0, 3]);
});

test('the session stream acknowledges empty messages one by one', async () => {
  const { nats, a, b } = openPair();
  let sent = 0;
  for (let count = 0; count < 5; count += 1) {
    a.pipe.send(Buffer.of(), false, () => {
      sent += 1;
    });
  }
  await nats.settle();
  assert.deepEqual([b.heard.length, sent, a.pipe.buffered() > 0], [5, 0, true]);
  for (const [at, { confirm }] of b.heard.entries()) {
    confirm();
    await nats.settle();
    assert.equal(sent, at + 1);
  }
  assert.equal(a.pipe.buffered(), 0);
});

test('a forwarder over the session stream pauses its sender while the reader on the other node does not read', async () => {
  const { nats, a, b } = openPair();
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
      send: (data, isBinary, sent) => a.pipe.send(Buffer.from(data), isBinary ?? false, sent),
      buffered: a.pipe.buffered,
    },
    now: () => 0,
    onForwarded: () => {},
  });
  let offered = 0;
  for (let iteration = 0; iteration < 1000 && !isPaused; iteration += 1) {
    forwarder.forward(Buffer.alloc(16_384), true);
    offered += 16_384;
    await nats.settle();
  }
  assert.ok(isPaused && offered <= 256 * 1024 + 16_384, `${offered} bytes were taken from it`);
  for (const { confirm } of b.heard) confirm();
  await nats.settle();
  assert.equal(isPaused, false);
});

test('a lost, repeated or invalid message ends the session at both ends', async () => {
  for (const harm of ['lost', 'twice', 'garbage'] as const) {
    const { nats, a, b } = openPair();
    a.pipe.send(Buffer.from('first'), false);
    await nats.settle();
    const natsClient = nats.natsClient();
    if (harm === 'lost') {
      nats.passes = () => false;
      a.pipe.send(Buffer.from('second'), false);
      nats.passes = () => true;
      a.pipe.send(Buffer.from('third'), false);
    } else if (harm === 'twice') {
      const body = Buffer.from('first');
      natsClient.publish('there', writeFrame({ kind: 'text', sequence: 0, hasMore: false, body }));
    } else natsClient.publish('there', Buffer.from([0x7f, 0, 0]));
    await nats.settle();
    assert.deepEqual(textOf(b), ['first'], harm);
    assert.deepEqual(b.ends, ['ended', 'lost'], harm);
    a.pipe.tick(2000);
    await nats.settle();
    assert.deepEqual(a.ends, ['ended', 'lost'], `${harm}: the other end loses its peer`);
  }
});

test('parts without an end do not fill the memory of a node', async () => {
  const { nats, b } = openPair();
  const natsClient = nats.natsClient();
  const body = Buffer.alloc(256 * 1024);
  for (let sequence = 0; sequence < 10; sequence += 1) {
    natsClient.publish('there', writeFrame({ kind: 'binary', sequence, hasMore: true, body }));
  }
  await nats.settle();
  assert.deepEqual([b.heard.length, b.ends], [0, ['ended', 'lost']]);
});

test('the session stream delivers a close with its code and reason after all earlier messages', async () => {
  const { nats, a, b } = openPair();
  a.pipe.send(Buffer.from('last'), false);
  a.pipe.close(4001, 'superseded');
  a.pipe.send(Buffer.from('too late'), false);
  await nats.settle();
  assert.deepEqual(textOf(b), ['last']);
  assert.deepEqual(b.ends, ['ended', [4001, 'superseded']]);
  assert.deepEqual(a.ends, ['ended']);
  assert.equal(a.pipe.buffered(), 0);
});

test('the session stream completes the callbacks of unacknowledged messages when the session ends', async () => {
  const { nats, a } = openPair();
  let sent = 0;
  a.pipe.send(Buffer.alloc(10), true, () => {
    sent += 1;
  });
  a.pipe.disconnect();
  await nats.settle();
  assert.deepEqual([sent, a.ends], [1, ['ended', 'lost']]);
  a.pipe.disconnect();
  assert.deepEqual(a.ends, ['ended', 'lost'], 'once');
});

test('the session stream checks its peer, stays open while the peer answers, and ends when NATS is unavailable', async () => {
  const { nats, a, b } = openPair();
  a.pipe.tick(1999);
  a.pipe.tick(2000);
  await nats.settle();
  assert.deepEqual([a.ends, b.ends], [[], []]);
  nats.isUp = false;
  b.pipe.tick(2000);
  await nats.settle();
  assert.deepEqual(b.ends, ['ended', 'lost']);
});
