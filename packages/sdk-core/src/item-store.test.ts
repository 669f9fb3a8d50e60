// The file store: its content after a restart, and on a full disk.
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { syncDirectory } from './append-file.ts';
import { fileItemStore } from './item-store.ts';
import { withFailingSync, withFullDisk } from './testing.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-items-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Item = { readonly id: string; readonly value?: number };

const openStore = (path: string) =>
  fileItemStore<Item>({ path, keyOf: ({ id }) => id, removedMember: 'gone' });

function storedItems(path: string): readonly Item[] {
  const store = openStore(path);
  const items = store.load();
  store.close();
  return items;
}

describe('a store of items in a file', () => {
  test('a full disk throws, and later items are readable', () => {
    const path = join(folder, 'full', 'items.jsonl');
    const store = openStore(path);
    store.save({ id: 'a' });
    for (const freeBytes of [0, 9]) {
      assert.throws(() => withFullDisk(freeBytes, () => store.save({ id: 'b' })), {
        code: 'ENOSPC',
      });
      assert.throws(() => withFullDisk(freeBytes, () => store.remove('a')), { code: 'ENOSPC' });
    }
    assert.deepEqual(store.load(), [{ id: 'a' }]);
    store.save({ id: 'c' });
    store.remove('a');
    store.close();
    assert.deepEqual(storedItems(path), [{ id: 'c' }]);
  });

  test('a restart keeps the last value of each item and removes an incomplete line', () => {
    const path = join(folder, 'restart', 'items.jsonl');
    const store = openStore(path);
    for (const value of [1, 2]) store.save({ id: 'a', value });
    store.save({ id: 'b' });
    store.remove('b');
    store.close();
    appendFileSync(path, '{"put":{"id":"c');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(storedItems(path), [{ id: 'a', value: 2 }]);
    assert.equal(readFileSync(path, 'utf8'), '{"put":{"id":"a","value":2}}\n');
  });

  test('a damaged line is an error that names the file and the line, and not its content', () => {
    const path = join(folder, 'damaged', 'items.jsonl');
    const store = openStore(path);
    store.save({ id: 'a' });
    store.close();
    appendFileSync(path, 'secret{\n{"put":{"id":"b"}}\n');
    assert.throws(
      () => openStore(path),
      (error: Error) => {
        assert.ok(error.message.includes(`${path} is damaged: line 2`), error.message);
        assert.ok(!`${error.stack} ${String(error.cause)}`.includes('secret'));
        return true;
      },
    );
  });

  test('a directory that cannot be synced leaves no open file descriptor', () => {
    const path = join(folder, 'sync', 'items.jsonl');
    openStore(path).close();
    const openFiles = () => readdirSync('/proc/self/fd').length;
    const before = openFiles();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      assert.throws(() => withFailingSync(() => syncDirectory(path)), { code: 'EIO' });
    }
    assert.equal(openFiles(), before);
  });
});
