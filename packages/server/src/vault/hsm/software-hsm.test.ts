// Tests the operations and refusals of the software HSM, and that keys cannot be exchanged.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { defined } from '@switchyard/contract';
import {
  aesCmac,
  aesWorkingKey,
  buildPinBlock,
  encryptDukptData,
  keyCheckValue,
  readKsn,
  retailMac,
  sealPinBlock,
  wrapKey,
} from '@switchyard/pin';
import {
  aesKsn,
  decryptPin,
  encryptTerminalData,
  keyBytes,
  longTestPan,
  pinBlockUnderKey,
  pinRequest,
  refused,
  type TestKeyName,
  tdesKsn,
  terminalPinBlock,
  testKeys,
  testPan,
  toHex,
} from '../../../test/support/hsm/hsm-test-keys.ts';
import { demoKeyEntries, demoKeys } from './demo-keys.ts';
import { HsmError, type PinFormat, type PinTranslationRequest } from './hsm-types.ts';
import { createKeyTable, type KeyEntry, KeyTableError, parseKeyTable } from './key-table.ts';
import { createSoftwareHsm } from './software-hsm.ts';
import {
  createEncryptedEntry,
  readOrCreateSoftwareMasterKey,
  readStoredEntries,
  softwareMasterKeyFile,
  writeStoredEntries,
} from './software-key-storage.ts';

const master = Buffer.alloc(32, 'a local master key of the tests!');
const devices: Record<string, string[]> = { 'bdk-tdes': ['FFFF9876'], 'bdk-aes': ['12345678'] };

function entry(name: TestKeyName): KeyEntry {
  const [usage, algorithm] = testKeys[name];
  const facts = { name, usage, algorithm, devices: devices[name] ?? [] };
  return createEncryptedEntry(master, keyBytes(name), facts);
}

const entries = (Object.keys(testKeys) as TestKeyName[]).map(entry);
const table = createKeyTable(entries, 'the table of the tests');
const hsm = createSoftwareHsm({ table, masterKey: master });
after(() => hsm.close());

const translatePin = (overrides: Partial<PinTranslationRequest> & object) =>
  hsm.translatePin({ ...pinRequest, ...overrides } as PinTranslationRequest);

