import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPaint } from './colours.ts';
import {
  displayWidth,
  escapedJson,
  escapeText,
  truncateEnd,
  truncateStart,
} from './escape-text.ts';
import { formatTable } from './table.ts';

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

test('a table fits a narrow terminal and does not cut identifiers', () => {
  const rows = [{ id: '01990000-0000-7000-8000-000000000010', name: 'A name that goes on and on' }];
  const columns = [
    { title: 'ID', value: (row: (typeof rows)[0]) => row.id, neverTruncate: true },
    { title: 'NAME', value: (row: (typeof rows)[0]) => row.name },
  ];
  const text = formatTable(columns, rows, createPaint(false), 48);
  assert.ok(
    text.split('\n').every((line) => displayWidth(line) <= 48),
    text,
  );
  assert.match(text, /01990000-0000-7000-8000-000000000010 {2}A name th…/);
  assert.match(formatTable(columns, rows, createPaint(false), undefined), /on and on\n$/);
});

test('the widest columns are cut equally', () => {
  const columns = [
    { title: 'VALUE', value: () => `/applications/${'0'.repeat(40)}`, keepEnd: true },
    { title: 'IS', value: () => 'F'.repeat(500) },
    { title: 'FROM', value: () => 'Merchant', neverTruncate: true },
  ];
  const [, row = ''] = formatTable(columns, [{}], createPaint(false), 80).split('\n');
  assert.equal(displayWidth(row), 80);
  assert.match(row, /^…0{33} {2}F{33}… {2}Merchant$/);
});
