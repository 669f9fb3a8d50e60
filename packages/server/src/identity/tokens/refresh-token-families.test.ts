// Tests authorization codes and refresh tokens: redeemed once, and revoked as a family after a second use.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
  redirectUri,
  type TokenResponse,
} from '../../../test/support/browser/oauth-test-realm.ts';
import { runCleanup } from '../../../test/support/database/run-cleanup.ts';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { createTokenFamilyStore, type TokenFamily } from './refresh-token-family-sql.ts';

const rounds = 5;
const callers = 12;

describe('a code', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm();
  });
  after(() => flow.close());

  const isGood = (token: string) =>
    flow.realm.identity.verifyToken(token).then(
      () => true,
      () => false,
    );

  // Spec: AUTHZ-9 LIM-6
  test('that is redeemed concurrently succeeds exactly once', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const code = await flow.requestCode();
      const answers = await Promise.all(
        Array.from({ length: callers }, () => flow.redeemCode(code)),
      );
      const won = answers.filter(({ status }) => status === 200);
      assert.equal(won.length, 1);
      for (const { status, body } of answers) {
        if (status !== 200) assert.deepEqual([status, body['error']], [400, 'invalid_grant']);
      }
      // One of the two may be a thief, so both lose their tokens.
      const tokens = won[0]?.body as TokenResponse;
      assert.equal((await flow.refresh(tokens.refresh_token)).body['error'], 'invalid_grant');
      assert.equal(await isGood(tokens.access_token), false);
    }
  });

  test('that was redeemed before is reported as used while its session exists', async () => {
    const database = await testDatabase();
    const [organizationId, sessionId, codeId] = [randomUUID(), randomUUID(), randomUUID()];
    for (const [model, id] of [
      ['Session', sessionId],
      ['AuthorizationCode', codeId],
    ]) {
      await database.query(
        `INSERT INTO oidc_entities (organization_id, model, entity_id, payload, uid, created_at)
         VALUES ($1, $2, $3, '{}', $3, now())`,
        [organizationId, model, id],
      );
    }
    const now = flow.clock.now();
    const family: TokenFamily = {
      organizationId,
      familyId: randomUUID(),
      userId: randomUUID(),
      clientId: 'shop',
      sessionId,
      kind: 'AuthorizationCode',
      tokenId: randomUUID(),
      context: { scope: 'openid', methods: ['pwd'], authenticatedAt: now },
      createdAt: now,
      refreshedAt: now,
      accessExpiresAt: now,
      expiresAt: now,
      endsAt: now,
      idleMs: 1,
      accessMs: 1,
    };
    const store = createTokenFamilyStore(database);
    assert.equal(await store.insertFromCode(family, codeId), 'made');
    assert.equal(await store.insertFromCode(family, codeId), 'used');
    const other = { ...family, sessionId: randomUUID() };
    assert.equal(await store.insertFromCode(other, codeId), 'over');
  });

  // Spec: LIM-6
  test('that is redeemed again later ends the whole family', async () => {
    const code = await flow.requestCode();
    const { body } = await flow.redeemCode(code);
    const first = body as TokenResponse;
    const second = (await flow.refresh(first.refresh_token)).body as TokenResponse;
    flow.clock.advance(120_000);
    assert.equal(await isGood(second.access_token), true);
    const replayed = await flow.redeemCode(code);
    assert.deepEqual([replayed.status, replayed.body['error']], [400, 'invalid_grant']);
    assert.equal((await flow.refresh(second.refresh_token)).body['error'], 'invalid_grant');
    for (const token of [first.access_token, second.access_token]) {
      assert.equal(await isGood(token), false);
    }
  });

  // Spec: TOK-1
  test('is invalid after another client or redirect URI was sent with it', async () => {
    const other = await flow.createClient();
    for (const wrong of [
      { client_id: other.clientId, client_secret: other.clientSecret },
      { redirect_uri: 'https://shop.example/other' },
    ]) {
      const code = await flow.requestCode();
      assert.equal((await flow.redeemCode(code, wrong)).body['error'], 'invalid_grant');
      assert.equal(
        (await flow.redeemCode(code)).body['error'],
        'invalid_grant',
        JSON.stringify(wrong),
      );
    }
  });

  // Spec: TOK-1
  test('stays valid after malformed requests, and ends with its user', async () => {
    const code = await flow.requestCode();
    for (const [wrong, error] of [
      [{ redirect_uri: '' }, 'invalid_request'],
      [{ code: `${code}x` }, 'invalid_grant'],
      [{ code: '' }, 'invalid_request'],
      [{ code: 'a.b.c' }, 'invalid_grant'],
      [{ client_secret: 'x'.repeat(43) }, 'invalid_client'],
    ] as const) {
      const { body } = await flow.redeemCode(code, wrong);
      assert.equal(body['error'], error, JSON.stringify(wrong));
    }
    assert.equal((await flow.redeemCode(code)).status, 200);

    const late = await flow.requestCode();
    const { identity, organizationId } = flow.realm;
    await identity.accounts.setStatus(organizationId, flow.user.userId, 'Disabled');
    assert.equal((await flow.redeemCode(late)).body['error'], 'invalid_grant');
    await identity.accounts.setStatus(organizationId, flow.user.userId, 'Enabled');
    assert.equal((await flow.redeemCode(late)).body['error'], 'invalid_grant', 'it ended then');
  });
});