describe('the software HSM', () => {
  // Spec: ACQ-12
  it('translates PIN blocks of terminals to the zone key of the acquirer', async () => {
    const cases = [
      [tdesKsn, 'DukptTdes', 0, 'zpk', 0],
      [tdesKsn, 'DukptTdes', 0, 'zpk', 3],
      [tdesKsn, 'DukptTdes', 1, 'zpk', 0],
      [tdesKsn, 'DukptTdes', 3, 'zpk', 0],
      [tdesKsn, 'DukptTdes', 0, 'zpk-aes', 4],
      [tdesKsn, 'DukptTdes', 1, 'zpk-aes', 4],
      [aesKsn, 'DukptAes', 4, 'zpk-aes', 4],
      [aesKsn, 'DukptAes', 4, 'zpk', 0],
      [aesKsn, 'DukptAes', 4, 'zpk', 3],
    ] as const;
    for (const [ksn, scheme, inFormat, outKeyRef, outFormat] of cases) {
      const pinBlock = terminalPinBlock(`ISO${inFormat}`, ksn, '123456');
      const answer = await translatePin({ scheme, ksn, inFormat, pinBlock, outKeyRef, outFormat });
      assert.equal(answer.outFormat, outFormat);
      assert.equal(decryptPin(answer.pinBlock, outKeyRef, `ISO${outFormat}`), '123456');
    }
  });

  it('translates between zones, and from the key that a terminal shares with us', async () => {
    const zone = { scheme: 'ZoneKey', keyId: 'zpk-other' } as const;
    const one = await translatePin({
      ...zone,
      pinBlock: pinBlockUnderKey('zpk-other', 'ISO0', '98765'),
    });
    assert.equal(decryptPin(one.pinBlock, 'zpk', 'ISO0'), '98765');
    const terminal = { scheme: 'TerminalKey', keyId: 'tpk' } as const;
    const other = await translatePin({ ...terminal, pinBlock: pinBlockUnderKey('tpk', 'ISO0') });
    assert.equal(decryptPin(other.pinBlock, 'zpk', 'ISO0'), '1234');
    await assert.rejects(translatePin({ ...terminal, keyId: 'zpk' }), refused('KeyUsage'));
  });

  it('accepts card numbers of 19 digits in format 4, with all digits or with twelve, as configured', async () => {
    const request = { scheme: 'DukptAes', ksn: aesKsn, inFormat: 4, pan: longTestPan } as const;
    const pinBlock = terminalPinBlock('ISO4', aesKsn, '1234', longTestPan);
    const { pinBlock: out } = await translatePin({ ...request, pinBlock, outKeyRef: 'zpk' });
    assert.equal(decryptPin(out, 'zpk', 'ISO0', longTestPan), '1234');
    const legacy = createSoftwareHsm({ table, masterKey: master, format4Pan: 'TwelveDigits' });
    const pinRequest = { ...request, pinBlock, outKeyRef: 'zpk', outFormat: 0 } as const;
    await assert.rejects(legacy.translatePin(pinRequest), refused('PinBlockInvalid'));
    await legacy.close();
  });

  it('refuses format translations that PCI PIN 3-3 forbids and formats that do not fit the cipher', async () => {
    const mixed: [PinFormat, string, 0 | 3 | 4][] = [
      [0, 'zpk', 4],
      [0, 'zpk-aes', 0],
      [0, 'zpk-aes', 3],
      [4, 'zpk', 0],
    ];
    for (const [inFormat, outKeyRef, outFormat] of mixed) {
      await assert.rejects(
        translatePin({ inFormat, outKeyRef, outFormat }),
        refused('FormatNotAllowed'),
      );
    }
    // Format 1 binds no card number: the type and the HSM both forbid it.
    const toFormat1 = { outFormat: 1 as unknown as 0 };
    await assert.rejects(translatePin(toFormat1), refused('FormatNotAllowed'));
    const aes = { scheme: 'DukptAes', ksn: aesKsn, inFormat: 0 } as const;
    await assert.rejects(translatePin(aes), refused('FormatNotAllowed'));
  });

  it('gives one and the same refusal for every bad block', async () => {
    const other = terminalPinBlock('ISO0', 'FFFF9876543210E00002');
    for (const pinBlock of [
      other,
      '00'.repeat(8),
      '',
      'zz'.repeat(8),
      '00'.repeat(16),
      '0'.repeat(15),
    ]) {
      await assert.rejects(translatePin({ pinBlock }), (error: unknown) => {
        assert.ok(error instanceof HsmError);
        assert.equal(error.message, 'PinBlockInvalid');
        return true;
      });
    }
    await assert.rejects(translatePin({ pan: '4012345678917' }), refused('PinBlockInvalid'));
    await assert.rejects(translatePin({ pan: '' }), refused('PanMismatch'));
  });

  it('knows its devices, and the counters that no device produces', async () => {
    const unknown = [
      'FFFF1111543210E00001',
      'FFFF9876543210E00000',
      'FFFF9876543210FFF801',
      'FFFF',
    ];
    for (const ksn of unknown) await assert.rejects(translatePin({ ksn }), refused('KsnInvalid'));
    await assert.rejects(translatePin({ ksn: aesKsn }), refused('KsnInvalid'));
    await assert.rejects(translatePin({ keyId: 'bdk-aes' }), refused('KsnInvalid'));
    await assert.rejects(translatePin({ keyId: 'none' }), refused('KeyNotFound'));
    await assert.rejects(translatePin({ keyId: 'zpk' }), refused('KeyUsage'));
    await assert.rejects(translatePin({ outKeyRef: 'none' }), refused('KeyNotFound'));
    await assert.rejects(translatePin({ outKeyRef: 'mac' }), refused('KeyUsage'));
    assert.equal(
      decryptPin((await translatePin({ keyId: 'bdk-tdes' })).pinBlock, 'zpk', 'ISO0'),
      '1234',
    );
    // Sixteen digits, from terminals that omit the leading FFFF.
    const { pinBlock } = await translatePin({ ksn: tdesKsn.slice(4) });
    assert.equal(decryptPin(pinBlock, 'zpk', 'ISO0'), '1234');
  });

  it('decrypts data of a device, and refuses incomplete or malformed data', async () => {
    const clear = Buffer.from(';4012345678909=28121011000000000?'.padEnd(48, '\0'));
    for (const [ksn, scheme, keyId] of [
      [tdesKsn, 'DukptTdes', 'bdk-tdes'],
      [aesKsn, 'DukptAes', 'bdk-aes'],
    ] as const) {
      const data = encryptTerminalData(ksn, clear);
      assert.deepEqual(await hsm.decryptData({ scheme, keyId, ksn, data }), clear);
      const bad = ['', 'xx', data.slice(2), '00'.repeat(5000)];
      for (const each of bad) {
        const request = { scheme, keyId, ksn, data: each } as const;
        await assert.rejects(hsm.decryptData(request), refused('DataInvalid'));
      }
      const zone = { scheme, keyId: 'zpk', ksn, data } as const;
      await assert.rejects(hsm.decryptData(zone), refused('KeyUsage'));
    }
  });

  it('makes MACs with keys for MACs', async () => {
    const data = Buffer.from('a message of a link');
    const retail = await hsm.mac({ keyRef: 'mac', algorithm: 'Iso9797Alg3', data });
    assert.deepEqual(retail, retailMac(keyBytes('mac'), data));
    const cmac = await hsm.mac({ keyRef: 'mac-aes', algorithm: 'AesCmac', data });
    assert.deepEqual(cmac, aesCmac(keyBytes('mac-aes'), data));
    const wrong = [
      ['zpk', 'Iso9797Alg3'],
      ['mac', 'AesCmac'],
      ['mac-aes', 'Iso9797Alg3'],
    ] as const;
    for (const [keyRef, algorithm] of wrong) {
      await assert.rejects(hsm.mac({ keyRef, algorithm, data }), refused('KeyUsage'));
    }
  });

  it('imports a zone key under its master key, as text that can be stored', async () => {
    const wrapped = toHex(wrapKey(keyBytes('zmk'), keyBytes('zpk-other'), 'Tdes'));
    const request = {
      wrappingKeyRef: 'zmk',
      wrapped,
      usage: 'ZonePin',
      algorithm: 'Tdes',
    } as const;
    const checkValue = entry('zpk-other').checkValue;
    const imported = await hsm.importKey({ ...request, checkValue });
    assert.equal(imported.checkValue, checkValue);
    assert.ok(!imported.keyRef.includes(toHex(keyBytes('zpk-other'))));
    const facts = await hsm.checkKey(imported.keyRef);
    assert.deepEqual(facts, { checkValue, usage: 'ZonePin', algorithm: 'Tdes' });
    const { pinBlock } = await translatePin({ outKeyRef: imported.keyRef });
    assert.equal(decryptPin(pinBlock, 'zpk-other', 'ISO0'), '1234');
    await assert.rejects(
      hsm.mac({ keyRef: imported.keyRef, algorithm: 'Iso9797Alg3', data: Buffer.alloc(8) }),
      refused('KeyUsage'),
    );
    // The encryption binds the usage in the text, so a changed usage does not decrypt.
    const turned = imported.keyRef.replace('ZonePin', 'Mac');
    await assert.rejects(hsm.checkKey(turned), refused('KeyNotFound'));
    for (const wrong of ['000000', '00']) {
      await assert.rejects(
        hsm.importKey({ ...request, checkValue: wrong }),
        refused('DataInvalid'),
      );
    }
    await assert.rejects(hsm.importKey({ ...request, wrapped: '0011' }), refused('DataInvalid'));
    const zone = hsm.importKey({ ...request, wrappingKeyRef: 'zpk' });
    await assert.rejects(zone, refused('KeyUsage'));
  });

  it('refuses a TDES key with two equal adjacent parts, also when only the parity bits differ', async () => {
    const half = Buffer.from('0123456789ABCDEF', 'hex');
    const otherParity = Buffer.from(half.map((byte) => byte ^ 1));
    const other = Buffer.from('FEDCBA9876543210', 'hex');
    const imported = (...parts: Buffer[]) => {
      const key = Buffer.concat(parts);
      const wrapped = toHex(wrapKey(keyBytes('zmk'), key, 'Tdes'));
      const checkValue = keyCheckValue(key, 'Tdes');
      const purpose = { usage: 'ZonePin', algorithm: 'Tdes' } as const;
      return hsm.importKey({ wrappingKeyRef: 'zmk', wrapped, checkValue, ...purpose });
    };
    for (const weak of [
      [half, half],
      [half, otherParity],
      [half, half, other],
      [other, half, half],
    ]) {
      await assert.rejects(imported(...weak), refused('DataInvalid'));
    }
    for (const strong of [
      [half, other],
      [half, other, half],
    ]) {
      assert.match((await imported(...strong)).keyRef, /^sealed:ZonePin\.Tdes\./);
    }
  });
});

