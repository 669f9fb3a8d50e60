// PIN blocks for any PIN and card number: an encrypted block decrypts again, and a changed one does not.
import assert from 'node:assert/strict';
import { createCipheriv, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  aesWorkingKey,
  buildPinBlock,
  createDukptKeys,
  keyCheckValue,
  openPinBlock,
  type PinBlockFormat,
  PinError,
  pinBlockFormats,
  readKsn,
  readPinBlock,
  sealPinBlock,
  tdesWorkingKey,
  translatePin,
} from './index.ts';

const digits = fc.integer({ min: 0, max: 9 });
const pins = fc.array(digits, { minLength: 4, maxLength: 12 });
const pans = fc.array(digits, { minLength: 8, maxLength: 19 }).map((all) => all.join(''));
const formats = fc.constantFrom(...pinBlockFormats);
const keyFor = (format: PinBlockFormat) => randomBytes(format === 'ISO4' ? 32 : 16);
const refused = (code: string) => (error: unknown) =>
  error instanceof PinError && error.code === code;

const baseKey = Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex');
const tdesKsn = 'FFFF9876543210E00001';
const aesKsn = '123456789012345600000001';

describe('PIN blocks', () => {
  it('of format 4 depend on how many digits of a 19-digit card number they include', () => {
    const pan = '6212345678901234563';
    const key = keyFor('ISO4');
    const clear = buildPinBlock('ISO4', [1, 2, 3, 4]);
    const full = sealPinBlock('ISO4', key, clear, pan);
    const twelve = sealPinBlock('ISO4', key, clear, pan, 'TwelveDigits');
    assert.notDeepEqual(full, twelve);
    // The twelve digits left of the check digit, as a card number of twelve, are the same block.
    assert.deepEqual(sealPinBlock('ISO4', key, clear, '567890123456'), twelve);
    assert.deepEqual(
      [...readPinBlock('ISO4', openPinBlock('ISO4', key, full, pan), pan)],
      [1, 2, 3, 4],
    );
    const opened = openPinBlock('ISO4', key, twelve, pan, 'TwelveDigits');
    assert.deepEqual([...readPinBlock('ISO4', opened, pan)], [1, 2, 3, 4]);
    assert.throws(
      () => readPinBlock('ISO4', openPinBlock('ISO4', key, twelve, pan), pan),
      refused('pin_block_invalid'),
    );
  });

  it('have another fill each time where the format says so, and the same one where it does not', () => {
    const pan = '4012345678909';
    const many = 400;
    const made = (format: PinBlockFormat) =>
      Array.from({ length: many }, () => buildPinBlock(format, [1, 2, 3, 4], pan).toString('hex'));
    assert.equal(new Set(made('ISO0')).size, 1);
    for (const format of ['ISO1', 'ISO3', 'ISO4'] as const) {
      // Of ten letters A to F two are alike once in a while.
      const alikeMost = format === 'ISO3' ? 2 : 0;
      assert.ok(new Set(made(format)).size >= many - alikeMost, format);
    }
    // Ten nibbles behind the PIN: each value at each place, and no other.
    const account = Buffer.from('0000401234567890', 'hex');
    const fills = { ISO1: 16, ISO3: 6, ISO4: 1 } as const;
    for (const [format, values] of Object.entries(fills)) {
      const blocks = made(format as PinBlockFormat).map((block) => {
        const bytes = Buffer.from(block, 'hex').subarray(0, 8);
        const bound = format === 'ISO3' ? account : Buffer.alloc(8);
        return Buffer.from(bytes.map((byte, at) => byte ^ (bound[at] ?? 0))).toString('hex');
      });
      for (let place = 6; place < 16; place += 1) {
        const seen = new Set(blocks.map((block) => block[place]));
        assert.equal(seen.size, values, `${format} at ${place}: ${[...seen].join('')}`);
      }
    }
    // The second half of format 4 is random as a whole.
    const tails = made('ISO4').map((block) => block.slice(16));
    assert.equal(new Set(tails).size, many);
    for (let place = 0; place < 16; place += 1) {
      assert.equal(new Set(tails.map((tail) => tail[place])).size, 16, `place ${place}`);
    }
  });

  it('of a translation are never the same twice under the acquirer’s key, but of format 0', () => {
    const pan = '4012345678909';
    const block = Buffer.from('1B9C1845EB993A7A', 'hex');
    const under = { scheme: 'Dukpt', baseKey, ksn: tdesKsn } as const;
    for (const [format, key, different] of [
      ['ISO0', randomBytes(16), 1],
      ['ISO3', randomBytes(16), 50],
      ['ISO4', randomBytes(16), 50],
    ] as const) {
      const to = { format, key };
      const all = Array.from({ length: 50 }, () =>
        translatePin({ block, format: 'ISO0', under, pan, to }).toString('hex'),
      );
      assert.equal(new Set(all).size, different, format);
    }
  });

  it('decode to the original PIN in every format, for PANs of 8 to 19 digits', () => {
    fc.assert(
      fc.property(formats, pins, pans, (format, pin, pan) => {
        const key = keyFor(format);
        const sealed = sealPinBlock(format, key, buildPinBlock(format, pin, pan), pan);
        const opened = openPinBlock(format, key, sealed, pan);
        assert.deepEqual([...readPinBlock(format, opened, pan)], pin);
      }),
    );
  });

  it('are rejected with one code for any change, or decrypt to another PIN by chance', () => {
    fc.assert(
      fc.property(formats, pins, pans, fc.nat(), (format, pin, pan, where) => {
        const block = buildPinBlock(format, pin, pan);
        const at = where % 2;
        block[at] = (block[at] ?? 0) ^ 0x80;
        try {
          assert.notDeepEqual([...readPinBlock(format, block, pan)], pin);
        } catch (error) {
          assert.ok(error instanceof PinError && error.code === 'pin_block_invalid');
        }
      }),
    );
  });

  it('of random bytes give a PIN of 4 to 12 digits or the error pin_block_invalid', () => {
    fc.assert(
      fc.property(formats, fc.uint8Array({ maxLength: 40 }), pans, (format, block, pan) => {
        try {
          const pin = readPinBlock(format, block, pan);
          assert.ok(pin.length >= 4 && pin.length <= 12);
        } catch (error) {
          assert.ok(error instanceof PinError && error.code === 'pin_block_invalid');
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('are refused with an invalid PIN, card number, block length or key length', () => {
    const build = (pin: number[], pan?: string) => () => buildPinBlock('ISO0', pin, pan);
    assert.throws(build([1, 2, 3], '4111111111111111'), refused('pin_invalid'));
    assert.throws(build(Array(13).fill(1), '4111111111111111'), refused('pin_invalid'));
    assert.throws(build([1, 2, 3, 10], '4111111111111111'), refused('pin_invalid'));
    assert.throws(build([1, 2, 3, 1.5], '4111111111111111'), refused('pin_invalid'));
    assert.throws(build([1, 2, 3, 4]), refused('pan_invalid'));
    assert.throws(build([1, 2, 3, 4], '4111 1111 1111 1111'), refused('pan_invalid'));
    assert.throws(build([1, 2, 3, 4], '1'.repeat(20)), refused('pan_invalid'));
    assert.throws(
      () => openPinBlock('ISO0', baseKey, randomBytes(16)),
      refused('pin_block_invalid'),
    );
    assert.throws(
      () => sealPinBlock('ISO0', randomBytes(8), randomBytes(8)),
      refused('key_invalid'),
    );
  });

  it('fill format 3 evenly with A to F, and never with a digit', () => {
    const counts = new Map<string, number>();
    for (let at = 0; at < 600; at += 1) {
      const block = buildPinBlock('ISO3', [1, 2, 3, 4], '00000000').toString('hex');
      for (const letter of block.slice(6)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    assert.deepEqual([...counts.keys()].sort(), ['a', 'b', 'c', 'd', 'e', 'f']);
    for (const count of counts.values()) assert.ok(count > 700 && count < 1300, String(count));
  });
});

describe('PIN translation', () => {
  const baseKeys = { aes128: 16, aes192: 24, aes256: 32 } as const;
  const workingKeys = ['tdes2', 'tdes3', 'aes128', 'aes192', 'aes256'] as const;
  /** The cross product in the order of strength: up to its own place, each base key derives it. */
  const pairs = Object.entries(baseKeys).flatMap(([base, length]) =>
    workingKeys.map((algorithm, at) => ({
      algorithm,
      length,
      isDerivable: at <= workingKeys.indexOf(base as 'aes128'),
    })),
  );

  for (const { algorithm, length, isDerivable } of pairs) {
    const outcome = isDerivable ? 'opens under' : 'is refused under';
    it(`${outcome} an ${algorithm} working key of a base key of ${length} bytes`, () => {
      const base = randomBytes(length);
      const under = { scheme: 'Dukpt', baseKey: base, ksn: aesKsn, algorithm } as const;
      const format = algorithm.startsWith('aes') ? 'ISO4' : 'ISO3';
      const pan = '4111111111111111';
      const to = { format: 'ISO0', key: randomBytes(16) } as const;
      if (!isDerivable) {
        const block = randomBytes(format === 'ISO4' ? 16 : 8);
        const translate = () => translatePin({ block, format, under, pan, to });
        assert.throws(translate, refused('key_invalid'));
        assert.throws(
          () => createDukptKeys(base, 'DukptAes', { algorithm }),
          refused('key_invalid'),
        );
        return;
      }
      const key = aesWorkingKey(base, readKsn(aesKsn), 'pin', algorithm);
      const block = sealPinBlock(format, key, buildPinBlock(format, [1, 2, 3, 4], pan), pan);
      const keys = createDukptKeys(base, 'DukptAes', { algorithm });
      for (const each of [under, { scheme: 'Dukpt', keys, ksn: aesKsn } as const]) {
        const sealed = translatePin({ block, format, under: each, pan, to });
        const opened = openPinBlock('ISO0', to.key, sealed, pan);
        assert.deepEqual([...readPinBlock('ISO0', opened, pan)], [1, 2, 3, 4]);
      }
      const other = format === 'ISO4' ? 'ISO0' : 'ISO4';
      const asOther = () => translatePin({ block, format: other, under, pan, to });
      assert.throws(asOther, refused('format_not_allowed'));
    });
  }

  const terminal = (format: PinBlockFormat, pin: number[], pan: string) => {
    const aes = format === 'ISO4';
    const ksn = aes ? aesKsn : tdesKsn;
    const key = (aes ? aesWorkingKey : tdesWorkingKey)(baseKey, readKsn(ksn), 'pin');
    const block = sealPinBlock(format, key, buildPinBlock(format, pin, pan), pan);
    return { block, format, under: { scheme: 'Dukpt', baseKey, ksn } as const, pan };
  };

  it('carries any PIN from a terminal to a zone in every permitted pair of formats', () => {
    fc.assert(
      fc.property(formats, formats, pins, pans, (format, toFormat, pin, pan) => {
        const to = { format: toFormat, key: keyFor(toFormat) };
        const translate = () => translatePin({ ...terminal(format, pin, pan), to });
        if (toFormat === 'ISO1' && format !== 'ISO1') {
          assert.throws(translate, refused('format_not_allowed'));
          return;
        }
        const opened = openPinBlock(toFormat, to.key, translate(), pan);
        assert.deepEqual([...readPinBlock(toFormat, opened, pan)], pin);
      }),
    );
  });

  it('goes from zone to zone too', () => {
    const key = randomBytes(24);
    const pan = '4111111111111111';
    const block = sealPinBlock('ISO0', key, buildPinBlock('ISO0', [9, 8, 7, 6], pan), pan);
    const to = { format: 'ISO4', key: randomBytes(16) } as const;
    const sealed = translatePin({ block, format: 'ISO0', under: { scheme: 'Zone', key }, pan, to });
    const opened = openPinBlock('ISO4', to.key, sealed, pan);
    assert.deepEqual([...readPinBlock('ISO4', opened, pan)], [9, 8, 7, 6]);
  });

  it('refuses another card number, another counter, and the wrong kind of key for a format', () => {
    const pan = '4111111111111111';
    const to = { format: 'ISO0', key: randomBytes(16) } as const;
    const good = terminal('ISO3', [1, 2, 3, 4], pan);
    const wrongPan = { ...good, pan: '4012888888881881', to };
    assert.throws(() => translatePin(wrongPan), refused('pin_block_invalid'));
    const aes = { ...good, format: 'ISO4' as const, to };
    assert.throws(() => translatePin(aes), refused('format_not_allowed'));
    const under = { scheme: 'Dukpt', baseKey, ksn: aesKsn } as const;
    assert.throws(() => translatePin({ ...good, under, to }), refused('format_not_allowed'));
  });
});

describe('key serial numbers', () => {
  it('separate device and counter', () => {
    const { device, counter, scheme } = readKsn('ffff9876543210eff800');
    assert.deepEqual(
      { device, counter, scheme },
      { device: 'FFFF9876543210E00000', counter: 0xff800, scheme: 'DukptTdes' },
    );
    assert.equal(readKsn('9876543210E00001').device, device);
    assert.equal(readKsn('1234567890123456FFFF0000').counter, 0xffff0000);
  });

  it('with another length, an invalid character or a zero counter are refused', () => {
    const bad = ['', 'FFFF', 'X'.repeat(20), `${tdesKsn} `, 'FFFF9876543210E00000', '0'.repeat(24)];
    for (const text of bad) assert.throws(() => readKsn(text), refused('ksn_invalid'), text);
  });
});

describe('keys', () => {
  it('have check values: TDES by zeros, AES by CMAC', () => {
    assert.equal(keyCheckValue(baseKey, 'Tdes'), '08D7B4');
    // NIST SP 800-38B D.1: the subkey of this key is published, and a block of zeros under it.
    const key = Buffer.from('2b7e151628aed2a6abf7158809cf4f3c', 'hex');
    const k1 = Buffer.from('fbeed618357133667c85e08f7236a8de', 'hex');
    const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
    const expected = cipher.update(k1).toString('hex', 0, 3).toUpperCase();
    assert.equal(keyCheckValue(key, 'Aes'), expected);
  });

  it('are refused at a wrong length, and where the working key would be the stronger one', () => {
    const ksn = readKsn(aesKsn);
    assert.throws(() => aesWorkingKey(baseKey, ksn, 'pin', 'aes256'), refused('key_invalid'));
    assert.throws(() => aesWorkingKey(randomBytes(20), ksn, 'pin'), refused('key_invalid'));
    assert.throws(
      () => tdesWorkingKey(randomBytes(24), readKsn(tdesKsn), 'pin'),
      refused('key_invalid'),
    );
    assert.throws(() => tdesWorkingKey(baseKey, ksn, 'pin'), refused('ksn_invalid'));
    // A base key of TDES derives two-key TDES alone.
    const options = { algorithm: 'aes128' } as const;
    assert.throws(() => createDukptKeys(baseKey, 'DukptTdes', options), refused('key_invalid'));
  });
});
