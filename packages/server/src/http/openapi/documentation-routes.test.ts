import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type ErrorCodeFacts, errorCodes, listErrorCodes } from '@switchyard/contract';
import { escapeHtml } from '../../platform/index.ts';
import { html } from '../responses/html.ts';
import { createSample, type Sample } from '../server/sample-server.fixture.ts';

const root = join(import.meta.dirname, '../../../../..');

describe('the documentation pages', () => {
  let sample: Sample;
  before(async () => {
    sample = await createSample({ rateLimits: { public: { windowSeconds: 1, limit: 10_000 } } });
    await sample.app.ready();
  });
  after(() => sample.close());

  const get = (url: string, headers = {}) =>
    sample.app.inject({ url, headers: { accept: 'text/html,*/*;q=0.1', ...headers } });

  /** Every address in a page, as a browser would ask for it. */
  const addressesIn = (page: string, url: string) =>
    [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(
      ([, address]) => new URL(String(address), `https://switchyard.example${url}`),
    );

  /** The site is built from the files of docs. */
  const isSitePage = (pathname: string) =>
    pathname === '/docs/' || existsSync(join(root, `${pathname}.md`));

  for (const url of ['/docs/api', '/docs/errors', '/docs/errors/amount_zero']) {
    it(`serves ${url} with everything from this host, and nothing inline`, async () => {
      const answer = await get(url);
      assert.equal(answer.statusCode, 200);
      assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
      const policy = String(answer.headers['content-security-policy']);
      assert.match(policy, /^default-src 'self';/);
      assert.ok(!policy.includes('unsafe'));
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
      assert.doesNotMatch(answer.body, /<style|<script>|<script [^>]*>[^<]| style=| on\w+="/);
      for (const { origin, pathname } of addressesIn(answer.body, url)) {
        assert.equal(origin, 'https://switchyard.example');
        if (!isSitePage(pathname)) assert.ok((await get(pathname)).statusCode < 300, pathname);
      }
    });
  }

  // Spec: PROB-4
  it('has a page for every code, listed in the index', async () => {
    const index = await get('/docs/errors');
    for (const code of listErrorCodes()) {
      assert.ok(index.body.includes(`href="errors/${code}"`), code);
      const page = await get(`/docs/errors/${code}`);
      assert.equal(page.statusCode, 200, code);
      assert.ok(page.body.includes(escapeHtml(errorCodes[code].help)), code);
      assert.ok(page.body.includes(`<dd>${errorCodes[code].status}</dd>`), code);
      const isNotProcessed = errorCodes[code].outcome === 'NotProcessed';
      assert.equal(page.body.includes('href="../explanation/idempotency"'), isNotProcessed, code);
    }
  });

  it('says for each unknown outcome to request it before the request is sent again', async () => {
    for (const code of listErrorCodes().filter((each) => errorCodes[each].outcome === 'Unknown')) {
      const { body } = await get(`/docs/errors/${code}`);
      const [, shown = ''] = body.split('<dt>What to do</dt>');
      const { retryable, advice }: ErrorCodeFacts = errorCodes[code];
      const general = retryable ? 'Request the outcome first' : 'Do not send the request again: ';
      assert.ok(shown.startsWith(`<dd>${advice ?? general}`), code);
    }
  });

  it('answers 404 for an unknown code or file', async () => {
    for (const url of ['/docs/errors/nothing', '/docs/errors/toString']) {
      const answer = await get(url);
      assert.equal(answer.statusCode, 404, url);
      assert.match(answer.body, /No such error code/);
      assert.equal(answer.headers['cache-control'], 'no-store');
    }
    assert.equal((await get('/docs/api/assets/package.json')).json().code, 'resource_not_found');
    assert.equal((await get('/docs/api/assets/..%2fpackage.json')).statusCode, 404);
  });

  it('redirects the URL without a trailing slash to the documentation', async () => {
    const answer = await get('/docs');
    assert.equal(answer.statusCode, 308);
    const location = new URL(String(answer.headers.location), 'https://a.example/docs');
    assert.equal(location.pathname, '/docs/');
  });

  it('compresses files for clients that accept gzip', async () => {
    const plain = await get('/docs/api/assets/swagger-ui.js');
    const zipped = await get('/docs/api/assets/swagger-ui.js', { 'accept-encoding': 'br, gzip' });
    assert.equal(zipped.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(zipped.rawPayload).toString(), plain.body);
    assert.match(String(plain.headers['content-type']), /^text\/javascript/);
  });

  it('escapes inserted values', () => {
    const inner = html`<b>${'<&">'}</b>`;
    assert.equal(html`${inner}${[inner]}${7}'`.html, `${inner.html}${inner.html}7'`);
    assert.equal(inner.html, '<b>&lt;&amp;&quot;&gt;</b>');
  });
});
