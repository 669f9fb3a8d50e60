import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPaint } from './colours.ts';
import { displayWidth } from './escape-text.ts';
import { formatTable } from './table.ts';

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
