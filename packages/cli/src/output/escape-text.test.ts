import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPaint } from './colours.ts';
import { cutInFront, cutTo, jsonText, visible, widthOf } from './escape-text.ts';
import { tableText } from './table.ts';

const hostile = 'a\u001b[31mred\u009b2J\u202egpj.exe\u200b\u0007\r\n\ud800b\u{e0041}';

test('nothing that steers a terminal or hides text gets through', () => {
  const shown = visible(hostile);
  assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}\p{Cs}]/u);
  assert.match(shown, /^a\\u\{1b\}\[31mred\\u\{9b\}2J\\u\{202e\}gpj/);
  assert.equal(visible('Café “Lumière” 株式会社 🥐'), 'Café “Lumière” 株式会社 🥐');
});

test('JSON stays JSON, whatever a text holds', () => {
  const text = jsonText({ name: hostile }, 2);
  assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Cs}]/u);
  assert.deepEqual(JSON.parse(text), { name: hostile });
});

test('wide characters and marks take the cells that a terminal gives them', () => {
  assert.equal(widthOf('株式'), 4);
  assert.equal(widthOf('e\u0301'), 1);
  assert.equal(cutTo('株式会社', 5), '株式…');
  assert.equal(cutTo('short', 5), 'short');
  assert.equal(cutInFront('/terminal/countryCode', 12), '…countryCode');
});

test('a table fits a narrow terminal, and cuts no identifier', () => {
  const rows = [{ id: '01990000-0000-7000-8000-000000000010', name: 'A name that goes on and on' }];
  const columns = [
    { title: 'ID', of: (row: (typeof rows)[0]) => row.id, whole: true },
    { title: 'NAME', of: (row: (typeof rows)[0]) => row.name },
  ];
  const text = tableText(columns, rows, createPaint(false), 48);
  assert.ok(
    text.split('\n').every((line) => widthOf(line) <= 48),
    text,
  );
  assert.match(text, /01990000-0000-7000-8000-000000000010 {2}A name th…/);
  assert.match(tableText(columns, rows, createPaint(false), undefined), /on and on\n$/);
});

test('what has to be cut is taken from the widest columns alike', () => {
  const columns = [
    { title: 'VALUE', of: () => `/applications/${'0'.repeat(40)}`, keepsEnd: true },
    { title: 'IS', of: () => 'F'.repeat(500) },
    { title: 'FROM', of: () => 'Merchant', whole: true },
  ];
  const [, row = ''] = tableText(columns, [{}], createPaint(false), 80).split('\n');
  assert.equal(widthOf(row), 80);
  assert.match(row, /^…0{33} {2}F{33}… {2}Merchant$/);
});
