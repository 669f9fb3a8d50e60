import assert from 'node:assert/strict';
import { test } from 'node:test';
import { annotateMessage, compileDialect, iso1987Ascii, iso1987Binary } from './index.ts';

const message = { mti: '0800', fields: { 7: '0420090613', 11: '000001', 70: '001' } };

test('the parts of a message contain each byte once, with field, name and value', () => {
  for (const table of [iso1987Binary, iso1987Ascii]) {
    const bytes = compileDialect(table).encode(message);
    const parts = annotateMessage(table, bytes);
    assert.equal(parts.map((part) => part.bytes).join(''), bytes.toString('hex').toUpperCase());
    let offset = 0;
    for (const part of parts) {
      assert.equal(part.offset, offset);
      offset += part.bytes.length / 2;
    }
    assert.deepEqual(
      parts.map(({ field, value }) => [field, value]),
      [
        [undefined, '0800'],
        [undefined, '7 11 70'],
        [7, '0420090613'],
        [11, '000001'],
        [70, '001'],
      ],
    );
    assert.equal(parts[3]?.name, table.fields[11]?.name);
  }
});

test('bytes that cannot be read are the last part, with the reason', () => {
  const bytes = compileDialect(iso1987Binary).encode(message);
  const parts = annotateMessage(iso1987Binary, bytes.subarray(0, bytes.length - 1));
  const last = parts.at(-1);
  assert.equal(last?.name, 'Not readable');
  assert.match(last?.value ?? '', /70/);
  assert.equal(
    parts.map((part) => part.bytes).join(''),
    bytes.subarray(0, -1).toString('hex').toUpperCase(),
  );
});
