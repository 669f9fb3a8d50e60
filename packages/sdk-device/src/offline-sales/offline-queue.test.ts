// The queue of offline sales: limits, the sealed file, uploads, and killed processes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { ProcessRequest, Transaction } from '@switchyard/contract';
import { steppedClock, withFullDisk } from '@switchyard/sdk-core/testing';
import { DeviceError } from '../support/device-error.ts';
import type { OfflineLimits } from './offline-limits.ts';
import { type OfflineQueue, type OfflineQueueOptions, openOfflineQueue } from './offline-queue.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-offline-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const key = Buffer.alloc(32, 7);
const number = `4${'1'.repeat(15)}`;
const approval = { authorizationCode: '9A01B2', reason: 'NoConnection' } as const;
let files = 0;

const sale = (
  clientTransactionId: string,
  members: Partial<ProcessRequest> = {},
): ProcessRequest => ({
  clientTransactionId,
  amount: 1000,
  currency: 'EUR',
  entryMode: 'Keyed',
  instrument: { card: { number, expiryMonth: 3, expiryYear: 2030 } },
  ...members,
});
function open(limits: OfflineLimits = {}, more: Partial<OfflineQueueOptions> = {}) {
  files += 1;
  const clock = steppedClock();
  const options = { file: join(folder, `q${files}`, 'queue'), key, limits, clock, ...more };
  return { queue: openOfflineQueue(options), options, clock };
}
const refusedBy = (
  kind: 'Refused' | 'NotSent' | 'Unknown',
  status: number,
  code = 'x',
  retryable = false,
) => new DeviceError(kind, code, { code, status, retryable, problem: { code } as never });
const stored = (request: ProcessRequest) =>
  ({ clientTransactionId: request.clientTransactionId, state: 'Stored' }) as Transaction;

