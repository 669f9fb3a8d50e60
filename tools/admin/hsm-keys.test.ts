// Whole run: many sales are prepared, or a process is started, for each test.
// Two custodians bring a key by components; one of them alone cannot.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { keyCheckValue } from '../../packages/pin/src/index.ts';
import {
  createLog,
  createMetrics,
  readSettings,
  systemClock,
} from '../../packages/server/src/platform/index.ts';
import { createHsm, createKeyCeremony } from '../../packages/server/src/vault/index.ts';
import { runAdminCommand } from './run-admin-command.fixture.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'switchyard-hsm-keys-'));
after(() => rmSync(dataDir, { recursive: true, force: true }));

const env = { SWITCHYARD_ENVIRONMENT: 'demo', SWITCHYARD_DATA_DIR: dataDir };
const key = Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex');
const first = Buffer.from('89B0B5BC4C8F3E1CA1B2C3D4E5F60798', 'hex');
const second = Buffer.from(key.map((byte, at) => byte ^ (first[at] ?? 0)));
const hex = (data: Buffer) => data.toString('hex').toUpperCase();
const passphrases: Record<string, string> = {
  alice: 'a long passphrase of alice',
  bob: 'and another one, of bob',
};

async function run(line: string, answers: readonly string[] = [], variables: object = env) {
  const args = ['hsm-keys', ...line.split(' ').filter((word) => word !== '')];
  const { code, stdout, stderr } = await runAdminCommand(args, variables as typeof env, answers);
  const all = stdout + stderr;
  for (const secret of [key, first, second]) assert.ok(!all.toUpperCase().includes(hex(secret)));
  for (const passphrase of Object.values(passphrases)) assert.ok(!all.includes(passphrase));
  return { code, printed: all };
}

const component = (name: string, custodian: string, part: string, more = '', kind = 'ZonePin') =>
  run(`component ${name} --custodian ${custodian} --usage ${kind} --algorithm Tdes${more}`, [
    passphrases[custodian] ?? '',
    part,
  ]);

