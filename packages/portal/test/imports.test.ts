// Files for imports in the browser: tables as sheets write them, what is sent, answers as they come.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import type { BulkResult } from '@switchyard/contract';
import { readCsv, separatorOf, writeCsv } from '../src/screens/imports/csv.ts';
import { exampleCsv, exampleFileName } from '../src/screens/imports/example-file.ts';
import {
  decodeUtf8,
  fileFaultOf,
  importNameOf,
  isImportName,
  maxBytes,
  maxLines,
  parseImportFile,
} from '../src/screens/imports/parse-import-file.ts';
import { readResultStream, resultsAsCsv } from '../src/screens/imports/result-stream.ts';

const rowsOf = (text: string) => [...readCsv(text, separatorOf(text))];

describe('a table', () => {
  test('CSV with quotes, line breaks, blank lines and byte order mark is read', () => {
    const text = '\ufefftype,name\r\n\r\nstore,"Canal, ""left""\nbank"\nstore,plain\n';
    assert.deepEqual(rowsOf(text), [
      { line: 1, cells: ['type', 'name'] },
      { line: 3, cells: ['store', 'Canal, "left"\nbank'] },
      { line: 5, cells: ['store', 'plain'] },
    ]);
    assert.deepEqual(rowsOf(''), []);
    assert.deepEqual(rowsOf('a,'), [{ line: 1, cells: ['a', ''] }]);
    assert.deepEqual(rowsOf('""\n'), [{ line: 1, cells: [''] }]);
  });

  test('semicolons are detected as separators', () => {
    assert.equal(separatorOf('type;name\nstore;a,b,c,d'), ';');
    assert.equal(separatorOf('type,"a;b;c",name'), ',');
  });

  test('written CSV reads back, and spreadsheets run no formulas', () => {
    const cells = ['=1+1', '+49', '-', '@x', 'a,b', '"q"', 'two\nlines', ''];
    const [row] = rowsOf(writeCsv([cells], false));
    assert.deepEqual(row?.cells, cells);
    const [safe] = rowsOf(writeCsv([cells], true));
    assert.deepEqual(safe?.cells.slice(0, 5), ["'=1+1", "'+49", "'-", "'@x", 'a,b']);
    const hidden = [' =1+1', '"=1+1', "'=1+1", '\uff1d1+1', '\n=1+1', '\u00a0@SUM(A1)'];
    const [behind] = rowsOf(writeCsv([hidden], true));
    assert.deepEqual(behind?.cells, [...hidden.map((cell) => `'${cell}`)]);
  });

  test('a secret is written unchanged, also with a formula character', () => {
    const secret = `-${'aB3_'.repeat(10)}-x`;
    assert.equal(secret.length, 43);
    assert.equal(writeCsv([[secret]], true), `${secret}\r\n`);
    assert.equal(writeCsv([[`=${secret.slice(1)}`]], true), `'=${secret.slice(1)}\r\n`);
  });
});