describe('working keys of AES DUKPT', () => {
  const derivations = {
    TDES_2KEY: 'tdes2',
    TDES_3KEY: 'tdes3',
    AES_128: 'aes128',
    AES_192: 'aes192',
    AES_256: 'aes256',
  } as const;
  const words = Object.keys(derivations) as (keyof typeof derivations)[];
  const baseKey = (length: number) => Buffer.alloc(length, keyBytes('bdk-aes'));
  const bdk = { name: 'bdk', usage: 'BaseDerivation', algorithm: 'Aes', devices: ['12345678'] };
  const module = (length: number, derivation?: (typeof words)[number]) => {
    const facts = { ...bdk, ...defined({ derivation }) } as Parameters<
      typeof createEncryptedEntry
    >[2];
    const opening = createEncryptedEntry(master, baseKey(length), facts);
    return createSoftwareHsm({
      table: createKeyTable([opening, entry('zpk')], 'it'),
      masterKey: master,
    });
  };

  for (const [length, most] of [
    [16, 'AES_128'],
    [24, 'AES_192'],
    [32, 'AES_256'],
  ] as const) {
    const derivable = words.slice(0, words.indexOf(most) + 1);
    it(`can be ${derivable.join(', ')} under a base key of ${length} bytes, and no stronger type`, async () => {
      for (const derivation of derivable) {
        const testHsm = module(length, derivation);
        const algorithm = derivations[derivation];
        const key = aesWorkingKey(baseKey(length), readKsn(aesKsn), 'pin', algorithm);
        const format = derivation.startsWith('AES') ? 'ISO4' : 'ISO0';
        const block = sealPinBlock(
          format,
          key,
          buildPinBlock(format, [1, 2, 3, 4], testPan),
          testPan,
        );
        const pinRequest = {
          scheme: 'DukptAes',
          ksn: aesKsn,
          pan: testPan,
          outKeyRef: 'zpk',
        } as const;
        const inFormat = format === 'ISO4' ? 4 : 0;
        const request = { ...pinRequest, inFormat, pinBlock: toHex(block), outFormat: 0 } as const;
        const { pinBlock } = await testHsm.translatePin(request);
        assert.equal(decryptPin(pinBlock, 'zpk', 'ISO0'), '1234', derivation);
        const other = { ...request, inFormat: inFormat === 4 ? 0 : 4 } as const;
        await assert.rejects(testHsm.translatePin(other), refused('FormatNotAllowed'));
        const clear = Buffer.alloc(48, 'track data ');
        const sealed = { baseKey: baseKey(length), ksn: aesKsn, algorithm, data: clear };
        const data = toHex(encryptDukptData(sealed));
        const opened = await testHsm.decryptData({ scheme: 'DukptAes', ksn: aesKsn, data });
        assert.deepEqual(opened, clear, derivation);
        await testHsm.close();
      }
      for (const derivation of words.slice(derivable.length)) {
        assert.throws(() => module(length, derivation), /bits and derives no AES_/);
        const line = {
          ...createEncryptedEntry(master, baseKey(length), {
            ...bdk,
            usage: 'BaseDerivation',
            algorithm: 'Aes',
          }),
          derivation,
        };
        const open = () =>
          createSoftwareHsm({ table: createKeyTable([line], 'it'), masterKey: master });
        assert.throws(open, KeyTableError);
      }
    });
  }

  it('are AES-128 when the key entry has no derivation, as in AWS', async () => {
    const testHsm = module(32);
    // Test vector PIN-A18.
    const pinRequest = { scheme: 'DukptAes', ksn: aesKsn, inFormat: 4, outKeyRef: 'zpk' } as const;
    const block = { pinBlock: 'B78061DAD7E433C49F1CA4CD82AB619C', pan: '4111111111111111' };
    const { pinBlock } = await testHsm.translatePin({ ...pinRequest, ...block, outFormat: 0 });
    assert.equal(decryptPin(pinBlock, 'zpk', 'ISO0', block.pan), '1234');
    await testHsm.close();
  });
});

