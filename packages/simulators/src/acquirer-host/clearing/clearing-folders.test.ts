import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { watchClearingFolders } from './clearing-folders.ts';

const limitMs = 30_000;

async function until(condition: () => boolean): Promise<void> {
  for (const end = performance.now() + limitMs; !condition(); ) {
    assert.ok(performance.now() < end, 'waited too long');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('the host answers a clearing file in the outbox, and reports and archives an invalid file', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-box-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const faults: string[] = [];
  const box = watchClearingFolders({
    directory,
    desk: {
      process(text) {
        if (text !== 'good') throw new Error('not a clearing file');
        return 'taken';
      },
    },
    onFault: (_error, file) => faults.push(file),
  });
  t.after(box.stop);
  const at = (...names: string[]) => join(directory, ...names);
  for (const [name, text] of [
    ['good.txt', 'good'],
    ['bad.txt', 'bad'],
  ] as const) {
    // Under way it has another ending.
    writeFileSync(at('inbox', `${name}.new`), text);
    renameSync(at('inbox', `${name}.new`), at('inbox', name));
  }
  await until(() => existsSync(at('done', 'good.txt')) && existsSync(at('done', 'bad.txt')));
  assert.equal(readFileSync(at('outbox', 'good.ack'), 'utf8'), 'taken');
  assert.ok(!existsSync(at('outbox', 'bad.ack')));
  assert.deepEqual(faults, ['bad.txt']);
});
