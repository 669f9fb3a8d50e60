import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import {
  openSignInPages,
  redirectUri,
  type SignInPages,
  submitForm,
} from '../../../test/support/browser/test-sign-in-pages.ts';
import { userDomainOfHost } from '../clients/portal-urls.ts';
import { stripUserDomain } from './handlers/sign-in.ts';
import { cspSource } from './http/page-response.ts';
import { findSessionUserAgent, parseDeviceName } from './views/device-name.ts';

describe('error pages', () => {
  let pages: SignInPages;

  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  test('show the error and the request ID, in two languages', async () => {
    const { base, clientId, linkWith } = pages;
    const auth = `${base}/protocol/openid-connect/auth`;
    const cases: [string, number, RegExp, RegExp][] = [
      ['/auth/realms/nowhere/account', 404, /Unknown user domain/, /Domaine inconnu/],
      ['/auth/realms/nowhere/sign-in/x', 404, /Unknown user domain/, /Domaine inconnu/],
      [
        '/auth/realms/nowhere/protocol/openid-connect/auth?client_id=x',
        404,
        /Unknown user domain/,
        /Domaine inconnu/,
      ],
      [
        `${base}/sign-in/stale`,
        410,
        /This sign-in is no longer valid/,
        /Cette connexion n’est plus valable/,
      ],
      [
        `${auth}/stale`,
        400,
        /This sign-in is no longer valid/,
        /Cette connexion n’est plus valable/,
      ],
      [`${base}/links/used`, 410, /This link no longer works/, /Ce lien n’est plus valable/],
      [
        `${auth}?client_id=nobody&response_type=code&redirect_uri=${redirectUri}`,
        400,
        /not set up correctly/,
        /mal configurée/,
      ],
      [
        linkWith({ redirect_uri: 'https://evil.example/' }),
        400,
        /not set up correctly/,
        /mal configurée/,
      ],
      [`${auth}?client_id=${clientId}&response_type=code`, 400, /Error/, /Erreur/],
      [`${base}/account?lang=en&lang=fr`, 422, /not valid/, /pas valide/],
      ['/auth/assets/none.css', 404, /Page not found/, /Page introuvable/],
    ];
    for (const [path, status, english, french] of cases) {
      for (const [language, says] of [
        ['en', english],
        ['fr', french],
      ] as const) {
        const browser = pages.openBrowser();
        const response = await browser.visit(path, { headers: { 'accept-language': language } });
        assert.equal(response.status, status, path);
        assert.equal(response.location, undefined, `${path} leads nowhere`);
        assert.match(response.text, says, path);
        assert.match(response.text, new RegExp(`<html lang="${language}">`), path);
        const requestId = String(response.headers['x-request-id']);
        assert.ok(response.text.includes(`<code>${requestId}</code>`), path);
        assert.equal(response.text.includes('evil.example'), false);
      }
    }
  });

  test('do not show details of an internal error', async (t) => {
    const broken = async () => {
      throw new Error('secret-of-the-server');
    };
    t.mock.method(pages.realm.identity.accounts, 'authenticate', broken);
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const response = await submitForm(browser, page, { username: 'jane', password: 'any' });
    assert.equal(response.status, 500);
    assert.match(response.text, /The error is on our side/);
    assert.equal(response.text.includes('secret-of-the-server'), false);
  });

  test('assets are cached for long only under their content hash', async () => {
    const browser = pages.openBrowser();
    const { text } = await browser.browse('/auth/sign-in');
    const [, style = ''] = /href="(\/auth\/assets\/pages\.css\?v=[\w-]+)"/.exec(text) ?? [];
    const lasting = await browser.visit(style);
    assert.equal(lasting.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.match(String(lasting.headers['content-type']), /^text\/css/);
    const other = await browser.visit('/auth/assets/pages.css?v=older');
    assert.equal(other.headers['cache-control'], 'public, no-cache');
    const etag = String(lasting.headers['etag']);
    const again = await browser.visit(style, { headers: { 'if-none-match': etag } });
    assert.equal(again.status, 304);
    for (const name of ['logo.svg', 'passkey.js', 'webauthn.js']) {
      assert.equal((await browser.visit(`/auth/assets/${name}`)).status, 200, name);
    }
  });

  test('pages are not part of the API document', async () => {
    const browser = pages.openBrowser();
    const { text } = await browser.visit('/openapi.json');
    const { paths } = JSON.parse(text) as { paths: object };
    const document = await readFile('docs/explanation/sign-in.md', 'utf8');
    const { listPages: pageTable } = await import('./page-list.ts');
    const anything: unknown = new Proxy(() => {}, { get: () => anything });
    const routes = pageTable(anything as Parameters<typeof pageTable>[0]);
    assert.ok(routes.length > 30);
    for (const { method, url } of routes) {
      assert.ok(!(url.replaceAll(/:(\w+)/g, '{$1}') in paths), url);
      const path = url.replace('/auth/realms/:realm', '…').replaceAll(/:(\w+)/g, '{$1}');
      assert.match(document, new RegExp(`\`${path.replaceAll(/[{}]/g, '\\$&')}\`[^\n]*${method}`));
    }
  });
});

describe('helpers of the pages', () => {
  test('a content security policy contains the origin of an address, or its scheme, or nothing', () => {
    for (const [address, source] of [
      ['https://shop.example/callback?a=b', 'https://shop.example'],
      ['http://127.0.0.1:5173/cb', 'http://127.0.0.1:5173'],
      ['http://[::1]:5173/cb', 'http:'],
      ['com.example.app:/callback', 'com.example.app:'],
      ['javascript:alert(1)', undefined],
      ['data:text/html,x', undefined],
      ["https://a.example/'; script-src *", 'https://a.example'],
      ['nonsense', undefined],
      [undefined, undefined],
    ] as const) {
      assert.equal(cspSource(address), source, address);
    }
  });

  test('a portal host contains its client', () => {
    for (const [host, domain, client] of [
      ['acme.portal.example', 'portal.example', 'acme'],
      ['ACME.Portal.Example', 'portal.example', 'acme'],
      ['portal.example', 'portal.example', undefined],
      ['a.b.portal.example', 'portal.example', undefined],
      ['acmeportal.example', 'portal.example', undefined],
      ['acme.portal.example.evil.example', 'portal.example', undefined],
      ['acme.portal.example', undefined, undefined],
    ] as const) {
      assert.equal(userDomainOfHost(host, domain), client, host);
    }
  });

  test('only the own user domain is removed from a user name', () => {
    for (const [name, plain] of [
      ['jane@acme', 'jane'],
      [' jane@ACME ', 'jane'],
      ['jane@shop.example@acme', 'jane@shop.example'],
      ['jane@other', 'jane@other'],
      ['@acme', '@acme'],
      ['jane', 'jane'],
    ] as const) {
      assert.equal(stripUserDomain(name, 'acme'), plain);
    }
  });

  test('a device name contains browser and operating system', () => {
    const chrome =
      'Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/150.0.0.0 Mobile Safari/537.36';
    const safari =
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile Safari/604.1';
    const edge =
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0.0.0 Safari/537.36 Edg/150.0';
    assert.deepEqual(parseDeviceName(chrome), { browser: 'Chrome', system: 'Android' });
    assert.deepEqual(parseDeviceName(safari), { browser: 'Safari', system: 'iPhone' });
    assert.deepEqual(parseDeviceName(edge), { browser: 'Edge', system: 'Windows' });
    assert.deepEqual(parseDeviceName('curl/8.5'), { browser: 'curl' });
    assert.deepEqual(parseDeviceName('something on Linux'), { browser: 'Linux' });
    const session = { kind: 'Browser', signedInAt: 5000 } as const;
    const record = { attemptedAt: 4200, outcome: 'Success', userAgent: chrome } as const;
    assert.equal(findSessionUserAgent(session, [record]), chrome);
    assert.equal(findSessionUserAgent({ ...session, kind: 'Password' }, [record]), undefined);
    assert.equal(
      findSessionUserAgent(session, [record, { ...record, userAgent: edge }]),
      undefined,
    );
    assert.equal(findSessionUserAgent(session, [{ ...record, outcome: 'WrongCode' }]), undefined);
    assert.equal(findSessionUserAgent(session, [{ ...record, attemptedAt: 8000 }]), undefined);
    assert.equal(parseDeviceName('unheard of'), undefined);
    assert.equal(parseDeviceName(undefined), undefined);
  });
});
