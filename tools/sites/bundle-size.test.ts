// What a browser has to fetch before the portal shows anything: within its budget, and nothing of the server in it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { repositoryRoot } from '../repository-root.ts';

const entryBytesMost = 200 * 1024;
const screenBytesMost = 120 * 1024;
const buildLimitMs = 300_000;
const dist = join(repositoryRoot, 'packages/portal/dist');

describe('the bundle of the portal', () => {
  let page: string;
  let assets: string[];

  before(async () => {
    const build = [join(repositoryRoot, 'tools/build-site.ts'), 'portal'];
    await promisify(execFile)(process.execPath, build, { timeout: buildLimitMs });
    page = readFileSync(join(dist, 'index.html'), 'utf8');
    assets = readdirSync(join(dist, 'assets')).filter((name) => /\.(?:js|css)$/.test(name));
  });

  const zipped = (name: string): number =>
    gzipSync(readFileSync(join(dist, 'assets', name)), { level: 9 }).length;
  const entryFiles = (): string[] =>
    [...page.matchAll(/\/portal\/assets\/([^"]+)"/g)].map(([, name = '']) => name);

  test('the entry, its style included, is at most 200 kB', () => {
    const entry = entryFiles();
    assert.ok(entry.some((name) => name.endsWith('.js')));
    assert.ok(entry.some((name) => name.endsWith('.css')));
    const bytes = entry.map(zipped).reduce((sum, each) => sum + each, 0);
    assert.ok(bytes <= entryBytesMost, `${bytes} bytes: ${entry.join(' ')}`);
  });

  test('each file that loads later is at most 120 kB', () => {
    const entry = new Set(entryFiles());
    const later = assets.filter((name) => !entry.has(name));
    assert.ok(later.length > 20, 'screens and words are files of their own');
    for (const name of later)
      assert.ok(zipped(name) <= screenBytesMost, `${name}: ${zipped(name)}`);
  });

  test('the bundle has no schemas of the contract, and the page no inline script', () => {
    for (const name of assets) {
      const text = readFileSync(join(dist, 'assets', name), 'utf8');
      assert.equal(text.includes('~kind'), false, `${name} holds TypeBox`);
      assert.equal(/fonts\.(?:googleapis|gstatic)|unpkg|jsdelivr/.test(text), false, name);
    }
    const inline = [...page.matchAll(/<script(?![^>]*\bsrc=)/g)];
    assert.deepEqual(inline, []);
    const nonces = [...page.matchAll(/nonce="__CSP_NONCE__"/g)];
    assert.ok(nonces.length >= 3);
  });
});
