// Tests that an independent parser can read exported lines, and that spreadsheets run no formula.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { buildFileName, formatHeader, formatLines } from './csv-and-json-lines.ts';
import type { Column } from './export-columns.ts';

type Item = { id: string; note: string | undefined; amount: number };

const columns: readonly Column<Item>[] = [
  { name: 'id', readValue: ({ id }) => id },
  { name: 'note', isFreeText: true, readValue: ({ note }) => note },
  { name: 'amount', readValue: ({ amount }) => amount },
];
const csvOf = (items: readonly Item[]) =>
  formatHeader('Csv', columns) + formatLines('Csv', columns, items);
const cellOf = (note: string): string => {
  const [row] = parse(csvOf([{ id: 'a', note, amount: 1 }]), { columns: true }) as Item[];
  return String(row?.note);
};

describe('lines of exports', () => {
  test('CSV has a header line, ends lines with CR LF, and quotes commas, quotes and line breaks', () => {
    const text = csvOf([
      { id: 'a', note: 'plain', amount: 1050 },
      { id: 'b', note: 'one, "two"\nthree', amount: -5 },
      { id: 'c', note: undefined, amount: 0 },
    ]);
    assert.equal(text, 'id,note,amount\r\na,plain,1050\r\nb,"one, ""two""\nthree",-5\r\nc,,0\r\n');
  });

  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '"=1', '＝1', "'=1"]) {
    test(`a spreadsheet does not run ${JSON.stringify(text)}`, () => {
      assert.equal(cellOf(text), `'${text}`);
    });
  }

  // Spec: REP-12
  test('a CSV cell contains any text unchanged, with at most one apostrophe before it', () => {
    const unit = fc.constantFrom(...'ab19 =+-@,;"\'\t\r\n'.split(''), 'ß', '漢', '＝');
    fc.assert(
      fc.property(fc.array(unit, { minLength: 1, maxLength: 12 }), (units) => {
        const text = units.join('');
        const cell = cellOf(text);
        assert.ok(cell === text || cell === `'${text}`, JSON.stringify(text));
        assert.doesNotMatch(cell, /^[=+\-@\t\r＝＋－＠]/u);
      }),
    );
  });

  // Spec: REP-12
  test('an export does not contain a card number from a reference', () => {
    for (const format of ['Csv', 'JsonLines'] as const) {
      const text = formatLines(format, columns, [
        { id: 'a', note: 'order 4111 1111 1111 1111', amount: 1 },
        { id: 'b', note: '4111111111111111', amount: 1 },
      ]);
      assert.doesNotMatch(text.replaceAll(/\s/g, ''), /4111111111111111/);
    }
  });

  test('a JSON line has the members that have a value, and amounts as numbers', () => {
    const text = formatLines('JsonLines', columns, [
      { id: 'a', note: '', amount: 7 },
      { id: 'b', note: '=1', amount: 8 },
    ]);
    assert.deepEqual(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [
        { id: 'a', amount: 7 },
        { id: 'b', note: '=1', amount: 8 },
      ],
    );
  });

  test('the file name contains the report, the time and the format', () => {
    const at = '2026-03-01T12:30:05.123Z';
    assert.equal(buildFileName('transactions', 'Csv', at), 'transactions-20260301-123005.csv');
    assert.equal(
      buildFileName('settlements', 'JsonLines', at),
      'settlements-20260301-123005.jsonl',
    );
  });
});