describe('the table of keys', () => {
  it('does not take a key whose seal or check value is another', () => {
    const zpk = entry('zpk');
    const open = (changed: KeyEntry) =>
      createSoftwareHsm({ table: createKeyTable([changed], 'it'), masterKey: master });
    const substituted = { ...zpk, reference: entry('zpk-other').reference };
    assert.throws(() => open(substituted), KeyTableError);
    assert.throws(() => open({ ...zpk, usage: 'Mac' }), KeyTableError);
    assert.throws(() => open({ ...zpk, name: 'zpk-2' }), KeyTableError);
    assert.throws(() => open({ ...zpk, checkValue: '000000' }), /another check value/);
    const elsewhere = { table: createKeyTable([zpk], 'it'), masterKey: Buffer.alloc(32, 7) };
    assert.throws(() => createSoftwareHsm(elsewhere), KeyTableError);
  });

  it('names every fault of its file, and no key', () => {
    const line = {
      name: 'a',
      usage: 'ZonePin',
      algorithm: 'Tdes',
      checkValue: '0A1B2C',
      reference: 'r',
    };
    const text = (...keys: object[]) => JSON.stringify({ keys });
    assert.equal(parseKeyTable(text(line), 'it').findByName('a')?.checkValue, '0A1B2C');
    const wrong = {
      ...line,
      usage: 'Pin',
      algorithm: 'Des',
      checkValue: '0a',
      secret: 1,
      devices: ['FFFF'],
    };
    assert.throws(
      () => parseKeyTable(text(line, wrong), 'it'),
      /key 2 has an unknown field secret; key 2 needs a usage.*; key 2 needs an algorithm.*; key 2 needs a checkValue.*; key 2 has devices/,
    );
    assert.throws(() => parseKeyTable(text(line, line), 'it'), /names a twice/);
    const base = { ...line, usage: 'BaseDerivation', devices: ['FFFF98'] };
    const twice = text(base, { ...base, name: 'b' });
    assert.throws(() => parseKeyTable(twice, 'it'), /gives the devices FFFF98 two keys/);
    const nested = text(base, { ...base, name: 'b', devices: ['FFFF9876'] });
    const longest = parseKeyTable(nested, 'it');
    assert.equal(longest.findByDevice('FFFF9876543210E00000')?.name, 'b');
    assert.equal(longest.findByDevice('FFFF9811543210E00000')?.name, 'a');
    assert.equal(longest.findByDevice('FFFF1111543210E00000'), undefined);
    for (const [members, message] of [
      [{ ...line, derivation: 'AES_128' }, /has a derivation, but is not a BaseDerivation key/],
      [{ ...base, derivation: 'AES_128' }, /derives TDES_2KEY alone, not AES_128/],
      [{ ...base, derivation: 'AES_512' }, /needs a derivation of TDES_2KEY, TDES_3KEY, AES_128/],
    ] as const) {
      assert.throws(() => parseKeyTable(text(members), 'it'), message);
    }
    for (const bad of ['', '[]', '{"keys":{}}']) {
      assert.throws(() => parseKeyTable(bad, 'it'), KeyTableError);
    }
  });
});

