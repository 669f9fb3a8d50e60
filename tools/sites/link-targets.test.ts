// Links of built pages: to other pages, to files, and to pages that the platform serves.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { brokenLinks } from '../../docs/.vitepress/link-targets.ts';

test('a link of a built page that leads to no file is reported', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-links-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (path: string, ...hrefs: string[]) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), hrefs.map((href) => `<a href="${href}">x</a>`).join('\n'));
  };
  write('reference/api.json');
  write(
    'index.html',
    '/docs/',
    '/docs/guides/pay',
    './guides/pay#step',
    '/docs/api',
    'https://x.example/',
  );
  write(
    'guides/pay.html',
    '../reference/api.json',
    '#step',
    '/docs/api.json',
    '../gone',
    '/portal',
  );
  assert.deepEqual(brokenLinks(folder).toSorted(), [
    'guides/pay.html: ../gone',
    'guides/pay.html: /docs/api.json',
    'guides/pay.html: /portal',
  ]);
});
