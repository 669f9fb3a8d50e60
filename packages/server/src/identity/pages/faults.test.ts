import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import {
  openSignInPages,
  redirectUri,
  type SignInPages,
  submit,
} from '../../../test/sign-in-pages.ts';
import { userDomainOfHost } from '../clients/portal-urls.ts';
import { policySource } from './answers.ts';
import { deviceName, userAgentOf } from './device-name.ts';
import { withoutDomain } from './sign-in.ts';

describe('what goes wrong', () => {
  let pages: SignInPages;

  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  test('is told as a page with the name of the request, in both languages', async () => {
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
      [`${base}/sign-in/stale`, 410, /This sign-in is over/, /Cette connexion est terminée/],
      [`${auth}/stale`, 400, /This sign-in is over/, /Cette connexion est terminée/],
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
      [`${base}/account?lang=en&lang=fr`, 422, /not understood/, /pas été comprise/],
      ['/auth/assets/none.css', 404, /Page not found/, /Page introuvable/],
    ];
    for (const [path, status, english, french] of cases) {
      for (const [language, says] of [
        ['en', english],
        ['fr', french],
      ] as const) {
        const browser = pages.openBrowser();
        const seen = await browser.visit(path, { headers: { 'accept-language': language } });
        assert.equal(seen.status, status, path);
        assert.equal(seen.location, undefined, `${path} leads nowhere`);
        assert.match(seen.text, says, path);
        assert.match(seen.text, new RegExp(`<html lang="${language}">`), path);
        const requestId = String(seen.headers['x-request-id']);
        assert.ok(seen.text.includes(`<code>${requestId}</code>`), path);
        assert.equal(seen.text.includes('evil.example'), false);
      }
    }
  });

  test('a fault of ours says nothing about it', async (t) => {
    const broken = async () => {
      throw new Error('secret-of-the-house');
    };
    t.mock.method(pages.realm.identity.accounts, 'authenticate', broken);
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const seen = await submit(browser, page, { username: 'jane', password: 'any' });
    assert.equal(seen.status, 500);
    assert.match(seen.text, /The fault is ours/);
    assert.equal(seen.text.includes('secret-of-the-house'), false);
  });

  test('the files of the pages last, under their own name alone', async () => {
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
    for (const name of ['mark.svg', 'passkey.js', 'webauthn.js']) {
      assert.equal((await browser.visit(`/auth/assets/${name}`)).status, 200, name);
    }
  });

  test('pages are no part of the API, and stand in their own document', async () => {
    const browser = pages.openBrowser();
    const { text } = await browser.visit('/openapi.json');
    const { paths } = JSON.parse(text) as { paths: object };
    const document = await readFile('docs/concepts/sign-in.md', 'utf8');
    const { pageTable } = await import('./page-table.ts');
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

describe('small rules of the pages', () => {
  test('a policy names the origin of an address, or its scheme, or nothing', () => {
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
      assert.equal(policySource(address), source, address);
    }
  });

  test('a host of the portal names its client', () => {
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

  test('a name loses the user domain that it stands in, and no other', () => {
    for (const [name, plain] of [
      ['jane@acme', 'jane'],
      [' jane@ACME ', 'jane'],
      ['jane@shop.example@acme', 'jane@shop.example'],
      ['jane@other', 'jane@other'],
      ['@acme', '@acme'],
      ['jane', 'jane'],
    ] as const) {
      assert.equal(withoutDomain(name, 'acme'), plain);
    }
  });

  test('a device is named by its browser and system', () => {
    const chrome =
      'Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/150.0.0.0 Mobile Safari/537.36';
    const safari =
      'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile Safari/604.1';
    const edge =
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0.0.0 Safari/537.36 Edg/150.0';
    assert.deepEqual(deviceName(chrome), { browser: 'Chrome', system: 'Android' });
    assert.deepEqual(deviceName(safari), { browser: 'Safari', system: 'iPhone' });
    assert.deepEqual(deviceName(edge), { browser: 'Edge', system: 'Windows' });
    assert.deepEqual(deviceName('curl/8.5'), { browser: 'curl' });
    assert.deepEqual(deviceName('something on Linux'), { browser: 'Linux' });
    const session = { kind: 'Browser', signedInAt: 5000 } as const;
    const record = { at: 4200, outcome: 'Success', userAgent: chrome } as const;
    assert.equal(userAgentOf(session, [record]), chrome);
    assert.equal(userAgentOf({ ...session, kind: 'Password' }, [record]), undefined);
    assert.equal(userAgentOf(session, [record, { ...record, userAgent: edge }]), undefined);
    assert.equal(userAgentOf(session, [{ ...record, outcome: 'WrongCode' }]), undefined);
    assert.equal(userAgentOf(session, [{ ...record, at: 8000 }]), undefined);
    assert.equal(deviceName('unheard of'), undefined);
    assert.equal(deviceName(undefined), undefined);
  });
});
