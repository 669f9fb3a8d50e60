// `npm start` uses the bundle of the server only while its sources are those that it was built from.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { buildServer } from './sites/build-server.ts';

const { findServerBundle } = createRequire(import.meta.url)('./sites/server-bundle.cjs') as {
  findServerBundle(root: string): string | undefined;
};

/** A repository with a server of two files. */
function createRepository(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'switchyard-bundle-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const write = (path: string, text: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const entry = 'packages/server/src/main.ts';
  write(entry, "import { greeting } from './greeting.ts';\nexport const text = greeting;\n");
  write('packages/server/src/greeting.ts', "export const greeting: string = 'first';\n");
  write('package-lock.json', '{}');
  const lines: string[] = [];
  const build = () => buildServer({ root, printLine: (line) => void lines.push(line) });
  return { root, write, build, lines };
}

/** What the program of the current bundle exports. */
async function loadExports(root: string): Promise<object> {
  const file = findServerBundle(root);
  assert.ok(file);
  // Node loads each address once.
  return { ...((await import(`${pathToFileURL(file)}?${randomUUID()}`)) as object) };
}

test('a bundle has the code of its sources, and is built again only after a change', async (t) => {
  const { root, write, build, lines } = createRepository(t);
  assert.equal(findServerBundle(root), undefined);
  assert.equal(await build(), true);
  assert.deepEqual(await loadExports(root), { text: 'first' });
  assert.equal(await build(), false);
  write('packages/server/src/greeting.ts', "export const greeting: string = 'other';\n");
  assert.equal(findServerBundle(root), undefined);
  assert.equal(await build(), true);
  assert.deepEqual(await loadExports(root), { text: 'other' });
  assert.equal(lines.length, 2);
});

test('of two builds at the same time, one builds and the other uses its bundle', async (t) => {
  const { build, lines } = createRepository(t);
  const results = await Promise.all([build(), build()]);
  assert.deepEqual(results.toSorted(), [false, true]);
  assert.equal(lines.length, 1);
});

test('a bundle is not used after new packages, nor in a copy of the folder', async (t) => {
  const { root, write, build } = createRepository(t);
  await build();
  const copy = `${root}-copy`;
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(root, copy, { recursive: true });
  assert.equal(findServerBundle(copy), undefined);
  write('package-lock.json', '{"packages":{}}');
  assert.equal(findServerBundle(root), undefined);
});
