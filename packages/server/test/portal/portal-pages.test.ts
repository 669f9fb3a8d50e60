// The built portal over HTTP: strict headers, cached files, and a page of the server if the portal
// is not built.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { BrowserResponse } from '../support/browser/cookie-browser.ts';
import { openVisitor, type Visitor } from './portal-client.ts';
import { openPortalTestServer, type PortalTestServer, writeBuilt } from './portal-test-platform.ts';

const script = `console.log(${JSON.stringify('x'.repeat(2000))})`;
const index = `<!doctype html><meta property="csp-nonce" nonce="__CSP_NONCE__">
<script type="module" nonce="__CSP_NONCE__" src="/portal/assets/index-Ab12.js"></script>`;

describe('the pages of the portal', () => {
  let portal: PortalTestServer;
  let visitor: Visitor;
  before(async () => {
    portal = await openPortalTestServer();
    visitor = openVisitor(portal, 'nobody');
  });
  after(() => portal.close());

  const navigate = { accept: 'text/html,*/*;q=0.8', 'sec-fetch-mode': 'navigate' };
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    visitor.browser.visit(path, { method, headers: { ...navigate, ...headers } });
  const built = async () => {
    await writeBuilt(portal.portalFolder, {
      'index.html': index,
      'mark.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'assets/index-Ab12.js': script,
      'assets/index-Ab12.js.br': brotliCompressSync(script),
      'assets/index-Ab12.js.gz': gzipSync(script),
      'assets/small-Cd34.css': 'a{}',
    });
    portal.clock.advance(2_000);
  };
  const policyOf = (response: BrowserResponse) =>
    String(response.headers['content-security-policy']);

  test('before the build, each portal address shows a message, and nothing else fails', async () => {
    await rm(join(portal.portalFolder, 'index.html'), { force: true });
    portal.clock.advance(2_000);
    for (const [language, words] of [
      ['en', /The portal is not built/],
      ['fr', /Le portail n’est pas construit/],
      ['de', /Das Portal ist nicht gebaut/],
      ['xx, *;q=0.1', /The portal is not built/],
    ] as const) {
      const response = await get('/portal/payments', { 'accept-language': language });
      assert.equal(response.status, 503);
      assert.match(response.text, words);
      assert.match(policyOf(response), /script-src 'self'.*frame-ancestors 'none'/);
    }
    assert.equal((await visitor.ask('/portal/session')).status, 401);
  });

  // Spec: SVC-33
  test('a new build is served without a restart, and each page has its own nonce', async () => {
    await built();
    const pages = ['/portal', '/portal/', '/portal/payments/1?x=2', '/provider-portal/services'];
    const nonces = new Set<string>();
    for (const path of pages) {
      const response = await get(path);
      assert.equal(response.status, 200, path);
      const [, nonce = ''] = /style-src 'self' 'nonce-([\w-]{22,})'/.exec(policyOf(response)) ?? [];
      nonces.add(nonce);
      assert.equal(response.text, index.replaceAll('__CSP_NONCE__', nonce));
    }
    assert.equal(nonces.size, pages.length);
  });

  test('a client that is no browser gets the page at the address of the portal', async () => {
    await built();
    for (const [path, status] of [
      ['/portal', 200],
      ['/provider-portal', 200],
      ['/portal/absent.svg', 404],
    ] as const) {
      const response = await visitor.browser.visit(path, { headers: { accept: '*/*' } });
      assert.equal(response.status, status, path);
    }
  });

  test('the page headers forbid foreign content, framing and caching', async () => {
    await built();
    const response = await get('/portal');
    const policy = new Map(
      policyOf(response)
        .split('; ')
        .map((part) => [part.split(' ')[0] ?? '', part.split(' ').slice(1).join(' ')]),
    );
    assert.equal(policy.get('default-src'), "'none'");
    assert.equal(policy.get('script-src'), "'self'");
    assert.equal(policy.get('connect-src'), "'self'");
    assert.equal(policy.get('form-action'), "'self'");
    for (const name of ['base-uri', 'frame-ancestors']) assert.equal(policy.get(name), "'none'");
    assert.doesNotMatch(policyOf(response), /unsafe|http:|https:|\*/);
    const { headers } = response;
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['x-frame-options'], 'DENY');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['strict-transport-security'], undefined, 'localhost is many people’s');
  });

  test('assets are cached permanently, compressed, and have an ETag', async () => {
    await built();
    const path = '/portal/assets/index-Ab12.js';
    const plain = await get(path, { accept: '*/*', 'accept-encoding': 'identity' });
    assert.equal(plain.text, script);
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.match(String(plain.headers['content-type']), /^text\/javascript/);
    assert.equal(plain.headers['content-encoding'], undefined);
    const sizes = { br: brotliCompressSync(script).length, gzip: gzipSync(script).length };
    for (const [accepted, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
    ] as const) {
      const response = await get(path, { accept: '*/*', 'accept-encoding': accepted });
      assert.equal(response.headers['content-encoding'], encoding, accepted);
      assert.equal(Number(response.headers['content-length']), sizes[encoding]);
      assert.match(String(response.headers['vary']), /accept-encoding/);
      const tag = String(response.headers['etag']);
      const again = { accept: '*/*', 'accept-encoding': accepted, 'if-none-match': tag };
      assert.equal((await get(path, again)).status, 304);
    }
    const head = await get(path, { accept: '*/*', 'accept-encoding': 'br' }, 'HEAD');
    assert.deepEqual([head.status, head.text], [200, '']);
    assert.equal(Number(head.headers['content-length']), sizes.br);
    assert.equal((await get('/portal', {}, 'HEAD')).status, 200);
    const logo = await get('/portal/mark.svg', {
      accept: 'image/*,*/*',
      'sec-fetch-mode': 'no-cors',
    });
    assert.deepEqual([logo.status, logo.headers['content-type']], [200, 'image/svg+xml']);
  });

  test('a missing file answers 404, and no other file of the machine is served', async () => {
    await built();
    const script404 = { accept: '*/*', 'sec-fetch-mode': 'cors' };
    const names = [
      'none-1.js',
      'index-Ab12.js.br',
      'index-Ab12.js.map',
      '..',
      '.built-from',
      'x'.repeat(300),
      '..%2Findex.html',
      '..%2f..%2f..%2fpackage.json',
      '%2e%2e%2fmark.svg',
      '%00.js',
      'a%5Cb.js',
    ];
    for (const name of names) {
      const response = await get(`/portal/assets/${name}`, script404);
      assert.equal(response.status, 404, name);
    }
    for (const path of [
      '/portal/none.js',
      '/portal/index.html',
      '/portal/assets',
      '/portal/../package.json',
      '/portal/.x',
    ]) {
      const { status } = await get(path, script404);
      assert.equal(status, 404, path);
    }
    const unknown = await get('/portalx');
    assert.equal(unknown.status, 404);
    assert.match(String(unknown.headers['content-type']), /problem\+json/);
    const posted = await get('/portal/payments', {}, 'POST');
    assert.equal(posted.status, 405);
  });

  test('the sign-in never redirects to another site', async () => {
    const { portalPathOf: ownAddress } = await import('../../src/portal/sign-in/sign-in-state.ts');
    const origin = 'https://acme.portal.test:8443';
    const allowedAddresses = [
      '/portal',
      '/portal/payments?a=b#c',
      '/provider-portal',
      '/provider-portal/x/y',
    ];
    for (const address of allowedAddresses) assert.equal(ownAddress(address, origin), address);
    const dropped = [
      undefined,
      '',
      '/',
      '/portalx',
      '/portal-evil/x',
      '//evil.example/portal',
      '/\\evil.example',
      'https://evil.example/portal',
      'javascript:alert(1)',
      'portal',
      '/portal/../docs/api',
      '\t//x/portal',
      '/portal/sign-in',
      '/portal/callback?code=1',
      '/portal/sign-in/x',
      `/portal/${'x'.repeat(2000)}`,
      'https://acme.portal.test:8443@evil.example/portal',
      '/%2e%2e/portal/..',
      'http://[/portal',
    ];
    for (const address of dropped) assert.equal(ownAddress(address, origin), '/portal', address);
    assert.equal(ownAddress(`${origin}/portal/x`, origin), '/portal/x');
  });
});
