import assert from 'node:assert/strict';

/** The cells of the first table below a heading of the second level, without the head of the table. */
export function readTableRows(page: string, heading: string): string[][] {
  const start = page.indexOf(`\n## ${heading}\n`);
  assert.ok(start >= 0, `the page has no heading “${heading}”`);
  const [section = ''] = page.slice(start + 1).split('\n## ');
  const table = /(?:^\|.*\n)+/m.exec(section)?.[0] ?? assert.fail(`${heading} has no table`);
  const rows = table.trimEnd().split('\n').slice(2);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
