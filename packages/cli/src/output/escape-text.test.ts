import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  displayWidth,
  escapedJson,
  escapeText,
  truncateEnd,
  truncateStart,
} from './escape-text.ts';

const hostile = 'a\u001b[31mred\u009b2J\u202egpj.exe\u200b\u0007\r\n\ud800b\u{e0041}';

test('characters that control a terminal or hide text are escaped', () => {
  const escaped = escapeText(hostile);
  assert.doesNotMatch(escaped, /[\p{Cc}\p{Cf}\p{Cs}]/u);
  assert.match(escaped, /^a\\u\{1b\}\[31mred\\u\{9b\}2J\\u\{202e\}gpj/);
  assert.equal(escapeText('Café “Lumière” 株式会社 🥐'), 'Café “Lumière” 株式会社 🥐');
});

test('escaped JSON is still valid JSON', () => {
  const text = escapedJson({ name: hostile }, 2);
  assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Cs}]/u);
  assert.deepEqual(JSON.parse(text), { name: hostile });
});

test('wide characters occupy two cells, and combining marks occupy no cell', () => {
  assert.equal(displayWidth('株式'), 4);
  assert.equal(displayWidth('e\u0301'), 1);
  assert.equal(truncateEnd('株式会社', 5), '株式…');
  assert.equal(truncateEnd('short', 5), 'short');
  assert.equal(truncateStart('/terminal/countryCode', 12), '…countryCode');
});
