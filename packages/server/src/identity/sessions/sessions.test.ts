// Tests the sessions of a user: listed, ended one by one, ended all at once.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from '../../../test/support/browser/cookie-browser.ts';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
} from '../../../test/support/browser/oauth-test-realm.ts';
import { createNodeRequestAndReply } from '../../../test/support/browser/sign-in-without-pages.ts';

describe('sessions', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm({ securityFlows: ['AuthorizationCode', 'Password'] });
  });
  after(() => flow.close());

  const isSignedIn = async (browser: Browser) =>
    (await browser.visit(flow.authorizationUrl())).location?.searchParams.has('code') === true;
  const isGood = (token: string) =>
    flow.realm.identity.verifyToken(token).then(
      () => true,
      () => false,
    );
  const ownIds = () => [flow.realm.organizationId, flow.user.userId] as const;
  const current = (browser: Browser) => {
    const account = new URL(
      `/auth/realms/${flow.realm.userDomainId}/account`,
      'https://localhost:8443',
    );
    const { raw, rawReply } = createNodeRequestAndReply(browser, account);
    return flow.realm.identity.sessions.current(flow.realm.userDomainId, raw, rawReply);
  };

  test('are listed with their applications, newest first', async () => {
    const { identity } = flow.realm;
    await identity.sessions.endAll(...ownIds());
    const [old, young] = [flow.openBrowser(), flow.openBrowser()];
    await flow.requestTokens({}, old);
    flow.clock.advance(120_000);
    await flow.requestTokens({}, young);
    const listed = await identity.sessions.list(...ownIds());
    assert.equal(listed.length, 2);
    const [first, second] = listed;
    assert.equal(first?.sessionId, (await current(young))?.sessionId);
    assert.equal(second?.sessionId, (await current(old))?.sessionId);
    assert.deepEqual(first?.clientIds, [flow.client.clientId]);
    assert.deepEqual([first?.kind, first?.methods], ['Browser', ['pwd']]);
    assert.ok(Number(first?.signedInAt) > Number(second?.signedInAt));
    const { sessions } = identity;
    const otherUser = await flow.createUser();
    assert.deepEqual(await sessions.list(flow.realm.organizationId, otherUser.userId), []);
  });

  test('end one by one, with their tokens', async () => {
    const { sessions } = flow.realm.identity;
    const [mine, theirs] = [flow.openBrowser(), flow.openBrowser()];
    const [kept, ended] = [
      await flow.requestTokens({}, mine),
      await flow.requestTokens({}, theirs),
    ];
    const { sessionId = '' } = (await current(theirs)) ?? {};
    const otherUser = await flow.createUser();
    await sessions.end(flow.realm.organizationId, otherUser.userId, sessionId);
    assert.equal(await isSignedIn(theirs), true, 'a user cannot end sessions of another user');
    await sessions.end(...ownIds(), sessionId);
    assert.equal(await current(theirs), undefined);
    assert.equal(await isSignedIn(theirs), false);
    assert.equal(await isGood(ended.access_token), false);
    assert.equal((await flow.refresh(ended.refresh_token)).body['error'], 'invalid_grant');
    assert.equal(await isSignedIn(mine), true);
    assert.equal(await isGood(kept.access_token), true);
  });

  test('end except this one', async () => {
    const { sessions } = flow.realm.identity;
    const [mine, theirs] = [flow.openBrowser(), flow.openBrowser()];
    const [kept, ended] = [
      await flow.requestTokens({}, mine),
      await flow.requestTokens({}, theirs),
    ];
    const { sessionId = '' } = (await current(mine)) ?? {};
    await sessions.endOthers(...ownIds(), sessionId);
    assert.equal(await isSignedIn(theirs), false);
    assert.equal(await isGood(ended.access_token), false);
    assert.equal(await isSignedIn(mine), true);
    assert.equal((await flow.refresh(kept.refresh_token)).status, 200);
    assert.deepEqual(
      (await sessions.list(...ownIds())).map((session) => session.sessionId),
      [sessionId],
    );
  });

  test('end together with their unredeemed codes', async () => {
    const code = await flow.requestCode();
    await flow.realm.identity.sessions.endAll(...ownIds());
    assert.equal((await flow.redeemCode(code)).body['error'], 'invalid_grant');
  });

  test('are started again by a login page, always with another id', async () => {
    const { identity, userDomainId } = flow.realm;
    const browser = flow.openBrowser();
    const tokens = await flow.requestTokens({}, browser);
    const before = await current(browser);
    const page = new URL(`/auth/realms/${userDomainId}/account`, 'https://localhost:8443');
    const { raw, rawReply } = createNodeRequestAndReply(browser, page);
    const sessionId = await identity.sessions.start(userDomainId, raw, rawReply, {
      userId: flow.user.userId,
      methods: ['pwd', 'otp'],
    });
    assert.notEqual(sessionId, before?.sessionId);
    assert.equal((await flow.refresh(tokens.refresh_token)).body['error'], 'invalid_grant');
    for (const line of [rawReply.getHeader('set-cookie') ?? []].flat()) {
      const [pair = ''] = String(line).split(';');
      const [name = '', value = ''] = pair.split('=');
      browser.setCookie({
        name,
        value,
        path: '/',
        host: 'localhost:8443',
        attributes: new Map(),
        expiresAt: undefined,
      });
    }
    const now = await current(browser);
    assert.deepEqual([now?.sessionId, now?.methods], [sessionId, ['pwd', 'otp']]);
    assert.equal(await isSignedIn(browser), true);
  });

  test('need the cookie of their realm', async () => {
    assert.equal(await current(flow.openBrowser()), undefined);
    const browser = flow.openBrowser();
    await flow.requestCode({}, browser);
    assert.ok((await current(browser)) !== undefined);
    const page = new URL('/auth/realms/other/account', 'https://localhost:8443');
    const { raw, rawReply } = createNodeRequestAndReply(browser, page);
    assert.equal(await flow.realm.identity.sessions.current('other', raw, rawReply), undefined);
    await flow.realm.identity.accounts.setStatus(...ownIds(), 'Disabled');
    assert.equal(await current(browser), undefined);
    await flow.realm.identity.accounts.setStatus(...ownIds(), 'Enabled');
    assert.equal(await current(browser), undefined, 'not even afterwards');
  });
});