describe('a key that is restricted to one organisation', () => {
  const [one, other] = [
    '0198c000-0000-7000-8000-000000000001',
    '0198c000-0000-7000-8000-000000000002',
  ];
  const restrictedEntries = entries.map((each) => ({ ...each, organizations: [one] }));
  const testHsm = createSoftwareHsm({
    table: createKeyTable(restrictedEntries, 'kept keys'),
    masterKey: master,
  });
  after(() => testHsm.close());
  const data = { scheme: 'DukptTdes', ksn: tdesKsn, data: '00'.repeat(8) } as const;

  it('decrypts data of its devices for this organisation only', async () => {
    assert.equal((await testHsm.decryptData({ ...data, organizationId: one })).length, 8);
    await assert.rejects(
      testHsm.decryptData({ ...data, organizationId: other }),
      refused('KsnInvalid'),
    );
    await assert.rejects(testHsm.decryptData(data), refused('KsnInvalid'));
  });

  it('is named by links of its own and for its own purpose', () => {
    assert.equal(testHsm.mayUse('mac', 'Mac', one), true);
    assert.equal(testHsm.mayUse('mac', 'Mac', other), false);
    assert.equal(testHsm.mayUse('mac', 'ZonePin', one), false);
    assert.equal(testHsm.mayUse('never-made', 'Mac', one), false);
    assert.equal(hsm.mayUse('mac', 'Mac', other), true);
    const line = { ...entries[0], organizations: ['bank'] };
    assert.throws(
      () => parseKeyTable(JSON.stringify({ keys: [line] }), 'it'),
      /lists organizations that are not identifiers/,
    );
  });
});

