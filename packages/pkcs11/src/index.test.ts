// A real module, SoftHSM 2, where it and the compiled pkcs11js are there; elsewhere the tests say aloud that they are skipped.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  loadPkcs11Library,
  makePkcs11Key,
  openPkcs11,
  type Pkcs11Library,
  Pkcs11RejectedError,
} from './index.ts';

const places = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
];
const module = places.find((path) => existsSync(path));

function nativeOf(): Pkcs11Library | undefined {
  // Another place to look in, such as a machine whose checkout must stay as it is.
  const elsewhere = process.env['PKCS11JS_FROM'];
  try {
    return elsewhere === undefined ? loadPkcs11Library() : loadPkcs11Library(elsewhere);
  } catch {
    return undefined;
  }
}

const native = nativeOf();
const lacking =
  module === undefined
    ? 'SoftHSM 2 is not installed'
    : native === undefined && 'pkcs11js is not installed';

test('the error for a missing package contains the install command', () => {
  const nowhere = `file://${join(tmpdir(), 'nowhere', 'x.js')}`;
  assert.throws(() => loadPkcs11Library(nowhere), /npm install --prefix packages\/pkcs11/);
});

describe('a key in a PKCS#11 module', { skip: lacking }, () => {
  let home = '';
  const pin = '246813';
  const options = { module: module ?? '', token: 'vault', key: 'cards', pin };
  const at = native as Pkcs11Library;
  const standing = process.env['SOFTHSM2_CONF'];

  before(() => {
    home = mkdtempSync(join(tmpdir(), 'switchyard-softhsm-'));
    const tokens = join(home, 'tokens');
    mkdirSync(tokens);
    const configuration = join(home, 'softhsm2.conf');
    writeFileSync(configuration, `directories.tokendir = ${tokens}\nobjectstore.backend = file\n`);
    process.env['SOFTHSM2_CONF'] = configuration;
    const words = [
      '--init-token',
      '--free',
      '--label',
      'vault',
      '--pin',
      pin,
      '--so-pin',
      '87654321',
    ];
    execFileSync('softhsm2-util', words, { stdio: 'ignore' });
    makePkcs11Key(options, at);
  });
  after(() => {
    if (standing === undefined) delete process.env['SOFTHSM2_CONF'];
    else process.env['SOFTHSM2_CONF'] = standing;
    rmSync(home, { recursive: true, force: true });
  });

  test('seals for a place, and opens there alone', () => {
    const wrapper = openPkcs11(options, at);
    const key = randomBytes(32);
    const sealed = wrapper.seal(key, 'place|1');
    assert.equal(sealed.includes(key), false);
    assert.deepEqual(wrapper.open(sealed, 'place|1'), key);
    assert.throws(() => wrapper.open(sealed, 'place|2'), Pkcs11RejectedError);
    for (const byte of [1, 14, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[byte] = (changed[byte] ?? 0) ^ 1;
      assert.throws(() => wrapper.open(changed, 'place|1'), Pkcs11RejectedError, `byte ${byte}`);
    }
    assert.throws(() => wrapper.open(Buffer.alloc(10), 'place|1'), Pkcs11RejectedError);
    // It works on after a refusal.
    assert.deepEqual(wrapper.open(sealed, 'place|1'), key);
    wrapper.close();
  });

  test('is the same key when it is opened again, and another one under another label', () => {
    const first = openPkcs11(options, at);
    const sealed = first.seal(Buffer.from('again'), 'place');
    const { checkValue } = first;
    first.close();
    const second = openPkcs11(options, at);
    assert.equal(second.checkValue, checkValue);
    assert.equal(second.open(sealed, 'place').toString(), 'again');
    second.close();
    makePkcs11Key({ ...options, key: 'other' }, at);
    const other = openPkcs11({ ...options, key: 'other' }, at);
    assert.notEqual(other.checkValue, checkValue);
    assert.throws(() => other.open(sealed, 'place'), Pkcs11RejectedError);
    other.close();
  });

  test('refuses a second key of its label, a token and a key that are not there, a wrong PIN', () => {
    assert.throws(() => makePkcs11Key(options, at), /already/);
    assert.throws(() => openPkcs11({ ...options, token: 'none' }, at), /no token none/);
    assert.throws(() => openPkcs11({ ...options, key: 'none' }, at), /no AES key none/);
    assert.throws(() => openPkcs11({ ...options, pin: '000000' }, at), /PIN/);
  });
});
