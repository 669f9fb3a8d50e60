// Tests the password grant: the issued tokens, and the same error for all failures.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  authUrl,
  movableClock,
  openTestRealm,
  type RealmResponse,
  type TestRealm,
} from '../../../../test/support/identity/test-realm.ts';
import {
  createTestUser,
  otpCodeAt,
  passwordForm,
  type TestUser,
} from '../../../../test/support/identity/test-users.ts';

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const stepMs = 30_000;

describe('the password grant', () => {
  const clock = movableClock();
  let realm: TestRealm;
  let clientId: string;
  let ada: TestUser;

  before(async () => {
    realm = await openTestRealm({ database: await testDatabase(), clock, environment: 'test' });
    clientId = await realm.createPasswordClient();
    ada = await createTestUser(realm);
  });
  after(() => realm.close());

  const requestToken = (form: Record<string, string>, headers = {}): Promise<RealmResponse> =>
    realm.post(realm.tokenPath, form, headers);
  const signIn = (person: TestUser, more: Record<string, string> = {}) =>
    requestToken({ ...passwordForm(person, clientId), ...more });
  const code = (person: TestUser) => otpCodeAt(person.otpSecret ?? '', clock.now());

  async function answered(request: Promise<RealmResponse>): Promise<Record<string, string>> {
    const { status, body } = await request;
    assert.equal(status, 200, JSON.stringify(body));
    return body as Record<string, string>;
  }

  // Spec: IDENT-37
  test('an application that has signed the user in before has its own attempt limit', async () => {
    const person = await createTestUser(realm);
    const client = await realm.createApplication({ securityFlows: ['Password'] });
    const asKnown = () =>
      requestToken({
        ...passwordForm(person, client.clientId),
        client_secret: client.clientSecret,
      });
    assert.equal((await asKnown()).status, 200);
    const wrong = { password: 'wrong' };
    for (let n = 0; n < 12; n += 1) await signIn(person, wrong);
    assert.equal((await signIn(person)).status, 400, 'a public application proves no identity');
    assert.equal((await asKnown()).status, 200);
    const fresh = await realm.createApplication({ securityFlows: ['Password'] });
    const form = { ...passwordForm(person, fresh.clientId), client_secret: fresh.clientSecret };
    assert.equal((await requestToken(form)).status, 400, 'it has not signed the user in before');
  });

  // Spec: TOKRES-4 TOKRES-8 TOK-5 IDENT-15
  test('answers with every member of the token response, which is not cached', async () => {
    const { status, headers, body } = await signIn(ada);
    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    const { access_token, refresh_token, id_token, session_state, ...rest } = body;
    assert.deepEqual(rest, {
      token_type: 'Bearer',
      expires_in: 300,
      refresh_expires_in: 28_800,
      'not-before-policy': 0,
      scope: 'openid profile email',
    });
    assert.match(String(session_state), uuidForm);
    for (const token of [access_token, refresh_token, id_token]) {
      assert.match(String(token), /^[\w-]+\.[\w-]+\.[\w-]+$/);
    }
    assert.equal(decodeProtectedHeader(String(access_token)).alg, 'RS256');
    assert.equal(decodeProtectedHeader(String(id_token)).alg, 'RS256');
    const { sub, azp, aud, iss, sid, iat, nbf, exp, typ } = decodeJwt(String(access_token));
    const issuedAt = clock.now() / 1000;
    assert.deepEqual(
      { sub, azp, aud, iss, sid, iat, nbf, exp, typ },
      {
        sub: ada.user.userId,
        azp: clientId,
        aud: clientId,
        iss: `${authUrl}/auth/realms/${realm.userDomainId}`,
        sid: session_state,
        iat: issuedAt,
        nbf: issuedAt,
        exp: issuedAt + 300,
        typ: 'Bearer',
      },
    );
    assert.match(String(sub), uuidForm);
  });

  test('the client gets an ID token only with the scope openid, and each scope adds its claims', async () => {
    const narrow = await answered(signIn(ada, { scope: 'email auth' }));
    assert.equal('id_token' in narrow, false);
    assert.equal(narrow['scope'], 'email auth');
    const claims = decodeJwt(narrow['access_token'] ?? '');
    assert.deepEqual(
      [claims['email'], claims['email_verified'], claims['2fa']],
      ['ada@shop.example', true, false],
    );
    assert.equal('groups' in claims || 'name' in claims, false);
    const wide = await answered(signIn(ada, { scope: 'openid profile' }));
    const id = decodeJwt(wide['id_token'] ?? '');
    assert.deepEqual(
      [id['typ'], id['name'], id['entityId'], id['um_scope'], id.aud],
      [
        'ID',
        'Ada Byron',
        realm.organizationId,
        { entityId: realm.organizationId, entityType: 'tenant' },
        clientId,
      ],
    );
  });

  test('a confidential application sends its secret, in the form or by Basic', async () => {
    const { clientId: id, clientSecret } = await realm.createApplication({
      securityFlows: ['Password'],
    });
    const form = { ...passwordForm(ada, id) };
    await answered(requestToken({ ...form, client_secret: clientSecret }));
    const basic = `Basic ${Buffer.from(`${id}:${clientSecret}`).toString('base64')}`;
    const { client_id: _, ...withoutClient } = form;
    await answered(requestToken(withoutClient, { authorization: basic }));
    for (const wrong of [form, { ...form, client_secret: 'x'.repeat(43) }]) {
      const { status, body } = await requestToken(wrong);
      assert.deepEqual([status, body['error']], [401, 'invalid_client']);
    }
  });

  // Spec: IDENT-30
  test('is refused unless the application has this flow', async () => {
    for (const securityFlows of [['ClientCredentials'], ['AuthorizationCode']] as const) {
      const { clientId: id, clientSecret } = await realm.createApplication({ securityFlows });
      const { status, body } = await requestToken({
        ...passwordForm(ada, id),
        client_secret: clientSecret,
      });
      assert.deepEqual([status, body['error']], [400, 'unauthorized_client'], securityFlows[0]);
    }
  });

  test('a user with one-time passwords sends one, and each is good once', async () => {
    const otto = await createTestUser(realm, { hasOneTimePassword: true });
    const body = await answered(signIn(otto, { totp: code(otto), scope: 'openid auth' }));
    assert.equal(decodeJwt(body['access_token'] ?? '')['2fa'], true);
    assert.equal((await signIn(otto, { totp: code(otto) })).status, 400, 'a second time');
    clock.advance(stepMs);
    await answered(signIn(otto, { totp: code(otto) }));
  });

  describe('refuses alike', () => {
    let reference: RealmResponse;
    const comparableParts = ({ status, headers, body }: RealmResponse) => {
      const { date: _, 'x-request-id': __, ...same } = headers;
      return { status, headers: same, body };
    };

    before(async () => {
      reference = await signIn({ user: { ...ada.user, username: 'unknown' }, password: 'x' });
    });

    test('with the shape of RFC 6749', () => {
      assert.equal(reference.status, 400);
      assert.equal(reference.headers['cache-control'], 'no-store');
      assert.deepEqual(Object.keys(reference.body).sort(), ['error', 'error_description']);
      assert.equal(reference.body['error'], 'invalid_grant');
    });

    const cases: Record<string, () => Promise<RealmResponse>> = {
      'a wrong password': () => signIn({ ...ada, password: `${ada.password}x` }),
      'a password that is far too long': () => signIn({ ...ada, password: 'x'.repeat(20_000) }),
      'an impossible user name': () =>
        signIn({ ...ada, user: { ...ada.user, username: 'no one\u0000' } }),
      'a missing code': async () =>
        signIn(await createTestUser(realm, { hasOneTimePassword: true })),
      'a wrong code': async () => {
        const otto = await createTestUser(realm, { hasOneTimePassword: true });
        const late = otpCodeAt(otto.otpSecret ?? '', clock.now() - 10 * stepMs);
        return signIn(otto, { totp: late });
      },
      'a code of something else': async () =>
        signIn(await createTestUser(realm, { hasOneTimePassword: true }), {
          totp: 'x'.repeat(500),
        }),
      'a second factor that is required and not set up': async () =>
        signIn(await createTestUser(realm, { secondFactor: 'Required' })),
      'a disabled user': async () => {
        const eva = await createTestUser(realm);
        const { organizationId, userId } = eva.user;
        await realm.identity.accounts.setStatus(organizationId, userId, 'Disabled');
        return signIn(eva);
      },
      'an address that is not verified': async () =>
        signIn(await createTestUser(realm, { emailVerified: false })),
      'a user without a password': async () =>
        signIn({ ...(await createTestUser(realm, { password: undefined })), password: 'x' }),
      'a user of another realm': async () => {
        const other = await openTestRealm({ database: await testDatabase(), clock });
        const otherUser = await createTestUser(other, { group: 'org_dev' });
        await other.close();
        return signIn(otherUser);
      },
      'a locked user': async () => {
        const eva = await createTestUser(realm);
        for (let attempt = 0; attempt < 10; attempt += 1) await signIn({ ...eva, password: 'x' });
        return signIn(eva);
      },
    };
    for (const [name, attempt] of Object.entries(cases)) {
      test(name, async () => {
        assert.deepEqual(comparableParts(await attempt()), comparableParts(reference));
      });
    }
  });

  test('missing, empty or repeated fields and unknown scopes are named', async () => {
    const form = passwordForm(ada, clientId);
    for (const name of ['username', 'password'] as const) {
      const { [name]: _, ...lacking } = form;
      for (const wrong of [lacking, { ...form, [name]: '' }]) {
        const { status, body } = await requestToken(wrong as Record<string, string>);
        assert.deepEqual([status, body['error']], [400, 'invalid_request'], name);
        assert.match(String(body['error_description']), new RegExp(name));
      }
      const doubled = `${new URLSearchParams(form)}&${name}=again`;
      const answer = await realm.app.inject({
        method: 'POST',
        url: realm.tokenPath,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: doubled,
      });
      assert.deepEqual([answer.statusCode, answer.json().error], [400, 'invalid_request']);
    }
    const { status, body } = await signIn(ada, { scope: 'openid admin' });
    assert.deepEqual([status, body['error']], [400, 'invalid_scope']);
    const inQuery = await realm.post(`${realm.tokenPath}?username=${ada.user.username}`, {
      grant_type: 'password',
      client_id: clientId,
      password: ada.password,
    });
    assert.deepEqual([inQuery.status, inQuery.body['error']], [400, 'invalid_request']);
  });

  describe('with its refresh token', () => {
    const refresh = (refreshToken: string, more: Record<string, string> = {}) =>
      requestToken({
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: refreshToken,
        ...more,
      });

    // Spec: FLOW-3 TOK-2 TOK-3 TOK-7 LIM-5
    test('new tokens are issued, with a narrower scope on request, never a wider one', async () => {
      const first = await answered(signIn(ada));
      const second = await answered(refresh(first['refresh_token'] ?? '', { scope: 'openid' }));
      assert.equal(second['scope'], 'openid');
      assert.equal(second['session_state'], first['session_state']);
      const caller = await realm.identity.verifyToken(second['access_token'] ?? '');
      assert.ok(caller.permissions.has('um.write'), 'a narrow token keeps the rights');
      const third = await answered(refresh(second['refresh_token'] ?? ''));
      assert.equal(third['scope'], 'openid profile email', 'the scope is that of the sign-in');
      const wider = await refresh(third['refresh_token'] ?? '', { scope: 'openid phone' });
      assert.deepEqual([wider.status, wider.body['error']], [400, 'invalid_scope']);
    });

    // Spec: IDENT-16
    test('a second use ends the whole sign-in, its access tokens too', async () => {
      const first = await answered(signIn(ada));
      const second = await answered(refresh(first['refresh_token'] ?? ''));
      assert.equal((await refresh(first['refresh_token'] ?? '')).body['error'], 'invalid_grant');
      assert.equal((await refresh(second['refresh_token'] ?? '')).body['error'], 'invalid_grant');
      for (const { access_token } of [first, second]) {
        await assert.rejects(realm.identity.verifyToken(access_token ?? ''), {
          code: 'token_invalid',
        });
      }
    });

    test('a disabled user gets no tokens', async () => {
      const eva = await createTestUser(realm);
      const { refresh_token: token = '' } = await answered(signIn(eva));
      const { organizationId, userId } = eva.user;
      await realm.identity.accounts.setStatus(organizationId, userId, 'Disabled');
      assert.equal((await refresh(token)).body['error'], 'invalid_grant');
      await realm.identity.accounts.setStatus(organizationId, userId, 'Enabled');
      assert.equal((await refresh(token)).body['error'], 'invalid_grant', 'it stays dead');
    });

    test('another application gets nothing with it', async () => {
      const { refresh_token: token = '' } = await answered(signIn(ada));
      const other = await realm.createPasswordClient();
      const stolen = await refresh(token, { client_id: other });
      assert.equal(stolen.body['error'], 'invalid_grant');
      await answered(refresh(token));
    });
  });

  test('an address with too many failures gets 429 with Retry-After', async () => {
    const limits = { failures: 2, mails: 1, windowSeconds: 60 };
    const limited = await openTestRealm({
      database: await testDatabase(),
      clock,
      environment: 'test',
      attemptLimits: limits,
    });
    const eva = await createTestUser(limited);
    const client = await limited.createPasswordClient();
    const form = passwordForm(eva, client);
    const attempt = (more: Record<string, string>) =>
      limited.post(limited.tokenPath, { ...form, ...more });
    for (let failure = 0; failure < limits.failures; failure += 1) {
      assert.equal((await attempt({ password: 'x' })).status, 400);
    }
    for (const more of [{}, { password: 'x' }, { username: 'unknown' }] as const) {
      const { status, headers, body } = await attempt(more as Record<string, string>);
      assert.deepEqual([status, body['error']], [429, 'temporarily_unavailable']);
      const wait = Number(headers['retry-after']);
      assert.ok(wait > 0 && wait <= limits.windowSeconds, String(wait));
    }
    await limited.close();
  });

  test('the same name in two realms is two users', async () => {
    const other = await openTestRealm({ database: await testDatabase(), clock });
    const twin = await createTestUser(other, {
      username: ada.user.username,
      group: 'org_dev',
      userId: randomUUID(),
    });
    assert.equal((await signIn(twin)).status, 400);
    await answered(signIn(ada));
    await other.close();
  });
});
