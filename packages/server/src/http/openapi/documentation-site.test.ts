import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSample } from '../server/sample-server.fixture.ts';
import { isFirstDocumentationBuild } from './documentation-site.ts';
import movedPages from './moved-pages.json' with { type: 'json' };

const docs = join(import.meta.dirname, '../../../../../docs');

const inlineScript = 'document.documentElement.classList.add("dark")';

/** A server with these files as its built documentation. */
async function serve(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-docs-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, 'site', path, '..'), { recursive: true });
    writeFileSync(join(folder, 'site', path), text);
  }
  writeFileSync(join(folder, 'outside.json'), '{}');
  const sample = await createSample({ documentationFolder: join(folder, 'site') });
  t.after(async () => {
    await sample.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await sample.app.ready();
  return (url: string, headers = {}) => sample.app.inject({ url, headers });
}

const site = {
  'index.html': `<html><script src="/docs/assets/app.js"></script><script id="a">${inlineScript}</script>home</html>`,
  '404.html': '<html>no page</html>',
  'how-to/operators/run-in-production.html': '<html>run</html>',
  'adr/index.html': '<html>decisions</html>',
  'assets/app.abc.js': 'app()',
  'reference/provider-spi.json': '{}',
  '.hidden.json': '{}',
};

test('pages have clean URLs, and the inline scripts of the build are allowed by their hash', async (t) => {
  const get = await serve(t, site);
  for (const [url, text] of [
    ['/docs/', 'home'],
    ['/docs/how-to/operators/run-in-production', 'run'],
    ['/docs/adr/', 'decisions'],
  ] as const) {
    const answer = await get(url);
    assert.equal(answer.statusCode, 200, url);
    assert.ok(answer.body.includes(text), url);
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
    const policy = String(answer.headers['content-security-policy']);
    const hash = createHash('sha256').update(inlineScript).digest('base64');
    assert.ok(policy.includes(`script-src 'self' 'sha256-${hash}';`), policy);
  }
});

test('files with a hash in their name are cached for ever, and other files for an hour', async (t) => {
  const get = await serve(t, site);
  const script = await get('/docs/assets/app.abc.js');
  assert.match(String(script.headers['cache-control']), /immutable/);
  const again = { 'if-none-match': String(script.headers.etag) };
  assert.equal((await get('/docs/assets/app.abc.js', again)).statusCode, 304);
  const document = await get('/docs/reference/provider-spi.json');
  assert.equal(document.headers['content-type'], 'application/json');
  assert.equal(document.headers['cache-control'], 'public, max-age=3600');
  const page = await get('/docs/how-to/operators/run-in-production.html');
  assert.equal(page.headers['cache-control'], 'no-cache');
});

test('an unknown page and a path outside the folder are 404 with the page of the site', async (t) => {
  const get = await serve(t, site);
  for (const url of [
    '/docs/none',
    '/docs/assets/none.js',
    '/docs/..%2foutside.json',
    '/docs/.hidden.json',
  ]) {
    const answer = await get(url);
    assert.equal(answer.statusCode, 404, url);
    assert.equal(answer.headers['cache-control'], 'no-store', url);
    assert.match(answer.body, /no page/, url);
  }
});

test('without a build, /docs answers 503 and says that a build runs, or how to start one', async (t) => {
  const get = await serve(t, {});
  const answer = await get('/docs/');
  assert.equal(answer.statusCode, 503);
  assert.match(answer.body, /npm run docs:build|are being built/);
  assert.equal(answer.headers['cache-control'], 'no-store');
});

test('the first build runs while a process holds the lock and the site has no pages', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-docs-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const lock = join(folder, 'build-documentation.lock');
  assert.equal(isFirstDocumentationBuild(folder, folder), false);
  mkdirSync(lock);
  writeFileSync(join(lock, 'pid'), String(process.pid));
  assert.equal(isFirstDocumentationBuild(folder, folder), true);
  writeFileSync(join(folder, 'index.html'), 'pages');
  assert.equal(isFirstDocumentationBuild(folder, folder), false);
});

test('old addresses of pages and numbers of merged decision records lead to the new page', async (t) => {
  const get = await serve(t, site);
  const expected = {
    'concepts/tokens': 'explanation/tokens',
    'how-to/send-mail': 'how-to/operators/operate-the-sign-in-pages#mail',
    'adr/13': 'adr/0004-plain-sql-migrations',
    'adr/0013': 'adr/0004-plain-sql-migrations',
    'adr/0013-tenant-first-in-every-key': 'adr/0004-plain-sql-migrations',
    'adr/0001-one-room-per-capability': 'adr/0001-one-module-per-capability',
  };
  for (const [path, target] of Object.entries(expected)) {
    const { statusCode, headers } = await get(`/docs/${path}`);
    assert.deepEqual([statusCode, headers.location], [308, `/docs/${target}`], path);
  }
  for (const path of ['adr/0004-plain-sql-migrations', 'adr/9999', 'adr/constructor']) {
    assert.notEqual((await get(`/docs/${path}`)).statusCode, 308, path);
  }
});

test('each old address leads to a page and heading that exist, and is no page itself', () => {
  const fileOf = (path: string) => join(docs, `${path.replace(/(^|\/)$/, '$1index')}.md`);
  for (const [path, target] of Object.entries(movedPages)) {
    assert.ok(!existsSync(fileOf(path)), `${path} is a page`);
    const [page = '', heading] = target.split('#');
    assert.ok(existsSync(fileOf(page)), `${target} does not exist`);
    const headings = [...readFileSync(fileOf(page), 'utf8').matchAll(/^#+ (.+)$/gm)].map(
      ([, text = '']) => text.toLowerCase().replaceAll(' ', '-'),
    );
    if (heading !== undefined) assert.ok(headings.includes(heading), `${target} has no heading`);
  }
});

test('each decision record is found by its number, and each merged number by the first record that replaced it', () => {
  const records = readdirSync(join(docs, 'adr')).filter((name) => /^\d{4}-/.test(name));
  const index = readFileSync(join(docs, 'adr/index.md'), 'utf8');
  const merged = [...index.matchAll(/^\| (\d{4}) \|.*?\((\d{4}-[\w-]+)\.md\)/gm)];
  assert.ok(records.length > 40 && merged.length > 40);
  const expected = [
    ...records.map((name) => [`adr/${name.slice(0, 4)}`, `adr/${name.slice(0, -'.md'.length)}`]),
    ...merged.map(([, number, record]) => [`adr/${number}`, `adr/${record}`]),
  ];
  const numbers = Object.entries(movedPages).filter(([path]) => /^adr\/\d/.test(path));
  assert.deepEqual(Object.fromEntries(numbers), Object.fromEntries(expected));
});
