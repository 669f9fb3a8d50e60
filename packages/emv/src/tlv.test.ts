import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EmvError, emvErrorCodes } from './errors.ts';
import { bytesOf, decodeTlv, encodeTlv, leavesOf, type TlvObject, tlvHex } from './tlv.ts';

const codeOf = (hex: string, options = {}) => {
  try {
    decodeTlv(bytesOf(hex), options);
    return 'none';
  } catch (error) {
    return error instanceof EmvError ? error.code : 'not an EmvError';
  }
};

const tagsOf = (hex: string) => decodeTlv(bytesOf(hex)).map(({ tag }) => tag);

test('tags of one to three bytes and lengths of one to four are read', () => {
  assert.deepEqual(tagsOf('9A03260301' + '9F270180' + 'DF81290101'), ['9A', '9F27', 'DF8129']);
  for (const length of ['03', '8103', '820003', '83000003']) {
    assert.equal(tlvHex(decodeTlv(bytesOf(`9A${length}260301`))), '9A03260301');
  }
});

test('padding between objects is skipped and not written again', () => {
  const padded = '0000' + '9A03260301' + '00FFFF' + '82021980' + 'FF' + '9F270180' + 'FF00FF';
  assert.deepEqual(tagsOf(padded), ['9A', '82', '9F27']);
  assert.equal(tlvHex(decodeTlv(bytesOf(padded))), '9A03260301820219809F270180');
  assert.deepEqual(tagsOf('FF82021980'), ['82']);
});

test('private constructed objects are read as one value without children', () => {
  const [maker, date] = decodeTlv(bytesOf('FF810503AABBCC' + '9A03260301'));
  assert.equal(maker?.tag, 'FF8105');
  assert.equal(maker?.children, undefined);
  assert.equal(maker?.value.toString('hex'), 'aabbcc');
  assert.equal(date?.tag, '9A');
  assert.deepEqual(tagsOf('FFEE010411223344'), ['FFEE01']);
});

test('templates are read into, and their leaves are found by tag', () => {
  const objects = decodeTlv(bytesOf('770A' + '9F270180' + '9F36020001' + '00'));
  assert.deepEqual(
    objects[0]?.children?.map(({ tag }) => tag),
    ['9F27', '9F36'],
  );
  assert.deepEqual([...leavesOf(objects).keys()], ['9F27', '9F36']);
});

test('each fault has its code', () => {
  assert.equal(codeOf('9F'), 'tlv_truncated');
  assert.equal(codeOf('9A'), 'tlv_truncated');
  assert.equal(codeOf('9A0326'), 'tlv_truncated');
  assert.equal(codeOf('9A8203'), 'tlv_truncated');
  assert.equal(codeOf('9F81818101' + '00'), 'tlv_tag_invalid');
  assert.equal(codeOf('9A80'), 'tlv_length_invalid');
  assert.equal(codeOf('9A8400000001AA'), 'tlv_length_invalid');
  assert.equal(codeOf('9A03260301' + '9A03260301'), 'tlv_duplicate_tag');
  assert.equal(codeOf('9A03260301', { bytesMax: 4 }), 'tlv_too_large');
  assert.throws(() => bytesOf('9A0'), { code: 'hex_invalid' });
  assert.throws(() => bytesOf('9G'), { code: 'hex_invalid' });
  let nested = '9A00';
  for (let depth = 0; depth < 12; depth += 1) {
    nested = `70${(nested.length / 2).toString(16).padStart(2, '0')}${nested}`;
  }
  assert.equal(codeOf(nested), 'tlv_too_deep');
});

test('a repeated tag is found among few and among many', () => {
  const many = Array.from({ length: 60 }, (_, index) => `DF${(index + 0x10).toString(16)}0100`);
  for (const count of [1, 31, 32, 33, 60]) {
    const some = many.slice(0, count);
    assert.equal(tagsOf(some.join('')).length, count);
    for (const repeated of [0, count - 1]) {
      assert.equal(codeOf([...some, some[repeated]].join('')), 'tlv_duplicate_tag');
    }
  }
});

test('one tag in two templates is a duplicate leaf', () => {
  const objects = decodeTlv(bytesOf('70049F270180' + '77049F270180'));
  assert.throws(() => leavesOf(objects), { code: 'tlv_duplicate_tag', tag: '9F27' });
});

const primitiveTag = fc.constantFrom('82', '95', '9A', '9F26', '9F02', 'DF01', 'DF8129', 'C1');
const primitive: fc.Arbitrary<TlvObject> = fc
  .tuple(primitiveTag, fc.uint8Array({ maxLength: 300 }))
  .map(([tag, bytes]) => ({ tag, value: Buffer.from(bytes) }));
const distinct = (object: fc.Arbitrary<TlvObject>) =>
  fc.uniqueArray(object, { selector: ({ tag }) => tag, maxLength: 6 });
const template: fc.Arbitrary<TlvObject> = fc
  .tuple(fc.constantFrom('70', '77', 'BF0C'), distinct(primitive))
  .map(([tag, children]) => ({ tag, value: encodeTlv(children), children }));

test('written data is read back and written again unchanged', () => {
  fc.assert(
    fc.property(distinct(fc.oneof(primitive, template)), (objects) => {
      const bytes = encodeTlv(objects);
      const read = decodeTlv(bytes, { bytesMax: 65_536 });
      assert.deepEqual(read, objects);
      assert.deepEqual(encodeTlv(read), bytes);
    }),
  );
});

test('no bytes make the reader fail with anything but its own error', () => {
  const knownCodes: ReadonlySet<string> = new Set(emvErrorCodes);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        const read = decodeTlv(bytes);
        assert.deepEqual(encodeTlv(decodeTlv(encodeTlv(read))), encodeTlv(read));
      } catch (error) {
        assert.ok(error instanceof EmvError && knownCodes.has(error.code), String(error));
      }
    }),
    { numRuns: 2000 },
  );
});
