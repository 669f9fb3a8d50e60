import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactText } from '../../platform/index.ts';
import { parseTextLine } from './read-members.ts';

test('a shortened text never contains a part of a secret', () => {
  for (const secret of ['cvc=123', 'cvc="123"', 'cvc: 123', 'cvc=>123', "cvc='123'"]) {
    for (let at = 36; at <= 64; at += 1) {
      const line = parseTextLine(`${'a'.repeat(at)} ${secret} and more`, 64) ?? '';
      assert.ok(!line.includes('123'), line);
      assert.equal(redactText(line), line);
    }
  }
  assert.equal(parseTextLine(`cvc=123 ${'a'.repeat(64)}`, 64), `cvc=[redacted] ${'a'.repeat(49)}`);
});
