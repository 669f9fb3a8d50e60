import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CommandError } from '../runtime/command-error.ts';
import { parseEstateDocument } from './convert-estate-document.ts';
import { formatEstate, readEstateFile } from './estate-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-estate-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const place = { country: 'NO', mcc: '0742', timeZone: 'Europe/Oslo' };

/** Texts that YAML could read as another type. */
const names = [
  'NO',
  'null',
  '~',
  '1_000',
  '0o7',
  '1e3',
  '2026-01-01',
  ' a',
  'a: b',
  '#x',
  "'",
  '"',
];
const odd = ['- a', '!x', '&a', '*a', '<<', '=', '%', '@', 'a\u0085b', 'a\u2028b', '𝒳', 'é\u0301'];

test('texts that look like other YAML types are read back unchanged', () => {
  const merchants = [...names, ...odd].map((name, at) => ({
    ...place,
    externalId: `m${at}`,
    name,
  }));
  const labels = { yes: 'on', '1': '01' };
  const document = { merchants: [...merchants, { ...place, externalId: 'z', name: 'Z', labels }] };
  for (const file of ['estate.yaml', 'estate.json']) {
    const text = formatEstate(parseEstateDocument(document), file.endsWith('.json'));
    writeFileSync(join(folder, file), text);
    const reparsed = readEstateFile(join(folder, file));
    const readNames = reparsed.resources.map(({ members }) => [
      members['externalId'],
      members['name'],
    ]);
    const expected = document.merchants.map(({ externalId, name }) => [externalId, name]);
    assert.deepEqual(readNames.sort(), expected.sort());
    assert.deepEqual(reparsed.resources.find(({ key }) => key === 'z')?.members['labels'], labels);
    assert.equal(formatEstate(reparsed, file.endsWith('.json')), text);
  }
});

test('duplicates and missing references are reported with their lines', () => {
  const file = join(folder, 'twice.yaml');
  writeFileSync(
    file,
    `format: switchyard-estate/1
merchants: []
users:
  - { username: ann, email: a@b.example }
  - { username: ANN, email: a@b.example, merchant: gone }
`,
  );
  assert.throws(
    () => readEstateFile(file),
    (error: unknown) => {
      assert.ok(error instanceof CommandError && error.exit === 'usage');
      assert.deepEqual(error.more, [
        'line 5: /users/1 user ann is in the list twice',
        'line 5: /users/1/merchant refers to a merchant “gone” that the file does not have',
      ]);
      return true;
    },
  );
});

test('a binary, missing or unreadable file is a usage error', () => {
  writeFileSync(join(folder, 'bytes.yaml'), Buffer.from([0xff, 0xfe, 0x00]));
  for (const file of ['bytes.yaml', 'nowhere.yaml', '.']) {
    assert.throws(
      () => readEstateFile(join(folder, file)),
      (error: unknown) => error instanceof CommandError && error.exit === 'usage',
    );
  }
});