describe('a file for an import', () => {
  test('the parser reports lines, types and columns', () => {
    const file = parseImportFile(exampleFileName, exampleCsv);
    assert.deepEqual([file.format, file.lines, file.wasConverted], ['Csv', 5, false]);
    assert.equal(file.types['physicalDevice'], 1);
    assert.equal(fileFaultOf(file, 100), undefined);
    const widths = new Set(rowsOf(exampleCsv).map(({ cells }) => cells.length));
    assert.equal(widths.size, 1, 'each row of the example has as many cells as the first');
  });

  test('the demo can import the example, because it has other devices', async () => {
    const [header, ...rows] = rowsOf(exampleCsv).map(({ cells }) => cells);
    const column = header?.indexOf('serialNumber') ?? -1;
    const serials = rows.map((cells) => cells[column] ?? '').filter((serial) => serial !== '');
    assert.equal(serials.length, 1);
    const estate = new URL('../../server/src/demo/demo-estate.json', import.meta.url);
    const matches = (await readFile(estate, 'utf8')).matchAll(/"serialNumber": "(\w+)"/g);
    const seeded = new Set([...matches].map(([, serial]) => serial));
    assert.ok(seeded.size >= 4, 'the demo has devices');
    for (const serial of serials) assert.ok(!seeded.has(serial), serial);
  });

  test('JSON Lines are detected by file name or first character', () => {
    const lines = '{"type":"store","data":{"name":"A"}}\n\nno json\n{"type":"store"}\n';
    for (const name of ['a.jsonl', 'a.txt']) {
      const file = parseImportFile(name, lines);
      assert.deepEqual([file.format, file.lines], ['JsonLines', 3]);
      assert.deepEqual(file.types, { store: 2, '': 1 });
      assert.deepEqual(file.preview[0], { line: 1, cells: ['store', 'upsert', '{"name":"A"}'] });
      assert.equal(file.preview[1]?.line, 3);
    }
  });

  test('semicolons are sent as commas, with unchanged line numbers', () => {
    const text = 'type;name\n\n\nstore;"a\nb"\nstore;c,d\n';
    const file = parseImportFile('a.csv', text);
    assert.equal(file.wasConverted, true);
    const sent = [...readCsv(file.content, ',')];
    assert.deepEqual(sent, rowsOf(text));
  });

  test('a file that the platform would reject is rejected', () => {
    const fault = (text: string, bytes = text.length) =>
      fileFaultOf(parseImportFile('a.csv', text), bytes);
    assert.equal(fault('type,name\n'), 'empty');
    assert.equal(fault(''), 'empty');
    assert.equal(fault('kind,name\nstore,a'), 'noType');
    assert.equal(fault('type\nstore', maxBytes + 1), 'tooLarge');
    assert.equal(fault(`type\n${'store\n'.repeat(maxLines)}`), undefined);
    assert.equal(fault(`type\n${'store\n'.repeat(maxLines + 1)}`), 'tooManyLines');
  });

  test('a file that is not UTF-8 is rejected', () => {
    const bytes = (...values: number[]) => new Uint8Array(values).buffer;
    assert.equal(decodeUtf8(bytes(0x4c, 0xfc)), undefined);
    assert.equal(decodeUtf8(bytes(0xef, 0xbb, 0xbf, 0x61)), '\ufeffa', 'the mark stays');
  });

  test('the file name becomes a valid import name', () => {
    for (const name of ['Filialen Süd (neu).csv', '…', `${'x'.repeat(200)}.csv`, '.csv']) {
      const made = importNameOf(name, '2026-03-01');
      assert.ok(isImportName(made), made);
    }
    assert.equal(importNameOf('Filiale Süd.csv', '2026-03-01'), 'Filiale-Sud-2026-03-01');
    assert.equal(isImportName('a b'), false);
    assert.equal(isImportName(''), false);
  });
});

describe('the answer to an import', () => {
  const results: BulkResult[] = Array.from({ length: 40 }, (_, at) => ({
    line: at + 1,
    status: at % 3 === 0 ? 'failed' : 'created',
    externalId: `Café ${at}`,
    ...(at % 3 === 0
      ? {
          error: {
            code: 'field_invalid',
            detail: 'name: no.',
            errors: [{ pointer: '/name', code: 'field_invalid' as const, detail: 'No.' }],
          },
        }
      : {}),
  }));
  const summary = {
    dryRun: false,
    state: 'Completed' as const,
    lines: 40,
    created: 26,
    replaced: 0,
    unchanged: 0,
    deleted: 0,
    failed: 14,
  };
  const bytes = new TextEncoder().encode(
    [...results, { summary }].map((value) => JSON.stringify(value)).join('\n'),
  );

  test('the stream is read with any chunk borders', async () => {
    for (const size of [1, 2, 3, 7, 64, 100_000]) {
      async function* parts() {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      }
      const read: BulkResult[] = [];
      let last: unknown;
      for await (const part of readResultStream(parts())) {
        read.push(...part.results);
        last = part.summary ?? last;
      }
      assert.deepEqual(read, results, `${size} bytes at a time`);
      assert.deepEqual(last, summary);
    }
  });

  test('the results become CSV with the reason of each error', () => {
    const rows = rowsOf(resultsAsCsv(results));
    assert.equal(rows.length, 41);
    assert.deepEqual(rows[0]?.cells.slice(0, 3), ['line', 'status', 'type']);
    assert.equal(rows[1]?.cells.at(-1), '/name: No.');
    assert.ok(rows[2]?.cells.includes('Café 1'));
  });
});
