// Whole run: much is made, or waited for, before it shows.
// The stored state of a terminal: every change, over kills at any moment, in a file that stays small.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { ServiceRecord } from '@switchyard/nexo';
import { openTerminalStore, type PendingSale, type TerminalState } from './terminal-store.ts';

describe('the memory of a terminal', () => {
  const folders: string[] = [];
  after(() => {
    for (const each of folders) rmSync(each, { recursive: true, force: true });
  });

  function folder(): string {
    const made = mkdtempSync(join(tmpdir(), 'switchyard-terminal-memory-'));
    folders.push(made);
    return made;
  }
  const fileOf = (directory: string) => join(directory, 'terminal.jsonl');
  /** As in JSON: an omitted member equals an undefined one. */
  const plain = (memory: TerminalState): unknown => JSON.parse(JSON.stringify(memory));
  const service = (serviceId: string, at: number, more: Partial<ServiceRecord> = {}) =>
    ({ saleId: 'till', serviceId, category: 'Payment', at, ...more }) satisfies ServiceRecord;
  const pending: PendingSale = {
    header: {
      MessageClass: 'Service',
      MessageCategory: 'Payment',
      MessageType: 'Request',
      ServiceID: '1',
      SaleID: 'till',
      POIID: 'poi',
    },
    saleData: {
      SaleTransactionID: { TransactionID: '1', TimeStamp: '2026-03-01T10:00:00.000Z' },
    },
    kind: 'Sale',
    clientTransactionId: 'a',
    amount: 1,
    currency: 'EUR',
    until: 1,
  };

  test('each kind of change is there after a start, in its order', () => {
    const directory = folder();
    const store = openTerminalStore(directory);
    const [first, second] = [service('1', 1), service('2', 2)];
    store.update({ dialogue: { services: [first, second], loggedIn: ['till'] }, keys: 7 });
    store.update({ pending, transactions: 1 });
    const answered = { ...first, refused: true } as const;
    store.update({ dialogue: { services: [answered, second], loggedIn: [] } });
    store.update({ pending: undefined, reversals: [{ ...pending, reason: 'Timeout' }] });
    const line = { type: 'Debit', brand: 'Visa', currency: 'EUR', amount: 5, saleId: 'till' };
    store.update({ books: { open: { number: 2, lines: [{ ...line, count: 1 }] }, closed: [] } });
    store.update({ accounts: { giftCards: { a: 5 }, points: {} } });
    assert.deepEqual(plain(openTerminalStore(directory).read()), plain(store.read()));
    // Deleted, and used again: it is the newest then.
    const again = service('1', 9);
    store.update({ dialogue: { services: [second, again], loggedIn: [] }, reversals: [] });
    const restored = openTerminalStore(directory).read();
    assert.deepEqual(restored.dialogue?.services, [second, again]);
    assert.deepEqual(plain(restored), plain(store.read()));
    assert.equal(statSync(fileOf(directory)).mode & 0o777, 0o600);
  });

  test('a new message writes less than 200 bytes, and the file size stays proportional to the stored data', () => {
    const directory = folder();
    const store = openTerminalStore(directory);
    let services: readonly ServiceRecord[] = Array.from({ length: 4_000 }, (_, at) =>
      service(`old ${at}`, at),
    );
    store.update({ dialogue: { services, loggedIn: [] } });
    const before = statSync(fileOf(directory)).size;
    services = [...services, service('new', 4_000)];
    store.update({ dialogue: { services, loggedIn: [] } });
    const cost = statSync(fileOf(directory)).size - before;
    assert.ok(cost > 0 && cost < 200, `${cost} bytes for one message`);
    store.update({ dialogue: { services: [...services], loggedIn: [] } });
    assert.equal(statSync(fileOf(directory)).size, before + cost, 'nothing new, nothing written');
    for (let at = 4_001; at < 7_000; at += 1) {
      services = [...services.slice(1), service(`new ${at}`, at)];
      store.update({ dialogue: { services, loggedIn: [] }, transactions: at });
    }
    const most = 2 * Buffer.byteLength(JSON.stringify(store.read())) + 1_000;
    const { size } = statSync(fileOf(directory));
    assert.ok(size < most, `${size} bytes where ${most} are enough`);
    assert.deepEqual(plain(openTerminalStore(directory).read()), plain(store.read()));
  });

  test('the store drops an incomplete last line, and refuses to open a file with a damaged line', () => {
    const directory = folder();
    const file = fileOf(directory);
    const store = openTerminalStore(directory);
    store.update({ transactions: 1 });
    store.update({ transactions: 2 });
    store.update({ transactions: 3 });
    const whole = readFileSync(file);
    truncateSync(file, whole.length - 5);
    const torn = openTerminalStore(directory);
    assert.equal(torn.read().transactions, 2);
    torn.update({ keys: 1 });
    const { transactions, keys } = openTerminalStore(directory).read();
    assert.deepEqual([transactions, keys], [2, 1], 'the next record has its own line');
    appendFileSync(file, 'nonsense\n{}\n');
    assert.throws(() => openTerminalStore(directory), /line \d+ of .* is damaged/);
  });

  test('a failed write leaves the state unchanged, and a later update is stored', () => {
    const directory = folder();
    const store = openTerminalStore(directory);
    store.update({ transactions: 1 });
    rmSync(directory, { recursive: true });
    assert.throws(() => store.update({ transactions: 2 }));
    assert.equal(store.read().transactions, 1);
    openTerminalStore(directory);
    store.update({ keys: 5 });
    const { transactions, keys } = openTerminalStore(directory).read();
    assert.deepEqual([transactions, keys], [1, 5]);
  });

  // Spec: NEXO-53
  test('a process that is killed at any time loses no stored record', async () => {
    const directory = folder();
    // Records as large as an answer with its receipts, so that the file is rewritten now and then. What it
    // says it says at once: a stream would keep it for a turn of the event loop that never comes.
    const program = `
      import { writeSync } from 'node:fs';
      import { openTerminalStore } from '${new URL('./terminal-store.ts', import.meta.url).href}';
      const store = openTerminalStore(${JSON.stringify(directory)});
      const padding = 'x'.repeat(4000);
      for (let at = store.read().transactions + 1; ; at += 1) {
        const { services } = store.read().dialogue;
        const record = { saleId: 'till', serviceId: String(at), category: 'Payment', at, padding };
        store.update({ transactions: at, dialogue: { services: [...services.slice(-150), record], loggedIn: [] } });
        writeSync(1, at + '\\n');
      }`;
    let promised = 0;
    for (let kill = 0; kill < 4; kill += 1) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
      const until = promised + 120 + kill * 37;
      let rest = '';
      child.stdout.on('data', (piece) => {
        const lines = (rest + String(piece)).split('\n');
        rest = lines.pop() ?? '';
        promised = Number(lines.at(-1) ?? promised);
        if (promised >= until) child.kill('SIGKILL');
      });
      await once(child, 'close');
      const { transactions, dialogue } = openTerminalStore(directory).read();
      assert.ok(transactions >= promised && promised >= until, `${transactions} of ${promised}`);
      const serviceNumbers = dialogue?.services.map(({ serviceId }) => Number(serviceId)) ?? [];
      const first = transactions - serviceNumbers.length + 1;
      assert.deepEqual(
        serviceNumbers,
        serviceNumbers.map((_, at) => first + at),
      );
      assert.ok(serviceNumbers.length >= 120);
      promised = transactions;
    }
  });
});
