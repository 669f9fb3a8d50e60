// The leak scan finds card data in every encoding, and fails the run.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createByteSearch } from './byte-search.ts';
import { createPan } from './card-data-encodings.ts';
import { filesBelow, findInFile } from './leak-scan.ts';

const pan = createPan('4');
const shortPan = createPan('37', 15);
const pinBlock = 'C13A9F77D25B804E';
const search = createByteSearch(
  [
    ['pan', pan],
    ['short', shortPan],
    ['pin', pinBlock],
  ],
  ['"securityCode":'],
);
const shuffled = (hex: string) => Buffer.from(hex, 'hex');

test('card data is found as text, hex, base64, packed digits and reversed, at any position', () => {
  const forms: Buffer[] = [
    Buffer.from(pan),
    Buffer.from(`{"pan":"${shortPan}"}`),
    shuffled(pan),
    shuffled(`${shortPan}F`),
    shuffled(`0${shortPan}`),
    shuffled(pinBlock),
    Buffer.from(pinBlock.toLowerCase()),
    Buffer.from(Buffer.from(`x${pan}yz`).toString('base64')),
    Buffer.from(Buffer.from(`\u0001${pan}`).toString('hex')),
    Buffer.from([...pan].reverse().join('')),
    Buffer.from('{"SecurityCode":"123"}'),
  ];
  for (const form of forms) {
    for (const before of [0, 1, 2, 3, 7, 8, 500]) {
      for (const around of [randomBytes, Buffer.alloc]) {
        const bytes = Buffer.concat([around(before), form, around(20)]);
        assert.ok(search.find(bytes), form.toString('latin1'));
        assert.ok(search.find(bytes.subarray(before)), form.toString('latin1'));
        assert.ok(search.find(bytes.subarray(0, before + form.length)), form.toString('latin1'));
      }
    }
  }
});

test('a packed number with mostly zero digits is ignored, because row headers look like it', () => {
  const empty = '4000000000006200';
  const one = createByteSearch([['pan', empty]]);
  assert.equal(
    one.find(Buffer.concat([randomBytes(60), shuffled(empty), randomBytes(60)])),
    undefined,
  );
  for (const form of [empty, Buffer.from(empty).toString('hex')]) {
    assert.ok(one.find(Buffer.concat([randomBytes(60), Buffer.from(form), randomBytes(60)])), form);
  }
});

test('other data is not found', () => {
  const harmlessBytes = Buffer.concat([
    Buffer.from(`${pan.slice(0, 6)}******${pan.slice(-4)} ${pan.slice(0, 15)} `),
    randomBytes(4_000_000),
    Buffer.from('{"pointer":"/instrument/card/securityCode"}'),
  ]);
  assert.equal(search.find(harmlessBytes), undefined);
  assert.equal(search.find(Buffer.alloc(0)), undefined);
  assert.equal(search.find(Buffer.alloc(7)), undefined);
});

// Spec: INV-10
test('card data is found in files of every length, also across two chunks', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'scanned-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'file');
  const sizes = { piece: 1000, overlap: 200 };
  for (let before = 900; before < 1100; before += 1) {
    writeFileSync(path, Buffer.concat([Buffer.alloc(before, '.'), Buffer.from(pan)]));
    assert.ok(findInFile(search, path, sizes), `behind ${before} bytes`);
  }
  writeFileSync(path, Buffer.alloc(5000, '.'));
  assert.equal(findInFile(search, path, sizes), undefined);
  // A sparse file that is much longer than one read.
  truncateSync(path, 80 * 1024 * 1024);
  writeFileSync(path, pan, { flag: 'a' });
  assert.ok(findInFile(search, path));
  assert.equal(findInFile(search, join(folder, 'gone')), undefined);
});

test('every file of a database folder is searched, except maps without column values', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'scanned-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const searched = ['17152', '17152.1', '17152_init', 'vm', 'wal_fsm'];
  for (const name of [...searched, '17152_vm', '17152_fsm', '17152_vm.1']) {
    writeFileSync(join(folder, name), pan);
  }
  assert.deepEqual(
    filesBelow(folder).sort(),
    searched.map((name) => join(folder, name)),
  );
});

// Spec: INV-10
test('a process that stores a card number in a table fails, although its tests passed', () => {
  const script = `
    import { testDatabase } from ${JSON.stringify(new URL('../database/test-database.ts', import.meta.url).href)};
    import { recordSentCardData } from ${JSON.stringify(new URL('./sent-card-data.ts', import.meta.url).href)};
    recordSentCardData({ instrument: { card: { number: '${pan}' } } });
    const database = await testDatabase();
    await database.query("CREATE TABLE left_behind AS SELECT '${Buffer.from(pan).toString('hex')}' AS note");
  `;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /left behind: table public\.left_behind/);
});