describe('the files of the software HSM', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'switchyard-hsm-'));
  after(() => rmSync(dataDir, { recursive: true, force: true }));

  it('are readable by their owner only, and contain no key in clear text', () => {
    const file = softwareMasterKeyFile(dataDir);
    const made = readOrCreateSoftwareMasterKey(file);
    assert.deepEqual(readOrCreateSoftwareMasterKey(file), made);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const keys = join(dataDir, 'keys.json');
    assert.deepEqual(readStoredEntries(keys), []);
    writeStoredEntries(keys, entries);
    assert.equal(statSync(keys).mode & 0o777, 0o600);
    assert.deepEqual(readStoredEntries(keys), entries);
    const text = readFileSync(keys, 'utf8').toUpperCase();
    for (const name of Object.keys(testKeys) as TestKeyName[]) {
      assert.ok(!text.includes(toHex(keyBytes(name))));
    }
    writeFileSync(join(dataDir, 'short.key'), 'AAAA');
    assert.throws(() => readOrCreateSoftwareMasterKey(join(dataDir, 'short.key')), KeyTableError);
  });

  it('give the demo its keys, the same at every start', async () => {
    const keys = demoKeys(dataDir);
    const made = readOrCreateSoftwareMasterKey(softwareMasterKeyFile(dataDir));
    const demoTable = createKeyTable(demoKeyEntries(made), 'the demo');
    const demo = createSoftwareHsm({ table: demoTable, masterKey: made });
    for (const { name } of demoTable.entries) {
      assert.deepEqual(keys.key(name as 'demo-zpk'), demoKeys(dataDir).key(name as 'demo-zpk'));
    }
    for (const scheme of ['DukptTdes', 'DukptAes'] as const) {
      const one = keys.deviceKey('10000001', scheme);
      assert.notEqual(one.ksn, keys.deviceKey('10000002', scheme).ksn);
      assert.equal(one.ksn.length, scheme === 'DukptTdes' ? 20 : 24);
      const entryHere = demoTable.findByDevice(one.ksn);
      assert.equal(entryHere?.name, one.keyId);
      assert.equal(one.baseDerivationKey, toHex(keys.key(one.keyId)));
    }
    const file = keys.hostKeysFile();
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
      'zone-pin-key': `tdes:${keys.key('demo-zpk').toString('hex')}`,
      'zone-master-key': `tdes:${keys.key('demo-zmk').toString('hex')}`,
    });
    await demo.close();
  });
});
