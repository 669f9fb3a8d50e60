// Answers leave only after the ledger, and never without it.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { createAnswerQueue } from './send-answers.ts';

function fakeSocket(log: string[], name: string, unreadBytes = 0) {
  const socket = {
    destroyed: false,
    writableLength: unreadBytes,
    cork() {},
    uncork() {},
    write: (frame: Buffer) => log.push(`${name} ${frame}`),
    destroy() {
      socket.destroyed = true;
      log.push(`${name} cut`);
    },
  };
  return socket as unknown as Socket;
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('the outbox', () => {
  it('writes the ledger once for all answers of a turn, then sends them', async () => {
    const log: string[] = [];
    const outbox = createAnswerQueue({
      flush: () => log.push('flush'),
      onFault: () => assert.fail(),
    });
    const [a, b] = [fakeSocket(log, 'a'), fakeSocket(log, 'b')];
    outbox.send(a, Buffer.from('1'));
    outbox.send(b, Buffer.from('2'));
    outbox.disconnect(a);
    outbox.send(a, Buffer.from('3'));
    outbox.scheduleFlush();
    assert.deepEqual(log, []);
    await nextTurn();
    assert.deepEqual(log, ['flush', 'a 1', 'b 2', 'a cut']);
    outbox.scheduleFlush();
    await nextTurn();
    assert.equal(log.at(-1), 'flush');
  });

  it('cuts the connections when the ledger cannot be written', async () => {
    const log: string[] = [];
    let full = true;
    const outbox = createAnswerQueue({
      flush() {
        if (full) throw new Error('no space');
      },
      onFault: () => log.push('fault'),
    });
    const socket = fakeSocket(log, 'a');
    outbox.send(socket, Buffer.from('1'));
    await nextTurn();
    full = false;
    outbox.send(fakeSocket(log, 'b'), Buffer.from('2'));
    await nextTurn();
    assert.deepEqual(log, ['fault', 'a cut', 'b 2']);
  });

  it('cuts off a peer that does not read', async () => {
    const log: string[] = [];
    const outbox = createAnswerQueue({ flush() {}, onFault: () => assert.fail() });
    outbox.send(fakeSocket(log, 'deaf', 2 ** 20 + 1), Buffer.from('1'));
    await nextTurn();
    assert.deepEqual(log, ['deaf cut']);
  });
});
