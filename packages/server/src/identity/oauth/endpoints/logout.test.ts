// Tests logout: by an application, with and without id_token_hint, and from a back end.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from '../../../../test/support/browser/cookie-browser.ts';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
  redirectUri,
} from '../../../../test/support/browser/oauth-test-realm.ts';
import { signIn } from '../../../../test/support/browser/sign-in-without-pages.ts';

const frontPage = 'https://shop.example';

describe('sign-out', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm({ webOrigins: [frontPage] });
  });
  after(() => flow.close());

  const address = (params: Record<string, string>) =>
    `${flow.base}/logout?${new URLSearchParams(params)}`;
  const isSignedIn = async (browser: Browser) =>
    (await browser.visit(flow.authorizationUrl())).location?.searchParams.has('code') === true;
  const isGood = (token: string) =>
    flow.realm.identity.verifyToken(token).then(
      () => true,
      () => false,
    );

  // Spec: IDENT-4
  test('with the ID token of the sign-in needs no confirmation and redirects back', async () => {
    for (const uri of [redirectUri, frontPage, `${frontPage}/`]) {
      const browser = flow.openBrowser();
      const tokens = await flow.requestTokens({}, browser);
      const other = await flow.requestTokens({}, flow.openBrowser());
      const { status, location } = await browser.visit(
        address({
          id_token_hint: tokens.id_token,
          post_logout_redirect_uri: uri,
          state: 'a&b',
        }),
      );
      assert.equal(status, 303);
      assert.equal(location?.searchParams.get('state'), 'a&b');
      assert.equal(`${location?.origin}`, frontPage);
      assert.equal(await isSignedIn(browser), false);
      assert.equal((await flow.refresh(tokens.refresh_token)).body['error'], 'invalid_grant');
      assert.equal(await isGood(tokens.access_token), false);
      assert.equal(
        browser.cookies.some(({ name }) => name.includes('-session-')),
        false,
      );
      assert.equal(await isGood(other.access_token), true, 'another browser stays in');
    }
  });

  test('with an expired ID token works, also without the session cookie', async () => {
    const browser = flow.openBrowser();
    const tokens = await flow.requestTokens({}, browser);
    flow.clock.advance(10 * 60_000);
    const otherBrowser = flow.openBrowser();
    const hint = { id_token_hint: tokens.id_token, post_logout_redirect_uri: redirectUri };
    const { status, location } = await otherBrowser.visit(address(hint));
    assert.deepEqual([status, location?.href], [303, redirectUri]);
    assert.equal((await flow.refresh(tokens.refresh_token)).body['error'], 'invalid_grant');
    assert.equal(await isSignedIn(browser), false);
  });

  test('without a hint asks for confirmation, and only this browser can answer', async () => {
    const browser = flow.openBrowser();
    const tokens = await flow.requestTokens({}, browser);
    const { client } = flow;
    const params = {
      client_id: client.clientId,
      post_logout_redirect_uri: redirectUri,
      state: 'back',
    };
    const response = await browser.visit(address(params));
    assert.equal(response.status, 200);
    assert.match(response.text, /id="op.logoutForm"/);
    assert.equal(await isSignedIn(browser), true, 'nothing happened yet');
    const question = /name="question" value="([^"]+)"/.exec(response.text)?.[1] ?? '';
    const action = `${flow.base}/logout/confirm`;

    const attacker = flow.openBrowser();
    await flow.requestTokens({}, attacker);
    for (const form of [{}, { question: '' }, { question: `${question}x` }, { question: 'a.b' }]) {
      assert.equal((await browser.visit(action, { form })).status, 400);
    }
    assert.equal((await attacker.visit(action, { form: { question } })).status, 400);
    assert.equal(await isSignedIn(attacker), true);

    const stayed = await browser.visit(action, { form: { question } });
    assert.equal(stayed.location?.href, `${redirectUri}?state=back`);
    assert.equal(await isSignedIn(browser), true, 'thought better of it');
    assert.equal(await isGood(tokens.access_token), true);

    const answered = await browser.visit(action, { form: { question, logout: 'yes' } });
    assert.equal(answered.location?.href, `${redirectUri}?state=back`);
    assert.equal(await isSignedIn(browser), false);
    assert.equal(await isGood(tokens.access_token), false);

    const late = flow.openBrowser();
    await flow.requestTokens({}, late);
    const again = await late.visit(address({}));
    const old = /name="question" value="([^"]+)"/.exec(again.text)?.[1] ?? '';
    const stayedHere = await late.visit(action, { form: { question: old } });
    assert.match(String(stayedHere.location?.pathname), /\/account$/);
    flow.clock.advance(10 * 60_000 + 1);
    assert.equal((await late.visit(action, { form: { question: old } })).status, 400);
  });

  test('of another user is not done by a hint', async () => {
    const browser = flow.openBrowser();
    await flow.requestTokens({}, browser);
    const other = await flow.createUser();
    const otherBrowser = flow.openBrowser();
    const callback = await signIn(flow.realm.identity, otherBrowser, flow.authorizationUrl(), {
      userId: other.userId,
    });
    const { body } = await flow.redeemCode(String(callback.searchParams.get('code')));
    const response = await browser.visit(address({ id_token_hint: String(body['id_token']) }));
    assert.equal(response.status, 200, 'it asks');
    assert.equal(await isSignedIn(browser), true);
    assert.equal(await isSignedIn(otherBrowser), true);
  });

  test('does not redirect to unregistered URIs', async () => {
    const browser = flow.openBrowser();
    const tokens = await flow.requestTokens({}, browser);
    for (const uri of [
      'https://evil.example',
      `${redirectUri}/x`,
      `${frontPage}.evil.example`,
      `${frontPage}/other`,
      'javascript:alert(1)',
      '',
    ]) {
      for (const client of [
        { id_token_hint: tokens.id_token },
        { client_id: flow.client.clientId },
        {},
      ] as Record<string, string>[]) {
        const params = address({ ...client, post_logout_redirect_uri: uri });
        const { status, location } = await browser.visit(params);
        assert.deepEqual([status, location], [400, undefined], `${uri} ${Object.keys(client)}`);
      }
    }
    for (const wrong of [
      address({ id_token_hint: 'nonsense' }),
      address({ id_token_hint: tokens.access_token }),
      address({ id_token_hint: tokens.id_token, client_id: 'other' }),
      address({ client_id: 'unknown' }),
      `${address({ state: 'a' })}&state=b`,
    ]) {
      assert.equal((await browser.visit(wrong)).status, 400, wrong.slice(0, 300));
    }
    assert.equal(await isSignedIn(browser), true);
    const nowhere = address({}).replace(flow.realm.userDomainId, 'no-such-realm');
    assert.equal((await browser.visit(nowhere)).status, 404);
  });

  test('without a session shows the signed-out page', async () => {
    const { status, headers, text } = await flow.openBrowser().visit(address({}));
    assert.equal(status, 200);
    assert.match(String(headers['content-type']), /text\/html/);
    assert.equal(text.includes('op.logoutForm'), false);
  });

  test('by a back end ends the session with the refresh token', async () => {
    const { realm, base, client } = flow;
    const browser = flow.openBrowser();
    const tokens = await flow.requestTokens({}, browser);
    const path = `${base}/logout`;
    const form = {
      client_id: client.clientId,
      client_secret: client.clientSecret,
      refresh_token: tokens.refresh_token,
    };
    const other = await flow.createClient();
    for (const [wrong, status, error] of [
      [{ client_secret: 'wrong' }, 401, 'invalid_client'],
      [{ client_secret: '' }, 401, 'invalid_client'],
      [{ client_id: other.clientId, client_secret: other.clientSecret }, 400, 'invalid_grant'],
      [{ refresh_token: 'nonsense' }, 400, 'invalid_grant'],
      [{ refresh_token: tokens.access_token }, 400, 'invalid_grant'],
    ] as const) {
      const { status: got, body } = await realm.post(path, { ...form, ...wrong });
      assert.deepEqual([got, body['error']], [status, error]);
    }
    const secret = Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64');
    const response = await realm.post(path, form, { authorization: `Basic ${secret}` });
    assert.equal(response.status, 401, 'two ways at once');
    assert.equal(await isSignedIn(browser), true);
    const done = await realm.post(
      path,
      { refresh_token: tokens.refresh_token },
      { authorization: `Basic ${secret}` },
    );
    assert.equal(done.status, 204);
    assert.equal(await isSignedIn(browser), false);
    assert.equal(await isGood(tokens.access_token), false);
    assert.equal((await realm.post(path, form)).body['error'], 'invalid_grant', 'it is over');
  });
});