describe('a refresh token', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm();
  });
  after(() => flow.close());

  const isGood = (token: string) =>
    flow.realm.identity.verifyToken(token).then(
      () => true,
      () => false,
    );
  const errorOf = async (token: string, form?: Record<string, string>) =>
    (await flow.refresh(token, form)).body['error'];

  test('gives new tokens of the same sign-in repeatedly', async () => {
    const first = await flow.requestTokens({ nonce: 'once' });
    let last = first;
    for (let times = 0; times < 3; times += 1) {
      flow.clock.advance(300_000);
      const response = { scope: first.scope };
      const { status, body } = await flow.refresh(last.refresh_token, response);
      assert.equal(status, 200, JSON.stringify(body));
      last = body as TokenResponse;
      assert.equal(last.session_state, first.session_state);
      assert.equal(last.scope, first.scope);
      assert.equal(last['refresh_expires_in'], 900);
      assert.equal(await isGood(last.access_token), true);
      const [before, now] = [decodeJwt(first.id_token), decodeJwt(last.id_token)];
      assert.equal(now['auth_time'], before['auth_time']);
      assert.equal(now.sub, before.sub);
      assert.equal(now['nonce'], undefined);
      const { jti, azp, sub, typ, scope, sid } = decodeJwt(last.refresh_token);
      assert.deepEqual(
        [typ, azp, sub, scope, sid],
        ['Refresh', flow.client.clientId, flow.user.userId, first.scope, first.session_state],
      );
      assert.notEqual(jti, decodeJwt(first.refresh_token).jti);
    }
  });

  test('returns an ID token only if the request has the scope `openid` again', async () => {
    const first = await flow.requestTokens();
    const { body } = await flow.refresh(first.refresh_token);
    assert.equal(body['id_token'], undefined);
    assert.equal(body['scope'], first.scope);
    const response = await flow.refresh(String(body['refresh_token']), { scope: 'openid' });
    assert.equal(decodeJwt(String(response.body['id_token'])).sub, flow.user.userId);
  });

  test('with a wrong signature, or a changed claim, is refused', async () => {
    const { refresh_token: token } = await flow.requestTokens();
    const [head = '', payload = '', signature = ''] = token.split('.');
    const claims = decodeJwt(token);
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const wider = encoded({ ...claims, scope: `${claims['scope']} phone` });
    const unsignedHeader = encoded({ typ: 'JWT', alg: 'none' });
    for (const forged of [
      `${head}.${wider}.${signature}`,
      `${unsignedHeader}.${payload}.`,
      `${unsignedHeader}.${payload}.${signature}`,
      `${head}.${payload}.`,
      `${head}.${payload}.${signature}x`,
      `${head}.${payload}.${signature}.`,
    ]) {
      assert.equal(await errorOf(forged), 'invalid_grant', forged);
    }
    assert.equal(await errorOf(token), undefined);
  });

  test('that is redeemed concurrently succeeds exactly once', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { refresh_token: token } = await flow.requestTokens();
      const answers = await Promise.all(Array.from({ length: callers }, () => flow.refresh(token)));
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
      for (const { status, body } of answers) {
        if (status !== 200) assert.deepEqual([status, body['error']], [400, 'invalid_grant']);
      }
    }
  });

  test('that is used again ends the family and its access tokens', async () => {
    const first = await flow.requestTokens();
    const second = (await flow.refresh(first.refresh_token)).body as TokenResponse;
    const bystander = await flow.requestTokens();
    assert.equal(await errorOf(first.refresh_token), 'invalid_grant');
    assert.equal(await errorOf(second.refresh_token), 'invalid_grant');
    assert.equal(await isGood(first.access_token), false);
    assert.equal(await isGood(second.access_token), false);
    assert.equal(await isGood(bystander.access_token), true, 'another sign-in lives on');
    assert.equal((await flow.refresh(bystander.refresh_token)).status, 200);
  });

  test('narrows the scope for one access token and never widens it', async () => {
    const { refresh_token: token } = await flow.requestTokens({ scope: 'openid email profile' });
    for (const wider of ['openid email phone', 'address', 'openid  root', 'email\u0000']) {
      assert.equal(await errorOf(token, { scope: wider }), 'invalid_scope', wider);
    }
    const narrow = (await flow.refresh(token, { scope: 'email' })).body as TokenResponse;
    assert.equal(narrow.scope, 'email');
    assert.equal(narrow.id_token, undefined);
    const claims = decodeJwt(narrow.access_token);
    assert.deepEqual([claims['email'], claims['name']], ['ada@shop.example', undefined]);
    const whole = (await flow.refresh(narrow.refresh_token)).body as TokenResponse;
    assert.equal(whole.scope, 'openid email profile', 'the grant itself is as wide as before');
  });

  test('works only for its client and realm, and not as another kind of token', async () => {
    const tokens = await flow.requestTokens();
    const other = await flow.createClient();
    const otherClient = { client_id: other.clientId, client_secret: other.clientSecret };
    assert.equal(await errorOf(tokens.refresh_token, otherClient), 'invalid_grant');
    for (const wrong of [
      tokens.access_token,
      tokens.id_token,
      `${tokens.refresh_token}x`,
      `${tokens.refresh_token.slice(0, -8)}AAAAAAAA`,
      tokens.refresh_token.replace(/\..*\./, '.e30.'),
      'nonsense',
      'a.b.c',
      'eyJhbGciOiJub25lIn0.e30.',
      'x'.repeat(9000),
    ]) {
      assert.equal(await errorOf(wrong), 'invalid_grant', wrong.slice(0, 20));
    }
    assert.equal(await errorOf(''), 'invalid_request');
    const elsewhere = await openOAuthTestRealm();
    try {
      const { body } = await elsewhere.refresh(tokens.refresh_token);
      assert.equal(body['error'], 'invalid_grant');
    } finally {
      await elsewhere.close();
    }
    assert.equal(
      (await flow.refresh(tokens.refresh_token)).status,
      200,
      'the refresh token is still valid',
    );
    await assert.rejects(flow.realm.identity.verifyToken(tokens.refresh_token), /token_invalid/);
  });

  test('or a code that is sent twice in a request is refused', async () => {
    const { client, realm } = flow;
    const tokens = await flow.requestTokens();
    const code = await flow.requestCode();
    const ownForm = new URLSearchParams({
      client_id: client.clientId,
      client_secret: client.clientSecret,
      redirect_uri: redirectUri,
    });
    for (const twice of [
      `grant_type=refresh_token&refresh_token=${tokens.refresh_token}&refresh_token=x`,
      `grant_type=authorization_code&code=${code}&code=${code}`,
      `grant_type=authorization_code&code=${code}&redirect_uri=https%3A%2F%2Fevil.example`,
      `grant_type=refresh_token&grant_type=password&refresh_token=${tokens.refresh_token}`,
    ]) {
      const { statusCode, body } = await realm.app.inject({
        method: 'POST',
        url: realm.tokenPath,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: `${twice}&${ownForm}`,
      });
      assert.equal(statusCode, 400, body);
      assert.equal((JSON.parse(body) as { error: string }).error, 'invalid_request', body);
    }
    assert.equal((await flow.redeemCode(code)).status, 200);
    assert.equal((await flow.refresh(tokens.refresh_token)).status, 200);
  });

  test('expires after 15 minutes without use, and after 8 hours in any case', async () => {
    const idle = await flow.requestTokens();
    flow.clock.advance(15 * 60_000);
    assert.equal(await errorOf(idle.refresh_token), 'invalid_grant');
    let last = await flow.requestTokens();
    for (let minutes = 0; minutes < 8 * 60 - 10; minutes += 10) {
      flow.clock.advance(10 * 60_000);
      last = (await flow.refresh(last.refresh_token)).body as TokenResponse;
    }
    assert.ok(Number(last['refresh_expires_in']) <= 600, String(last['refresh_expires_in']));
    flow.clock.advance(10 * 60_000);
    assert.equal(await errorOf(last.refresh_token), 'invalid_grant');
  });

  test('extends the browser session each time it is used', async () => {
    const browser = flow.openBrowser();
    let last = await flow.requestTokens({}, browser);
    for (let times = 0; times < 3; times += 1) {
      flow.clock.advance(10 * 60_000);
      last = (await flow.refresh(last.refresh_token)).body as TokenResponse;
    }
    const again = await browser.visit(flow.authorizationUrl());
    assert.ok(again.location?.searchParams.get('code'), again.location?.href);
  });

  test('stops at once for a disabled user and for a disabled application', async () => {
    const { identity, organizationId } = flow.realm;
    const user = await flow.createUser();
    const tokens = await flow.requestTokens();
    await identity.accounts.setStatus(organizationId, flow.user.userId, 'Disabled');
    assert.equal(await errorOf(tokens.refresh_token), 'invalid_grant');
    assert.equal(await isGood(tokens.access_token), false);
    await identity.accounts.setStatus(organizationId, flow.user.userId, 'Enabled');
    assert.equal(await errorOf(tokens.refresh_token), 'invalid_grant', 'not even afterwards');
    assert.deepEqual(await identity.sessions.list(organizationId, flow.user.userId), []);
    assert.equal(user.status, 'Enabled');

    flow.clock.advance(2000);
    const later = await flow.requestTokens();
    await identity.setApplicationStatus(organizationId, flow.client.clientId, 'Disabled');
    assert.equal(await errorOf(later.refresh_token), 'invalid_client');
    await identity.setApplicationStatus(organizationId, flow.client.clientId, 'Enabled');
    assert.equal((await flow.refresh(later.refresh_token)).status, 200);
  });

  test('is deleted only after its expiry', async () => {
    const tokens = await flow.requestTokens();
    await runCleanup(flow.realm.identity.cleanupJobs);
    const { status, body } = await flow.refresh(tokens.refresh_token);
    assert.equal(status, 200, JSON.stringify(body));
    const { organizationId } = flow.realm;
    flow.clock.advance(25 * 3_600_000);
    await runCleanup(flow.realm.identity.cleanupJobs);
    const database = await testDatabase();
    const rows = await database.query('SELECT 1 FROM token_families WHERE organization_id = $1', [
      organizationId,
    ]);
    assert.equal(rows.length, 0);
  });
});
