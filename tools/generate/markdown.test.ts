import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replaceBlock, table } from './markdown.ts';

test('a bar inside a cell is escaped, an escaped bar is not changed', () => {
  const text = table(['A', 'B'], [['x | y', 'one \\| two']]);
  assert.equal(text, '| A | B |\n|---|---|\n| x \\| y | one \\| two |');
});

test('a block is replaced, and the surrounding text stays', () => {
  const document = 'above\n<!-- generated: t -->\n\nold\n\n<!-- end of t -->\nbelow\n';
  const replaced = replaceBlock(document, 't', 'new');
  assert.equal(replaced, 'above\n<!-- generated: t -->\n\nnew\n\n<!-- end of t -->\nbelow\n');
  assert.equal(replaceBlock(replaced, 't', 'new'), replaced);
  assert.throws(() => replaceBlock(document, 'other', 'new'), /no block/);
});