describe('a queue of offline sales', () => {
  test('numbers sales without gaps across a restart and encrypts the file', () => {
    const { queue, options } = open();
    const other = open();
    other.queue.add(sale('a'), approval);
    other.queue.close();
    assert.equal(queue.add(sale('a'), approval).terminalSequence, 1);
    assert.equal(queue.add(sale('b'), approval).terminalSequence, 2);
    assert.throws(() => queue.add(sale('b'), approval), { code: 'offline_known' });
    queue.close();
    const bytes = readFileSync(options.file, 'latin1');
    assert.equal(statSync(options.file).mode & 0o777, 0o600);
    // Random bytes can contain three letters or four digits, but not in both files.
    const texts = [bytes, readFileSync(other.options.file, 'latin1')].map((text) =>
      [
        text,
        ...text.split('\n').map((line) => Buffer.from(line, 'base64').toString('latin1')),
      ].join(' '),
    );
    for (const clear of [number, '9A01B2', '"amount":1000', '"EUR"', '1000', 'EUR']) {
      const isShort = clear.length < 5;
      const matchCount = texts.filter((text) => text.includes(clear)).length;
      assert.ok(matchCount < (isShort ? texts.length : 1), clear);
    }
    const again = openOfflineQueue(options);
    assert.deepEqual(
      again.sales.map((each) => each.clientTransactionId),
      ['a', 'b'],
    );
    assert.equal(again.add(sale('c'), approval).terminalSequence, 3);
    again.close();
  });

  const limited: [string, OfflineLimits, ProcessRequest[], string][] = [
    ['count', { count: 1 }, [sale('a'), sale('b')], 'offline_count'],
    ['one amount', { amounts: { EUR: 999 } }, [sale('a')], 'offline_amount'],
    ['a currency without an amount', { amounts: { USD: 9999 } }, [sale('a')], 'offline_amount'],
    ['the sum', { sums: { EUR: 1999 } }, [sale('a'), sale('b')], 'offline_sum'],
    ['sales of a card', { perCard: { count: 1 } }, [sale('a'), sale('b')], 'offline_card_count'],
    [
      'the sum of a card',
      { perCard: { sums: { EUR: 1999 } } },
      [sale('a'), sale('b')],
      'offline_card_sum',
    ],
    [
      'a card that is encrypted',
      { perCard: { count: 1 } },
      [sale('a', { instrument: { encrypted: {} } as never })],
      'offline_card_unknown',
    ],
    ['a PIN', {}, [sale('a', { pinblock: '0'.repeat(16) })], 'offline_kind'],
    ['a confirmation', {}, [sale('a', { confirmWithinSeconds: 30 })], 'offline_kind'],
  ];
  for (const [what, limits, sales, code] of limited) {
    test(`rejects a sale beyond its limit: ${what}`, () => {
      const { queue } = open(limits);
      for (const each of sales.slice(0, -1)) queue.add(each, approval);
      const last = sales.at(-1);
      assert.ok(last);
      assert.throws(() => queue.add(last, approval), { code, kind: 'Invalid' });
      assert.equal(queue.sales.length, sales.length - 1);
      queue.close();
    });
  }

  test('limits the age of the oldest sale and recognises a card by track 2 and chip data', () => {
    const { queue, clock } = open({ ageHours: 1, perCard: { count: 2 } });
    queue.add(sale('a', { instrument: { track2: `;${number}=30031010000` } }), approval);
    queue.add(sale('b', { instrument: { emvData: `5710${number}D3003101000000F` } }), approval);
    assert.throws(() => queue.add(sale('c'), approval), { code: 'offline_card_count' });
    clock.advance(3_600_000);
    assert.throws(() => queue.add(sale('d'), approval), { code: 'offline_age' });
    queue.close();
  });

  test('removes an incomplete line, and refuses a file with a changed, moved or invalid line', () => {
    const { queue, options } = open();
    queue.add(sale('a'), approval);
    queue.add(sale('b'), approval);
    queue.close();
    appendFileSync(options.file, 'torn');
    const mended = openOfflineQueue(options);
    assert.equal(mended.sales.length, 2);
    mended.add(sale('c'), approval);
    mended.close();
    const third = openOfflineQueue(options);
    assert.equal(third.sales.length, 3);
    third.close();
    assert.throws(() => openOfflineQueue({ ...options, key: Buffer.alloc(32, 8) }), {
      code: 'queue_damaged',
    });
    assert.throws(() => openOfflineQueue({ ...options, key: Buffer.alloc(16) }), {
      code: 'key_invalid',
    });
    const [head = '', one = '', two = '', ...rest] = readFileSync(options.file, 'utf8').split('\n');
    for (const lines of [
      [head, two, one, ...rest],
      [head, two, ...rest],
      [head, `${one.slice(0, -8)}AAAAAAAA`, two, ...rest],
      ['x', one],
    ]) {
      writeFileSync(options.file, `${lines.join('\n')}\n`);
      assert.throws(() => openOfflineQueue(options), { code: 'queue_damaged' });
    }
  });

  test('uploads in order, stops at a failed upload and keeps refused sales for the operator', async () => {
    const { queue, options } = open();
    for (const id of ['a', 'b', 'c', 'd'])
      queue.add(sale(id, { notAfter: '2020-01-01T00:00:00Z' }), approval);
    const sent: ProcessRequest[] = [];
    const payments = {
      async sell(request: ProcessRequest) {
        sent.push(request);
        if (request.clientTransactionId === 'b') throw refusedBy('Refused', 422, 'offline_too_old');
        if (request.clientTransactionId === 'c') throw refusedBy('Refused', 401, 'token_invalid');
        return stored(request);
      },
    };
    const heard: string[] = [];
    const [results, joined] = await Promise.all([
      queue.upload(payments, { onResult: ({ outcome }) => heard.push(outcome) }),
      queue.upload(payments),
    ]);
    assert.equal(results, joined);
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ['Stored', 'Refused', 'Unsent'],
    );
    assert.deepEqual(heard, ['Stored', 'Refused', 'Unsent']);
    const [first] = sent;
    assert.equal(first?.offlineTransaction, true);
    assert.equal(first?.notAfter, undefined);
    assert.deepEqual(first?.offlineData, {
      authorizedAt: '2027-01-15T08:00:00.000Z',
      authorizationCode: '9A01B2',
      terminalSequence: 1,
      reason: 'NoConnection',
    });
    queue.close();
    const again = openOfflineQueue(options);
    assert.deepEqual(
      again.sales.map((each) => [each.clientTransactionId, each.refusalCode]),
      [
        ['b', 'offline_too_old'],
        ['c', undefined],
        ['d', undefined],
      ],
    );
    assert.throws(() => again.discard('c'), { code: 'offline_waits' });
    again.discard('b');
    const all = await again.upload({ sell: async (request) => stored(request) });
    assert.deepEqual(
      all.map(({ outcome }) => outcome),
      ['Stored', 'Stored'],
    );
    assert.deepEqual(again.sales, []);
    assert.equal(again.add(sale('e'), approval).terminalSequence, 5);
    again.close();
  });

  // Spec: NEXO-73
  test('a sale for another merchant waits until the terminal returns and does not block others', async () => {
    const { queue, options } = open();
    queue.add(sale('a', { merchantId: 'mine' }), approval);
    queue.add(sale('b'), approval);
    queue.add(sale('c', { merchantId: 'another' }), approval);
    const payments = (merchantId: string) => ({
      async sell(request: ProcessRequest) {
        if ((request.merchantId ?? merchantId) === merchantId) return stored(request);
        throw refusedBy('Refused', 403, 'entity_out_of_scope');
      },
    });
    const outcomes = async (of: OfflineQueue, merchantId: string) =>
      (await of.upload(payments(merchantId))).map(({ outcome }) => outcome);
    assert.deepEqual(await outcomes(queue, 'another'), ['Refused', 'Unsent', 'Stored']);
    queue.close();
    const again = openOfflineQueue(options);
    assert.deepEqual(
      again.sales.map((each) => [each.clientTransactionId, each.refusalCode]),
      [
        ['a', 'entity_out_of_scope'],
        ['b', undefined],
      ],
    );
    assert.deepEqual(await outcomes(again, 'another'), ['Refused', 'Unsent']);
    assert.deepEqual(await outcomes(again, 'mine'), ['Stored', 'Stored']);
    assert.deepEqual(again.sales, []);
    again.close();
  });

  test('the file is compacted, the sequence continues and no sale is lost', async () => {
    const { queue, options } = open();
    let shorter = 0;
    for (let made = 1; made <= 1100; made += 1) {
      const before = statSync(options.file).size;
      queue.add(sale(`s${made}`), approval);
      if (statSync(options.file).size < before) {
        shorter += 1;
        // The state after a kill: the queue was not closed.
        const reopened = openOfflineQueue(options);
        assert.equal(reopened.sales[0]?.terminalSequence, made);
        assert.deepEqual(reopened.sales, queue.sales);
        reopened.close();
      }
      await queue.upload({ sell: async (request) => stored(request) });
    }
    queue.close();
    assert.equal(shorter, 1);
    assert.ok(statSync(options.file).size < 200_000);
    const again = openOfflineQueue(options);
    assert.equal(again.add(sale('last'), approval).terminalSequence, 1101);
    again.close();
  });

  test('stores no sale on a full disk, and does not damage stored sales', () => {
    const { queue, options } = open();
    queue.add(sale('a'), approval);
    for (const freeBytes of [0, 7, 50]) {
      const full = () => withFullDisk(freeBytes, () => queue.add(sale('b'), approval));
      assert.throws(full, { code: 'ENOSPC' });
    }
    assert.deepEqual(
      queue.sales.map(({ clientTransactionId }) => clientTransactionId),
      ['a'],
    );
    assert.equal(queue.add(sale('c'), approval).terminalSequence, 2);
    queue.close();
    const again = openOfflineQueue(options);
    assert.deepEqual(
      again.sales.map((each) => [each.clientTransactionId, each.terminalSequence]),
      [
        ['a', 1],
        ['c', 2],
      ],
    );
    again.close();
  });

  // Spec: NEXO-72
  test('a killed process loses no stored sale', async () => {
    const file = join(folder, 'killed', 'queue');
    // Writes synchronously: a stream would wait for the event loop, which this program blocks.
    const program = `
      import { writeSync } from 'node:fs';
      import { openOfflineQueue } from '${new URL('./offline-queue.ts', import.meta.url).href}';
      const queue = openOfflineQueue({ file: ${JSON.stringify(file)}, key: Buffer.alloc(32, 7) });
      for (let made = queue.sales.length + 1; ; made += 1) {
        queue.add({ clientTransactionId: 'k' + made, amount: 1, currency: 'EUR', entryMode: 'Keyed', instrument: { token: 't' } }, { authorizationCode: '1', reason: 'NoConnection' });
        writeSync(1, made + '\\n');
      }`;
    let promised = 0;
    for (let kill = 0; kill < 3; kill += 1) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
      const until = promised + 15;
      let rest = '';
      child.stdout.on('data', (piece) => {
        const lines = (rest + String(piece)).split('\n');
        rest = lines.pop() ?? '';
        promised = Number(lines.at(-1) ?? promised);
        if (promised >= until) child.kill('SIGKILL');
      });
      await once(child, 'close');
      const queue = openOfflineQueue({ file, key });
      assert.ok(queue.sales.length >= promised && promised > 0);
      assert.deepEqual(
        queue.sales.map(({ terminalSequence }) => terminalSequence),
        queue.sales.map((_, index) => index + 1),
      );
      promised = queue.sales.length;
      queue.close();
    }
  });
});
