import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createRandom } from './request-schedule.ts';
import { createRequestWriter } from './request-text.ts';

const tills = [
  { token: 'one', deviceIds: [randomUUID(), randomUUID()] },
  { token: 'two', deviceIds: [randomUUID()] },
];

function writer(seed: number) {
  const random = createRandom(seed);
  return createRequestWriter({ authority: 'localhost:1', tills, cards: 40, random });
}

test('a sale is a complete HTTP request with the right length and a device of its token', () => {
  const { sale } = writer(1);
  const modes = new Set<string>();
  for (let count = 0; count < 400; count += 1) {
    const { text, clientTransactionId, till } = sale();
    const [head = '', body = ''] = text.split('\r\n\r\n');
    const length = /Content-Length: (\d+)/.exec(head)?.[1];
    assert.equal(Number(length), Buffer.byteLength(body));
    assert.match(head, new RegExp(`Bearer ${tills[till]?.token}\r\n`));
    const sent = JSON.parse(body);
    assert.equal(sent.clientTransactionId, clientTransactionId);
    assert.ok(tills[till]?.deviceIds.includes(sent.deviceId));
    assert.ok(sent.amount >= 1 && sent.amount < 9000);
    modes.add(sent.entryMode);
  }
  assert.deepEqual([...modes].sort(), ['ContactChip', 'ContactlessChip', 'Keyed']);
});

test('a sale of the kind holds has the capture mode Deferred', () => {
  const { text } = writer(3).sale('holds');
  const [head = '', body = ''] = text.split('\r\n\r\n');
  assert.equal(Number(/Content-Length: (\d+)/.exec(head)?.[1]), Buffer.byteLength(body));
  assert.equal(JSON.parse(body).captureMode, 'Deferred');
});

test('a read names the transaction and ends its header', () => {
  const text = writer(2).read(1, 'abc');
  assert.match(text, /^GET \/payment\/v1\/transactions\/abc HTTP\/1\.1\r\n/);
  assert.match(text, /Bearer two\r\n\r\n$/);
});
