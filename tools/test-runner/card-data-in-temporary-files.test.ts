// What tests leave in temporary files is searched, and what others do there meanwhile is no fault.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findCardDataInFiles } from './card-data-in-temporary-files.ts';

test('a card number is found in a file of this run, not in older files or files of other users', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'left-behind-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const exceptFolder = join(folder, 'switchyard-secrets-1');
  const made = ['switchyard-test-1/deep', 'switchyard-old-1', 'another-1'];
  for (const name of [exceptFolder, ...made.map((each) => join(folder, each))]) {
    mkdirSync(name, { recursive: true });
  }
  const pan = '4111111111111111';
  const secretsFile = join(exceptFolder, 'sent.txt');
  writeFileSync(secretsFile, `card number\t${pan}\n`);
  for (const name of made) {
    writeFileSync(join(folder, name, 'note.bin'), Buffer.from(`x${pan}`).toString('base64'));
  }
  const since = Date.now() - 60_000;
  utimesSync(join(folder, 'switchyard-old-1'), 1, 1);
  const faults = findCardDataInFiles({ secretsFile, since, folder, exceptFolder });
  assert.deepEqual(
    faults.map(({ where }) => where),
    [join(folder, 'switchyard-test-1/deep/note.bin')],
  );
  const nothing = { secretsFile: join(exceptFolder, 'none.txt'), since, folder, exceptFolder };
  assert.deepEqual(findCardDataInFiles(nothing), []);
});
