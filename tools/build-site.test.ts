// A site is built when its sources have changed, once for several processes, and replaced only by a complete build.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { isBuilding } from '../packages/server/src/http/responses/built-folder.ts';
import { eventually } from '../packages/server/test/support/wait-for-condition.ts';
import { BuildFault, buildSite } from './sites/build.ts';
import { documentation, portal } from './sites/sites.ts';
import { sourcesHash } from './sites/sources-hash.ts';

const script = 'x'.repeat(5000);

/** A repository with as much of a portal as the build looks at, and a bundler that counts. */
function repository(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'switchyard-build-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const write = (path: string, text: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write('package-lock.json', '{}');
  write('packages/portal/index.html', '<!doctype html>');
  write('packages/portal/package.json', '{}');
  write('packages/portal/src/main.tsx', 'one');
  write('packages/money/src/index.ts', 'money');
  const lines: string[] = [];
  let builds = 0;
  const bundle = async (_root: string, folder: string) => {
    builds += 1;
    const text = readFileSync(join(root, 'packages/portal/src/main.tsx'), 'utf8');
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'index.html'), text);
    writeFileSync(join(folder, 'assets/a-1.js'), script);
    writeFileSync(join(folder, 'assets/small-2.css'), 'a{}');
  };
  const build = (how = bundle) =>
    buildSite({ ...portal, bundle: how }, { root, printLine: (line) => void lines.push(line) });
  return {
    root,
    write,
    build,
    lines,
    builds: () => builds,
    dist: join(root, 'packages/portal/dist'),
  };
}

test('a site is built at first and after a source has changed, and not otherwise', async (t) => {
  const { root, write, build, lines, builds, dist } = repository(t);
  assert.equal(await build(), true);
  assert.equal(await build(), false);
  assert.deepEqual([builds(), lines.length], [1, 2]);
  assert.match(lines[0] ?? '', /Building the portal/);
  for (const path of [
    'packages/portal/src/main.tsx',
    'packages/portal/src/new.ts',
    'package-lock.json',
    'packages/money/src/index.ts',
    'packages/nexo/src/browser.ts',
  ]) {
    const before = sourcesHash(root, portal.sources);
    write(path, `changed ${path}`);
    assert.notEqual(sourcesHash(root, portal.sources), before, path);
    assert.equal(await build(), true, path);
  }
  write('packages/portal/src/main.test.ts', 'a test');
  write('packages/server/src/main.ts', 'a source of the server');
  assert.equal(await build(), false, 'a file that is no source of the site changes nothing');
  assert.equal(
    readFileSync(join(dist, 'index.html'), 'utf8'),
    'changed packages/portal/src/main.tsx',
  );
  rmSync(join(dist, 'index.html'));
  assert.equal(await build(), true, 'index.html was deleted');
});

test('files of 1 KiB or more have Brotli and gzip copies', async (t) => {
  const { build, dist } = repository(t);
  await build();
  assert.equal(
    brotliDecompressSync(readFileSync(join(dist, 'assets/a-1.js.br'))).toString(),
    script,
  );
  assert.equal(gunzipSync(readFileSync(join(dist, 'assets/a-1.js.gz'))).toString(), script);
  assert.deepEqual(readdirSync(join(dist, 'assets')).toSorted(), [
    'a-1.js',
    'a-1.js.br',
    'a-1.js.gz',
    'small-2.css',
  ]);
  assert.equal(statSync(dist).mode & 0o777, 0o755, 'the server may run as another account');
});

test('of four concurrent builds only one runs the bundler', async (t) => {
  const { build, builds } = repository(t);
  const done = await Promise.all([1, 2, 3, 4].map(() => build()));
  assert.deepEqual(done.toSorted(), [false, false, false, true]);
  assert.equal(builds(), 1);
});

test('a failed build keeps the previous site, and the next build retries', async (t) => {
  const { root, write, build, dist } = repository(t);
  await build();
  write('packages/portal/src/main.tsx', 'two');
  const failing = build(async (_root, folder) => {
    writeFileSync(join(folder, 'index.html'), 'half');
    throw new BuildFault('a word is missing in main.tsx');
  });
  await assert.rejects(failing, /a word is missing/);
  assert.equal(readFileSync(join(dist, 'index.html'), 'utf8'), 'one');
  assert.deepEqual(readdirSync(join(root, '.cache')), [], 'no lock and no partial build remain');
  assert.equal(await build(), true);
  assert.equal(readFileSync(join(dist, 'index.html'), 'utf8'), 'two');
});

test('a source file that changes during a build causes the next build', async (t) => {
  const { write, build } = repository(t);
  await build(async (_root, folder) => {
    write('packages/portal/src/main.tsx', 'meanwhile');
    writeFileSync(join(folder, 'index.html'), 'one');
  });
  assert.equal(await build(), true);
});

test('the lock of an ended process does not block a build', async (t) => {
  const { root, write, build } = repository(t);
  write('.cache/build-portal.lock/pid', '4194304');
  assert.equal(await build(), true);
  assert.equal(existsSync(join(root, '.cache/build-portal.lock')), false);
});

test('the server says that a site is being built while this site is built or waits, and no other', async (t) => {
  const { root, write, build } = repository(t);
  write('docs/.vitepress/config.ts', 'the site');
  const building = () =>
    (['portal', 'documentation'] as const).filter((site) => isBuilding(site, join(root, '.cache')));
  const sitesOfBuilds: string[][] = [];
  const bundleWhile = (sites: number) => async (_root: string, folder: string) => {
    await eventually(`${sites} are being built`, () => building().length === sites);
    sitesOfBuilds.push(building());
    writeFileSync(join(folder, 'index.html'), 'pages');
  };
  await build(bundleWhile(1));
  write('packages/portal/src/main.tsx', 'two');
  const bundle = (root: string, folder: string) =>
    bundleWhile(3 - sitesOfBuilds.length)(root, folder);
  await Promise.all([
    build(bundle),
    buildSite({ ...documentation, bundle }, { root, printLine: () => {} }),
  ]);
  assert.deepEqual(sitesOfBuilds.slice(0, 2), [['portal'], ['portal', 'documentation']]);
  assert.equal(sitesOfBuilds[2]?.length, 1);
  assert.deepEqual(building(), []);
});

test('without Vite, the build fails and reports that Vite is not installed', async (t) => {
  const { root } = repository(t);
  await assert.rejects(buildSite(portal, { root, printLine: () => {} }), /Vite is not installed/);
});
