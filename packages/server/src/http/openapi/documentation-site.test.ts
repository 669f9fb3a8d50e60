import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSample } from '../server/sample-server.fixture.ts';

const inlineScript = 'document.documentElement.classList.add("dark")';

/** A server with these files as its built documentation. */
async function serve(t: TestContext, files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-docs-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const sample = await createSample({ documentationFolder: folder });
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
  'how-to/operators/send-mail.html': '<html>mail</html>',
  'adr/index.html': '<html>decisions</html>',
  'assets/app.abc.js': 'app()',
  'reference/provider-spi.json': '{}',
};

test('pages have clean URLs, and the inline scripts of the build are allowed by their hash', async (t) => {
  const get = await serve(t, site);
  for (const [url, text] of [
    ['/docs/', 'home'],
    ['/docs/how-to/operators/send-mail', 'mail'],
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
});

test('an unknown page and a path outside the folder are 404 with the page of the site', async (t) => {
  const get = await serve(t, site);
  for (const url of [
    '/docs/none',
    '/docs/assets/none.js',
    '/docs/..%2f..%2fetc%2fpasswd',
    '/docs/.built-from',
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
});
