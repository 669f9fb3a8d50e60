import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CommandFault } from '../runtime/command-error.ts';
import { estateOf } from './estate-document.ts';
import { estateText, readEstate } from './estate-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-estate-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const place = { country: 'NO', mcc: '0742', timeZone: 'Europe/Oslo' };

/** What YAML could take for something else. */
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

test('texts come back as they were, whatever YAML might take them for', () => {
  const merchants = [...names, ...odd].map((name, at) => ({
    ...place,
    externalId: `m${at}`,
    name,
  }));
  const labels = { yes: 'on', '1': '01' };
  const document = { merchants: [...merchants, { ...place, externalId: 'z', name: 'Z', labels }] };
  for (const file of ['estate.yaml', 'estate.json']) {
    const text = estateText(estateOf(document), file.endsWith('.json'));
    writeFileSync(join(folder, file), text);
    const back = readEstate(join(folder, file));
    const told = back.things.map(({ members }) => [members['externalId'], members['name']]);
    const wanted = document.merchants.map(({ externalId, name }) => [externalId, name]);
    assert.deepEqual(told.sort(), wanted.sort());
    assert.deepEqual(back.things.find(({ key }) => key === 'z')?.members['labels'], labels);
    assert.equal(estateText(back, file.endsWith('.json')), text);
  }
});

test('what stands there twice, or names nobody, is told with its line', () => {
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
    () => readEstate(file),
    (error: unknown) => {
      assert.ok(error instanceof CommandFault && error.exit === 'usage');
      assert.deepEqual(error.more, [
        'line 5: /users/1 user ann stands here twice',
        'line 5: /users/1/merchant names a merchant “gone” that the file does not have',
      ]);
      return true;
    },
  );
});

test('a file that is no text, or not there, is no fault of the command', () => {
  writeFileSync(join(folder, 'bytes.yaml'), Buffer.from([0xff, 0xfe, 0x00]));
  for (const file of ['bytes.yaml', 'nowhere.yaml', '.']) {
    assert.throws(
      () => readEstate(join(folder, file)),
      (error: unknown) => error instanceof CommandFault && error.exit === 'usage',
    );
  }
});