describe('switchyard admin hsm-keys', () => {
  // Spec: ACQ-14
  it('makes a key of the components of two people, and shows check values alone', async () => {
    for (const name of ['alice', 'bob']) {
      const passphrase = passphrases[name] ?? '';
      const { code, printed } = await run(`custodian ${name}`, [passphrase, passphrase]);
      assert.equal(code, 0, printed);
    }
    const one = await component('zpk-north', 'alice', hex(first));
    assert.deepEqual(one, {
      code: 0,
      printed: `component 1 of 2: check value ${keyCheckValue(first, 'Tdes')}\n`,
    });
    assert.match((await run('list')).printed, /zpk-north +ZonePin +Tdes +1 of 2/);
    // The same person is not two.
    const again = await component('zpk-north', 'alice', hex(second));
    assert.equal(again.code, 1);
    assert.match(again.printed, /another custodian must enter the next/);
    const kind = await component('zpk-north', 'bob', hex(second), '', 'Mac');
    assert.match(kind.printed, /was for a key of another type/);
    const two = await component('zpk-north', 'bob', hex(second).match(/.{4}/g)?.join(' ') ?? '');
    assert.equal(two.code, 0);
    assert.match(
      two.printed,
      /component 2 of 2: check value [0-9A-F]{6}\nzpk-north is complete: check value 08D7B4\n/,
    );
    assert.match((await run('list')).printed, /zpk-north +ZonePin +Tdes +08D7B4 +-\n/);
  });

  it('leaves a key that the platform finds at its next start, sealed', async () => {
    const settings = readSettings({ ...env, SWITCHYARD_LOG_LEVEL: 'silent' });
    const metrics = createMetrics();
    const hsm = createHsm({ settings, log: createLog(settings), metrics, clock: systemClock });
    await hsm.start();
    assert.deepEqual(await hsm.checkKey('zpk-north'), {
      checkValue: '08D7B4',
      usage: 'ZonePin',
      algorithm: 'Tdes',
    });
    await hsm.close();
    for (const file of readdirSync(join(dataDir, 'hsm'))) {
      const text = readFileSync(join(dataDir, 'hsm', file), 'utf8');
      for (const secret of [key, first, second]) {
        assert.ok(!text.toUpperCase().includes(hex(secret)));
        assert.ok(!text.includes(secret.toString('base64').replace(/=+$/, '')));
      }
    }
  });

  it('throws components away whose key is not the one of the papers', async () => {
    const checkValueOption = ' --check-value 000000';
    await component('mac-north', 'alice', hex(first), checkValueOption, 'Mac');
    const { code, printed } = await component(
      'mac-north',
      'bob',
      hex(second),
      checkValueOption,
      'Mac',
    );
    assert.equal(code, 1);
    assert.match(printed, /has the check value 08D7B4, not the documented one/);
    assert.doesNotMatch((await run('list')).printed, /mac-north/);
    await component('weak', 'alice', hex(first));
    const half = Buffer.concat([second.subarray(0, 8), second.subarray(8)]);
    for (let at = 0; at < 8; at += 1)
      half[at + 8] = (first[at] ?? 0) ^ (half[at] ?? 0) ^ (first[at + 8] ?? 0);
    assert.match(
      (await component('weak', 'bob', hex(half))).printed,
      /two parts of the key are equal: all components are discarded/,
    );
  });

  it('stores the working key algorithm of a base derivation key, and refuses one stronger than the key', async () => {
    const bring = async (name: string, derivation: string) => {
      const flags = `--usage BaseDerivation --algorithm Aes --derivation ${derivation}`;
      const line = `component ${name} ${flags} --custodian`;
      await run(`${line} alice`, [passphrases['alice'] ?? '', hex(first)]);
      return run(`${line} bob`, [passphrases['bob'] ?? '', hex(second)]);
    };
    assert.match((await bring('bdk-tdes3', 'TDES_3KEY')).printed, /bdk-tdes3 is complete/);
    assert.match((await bring('bdk-strong', 'AES_256')).printed, /128 bits and derives no AES_256/);
    assert.equal((await bring('bdk-wrong', 'AES_512')).code, 2);
    const { derivation } =
      createKeyCeremony(dataDir)
        .list()
        .keys.find(({ name }) => name === 'bdk-tdes3') ?? {};
    assert.equal(derivation, 'TDES_3KEY');
    assert.equal((await run('remove bdk-tdes3')).code, 0);
  });

  it('refuses unknown custodians, wrong passphrases and invalid components', async () => {
    const line = 'component zpk-south --custodian alice --usage ZonePin --algorithm Tdes';
    const wrong = await run(line, ['another passphrase', hex(first)]);
    assert.match(wrong.printed, /unknown custodian or wrong passphrase/);
    const unknownCustodian = await run(line.replace('alice', 'eve'), [
      'another passphrase',
      hex(first),
    ]);
    assert.equal(unknownCustodian.printed, wrong.printed);
    for (const [part, message] of [
      ['00'.repeat(16), /the component is not random/],
      ['0011', /must have the length of the key/],
      ['xyz', /hexadecimal digits/],
    ] as const) {
      assert.match((await component('zpk-south', 'alice', part)).printed, message);
    }
    assert.match(
      (await component('zpk-north', 'alice', hex(first))).printed,
      /there is a key zpk-north/,
    );
    assert.match(
      (await component('demo-zpk', 'alice', hex(first))).printed,
      /there is a key demo-zpk/,
    );
    const tooShort = await run('custodian carol', ['short', 'short']);
    assert.match(tooShort.printed, /12 characters at least/);
    const twice = await run('custodian alice', ['a passphrase once', 'a passphrase once']);
    assert.match(twice.printed, /there is a custodian alice/);
    assert.match(
      (await run('custodian dave', ['a passphrase once', 'another'])).printed,
      /the two passphrases differ/,
    );
  });

  it('removes keys and refuses unknown commands and options', async () => {
    assert.equal((await run('remove zpk-north')).code, 0);
    assert.match((await run('remove zpk-north')).printed, /there is no key zpk-north/);
    assert.equal((await run('list')).printed, 'Nothing found.\n');
    assert.deepEqual(JSON.parse((await run('list --json')).printed), { keys: [], pending: [] });
    for (const line of [
      '',
      'custodian',
      'component a --usage X',
      'list more',
      'sing',
      'list --loud',
    ]) {
      assert.equal((await run(line)).code, 2, line);
    }
    assert.equal((await run('--help')).code, 0);
    const aws = { ...env, SWITCHYARD_HSM: 'none' };
    const elsewhere = await run('list', [], aws);
    assert.equal(elsewhere.code, 1);
    assert.match(elsewhere.printed, /only for the software HSM/);
  });
});
