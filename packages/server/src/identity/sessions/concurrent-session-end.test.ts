// Whole run: many requests at the same time, so that a race shows.
// Tests requests that run while the sessions of the user end: their logins and codes end too.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
  type TokenResponse,
} from '../../../test/support/browser/oauth-test-realm.ts';
import {
  completeSignIn,
  createNodeRequestAndReply,
} from '../../../test/support/browser/sign-in-without-pages.ts';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { movableClock, openTestRealm } from '../../../test/support/identity/test-realm.ts';
import { createTestUser, passwordForm } from '../../../test/support/identity/test-users.ts';
import {
  createInterruptibleDatabase,
  type InterruptibleDatabase,
  matchOidcEntityInsert,
  type StatementFilter,
} from '../../../test/support/interrupt-before-statement.ts';
import { createMailRecorder } from '../../../test/support/mail/mail-recorder.ts';
import { hashBearerValue } from '../oauth/provider/storage-adapter.ts';

const newPassword = () => `correct ${randomUUID()} staple`;

describe('while sessions end', () => {
  let flow: OAuthTestRealm;
  let hook: InterruptibleDatabase;

  before(async () => {
    hook = createInterruptibleDatabase(await testDatabase());
    flow = await openOAuthTestRealm({}, { database: hook.database, ...createMailRecorder() });
  });
  after(() => flow.close());

  /** Up to the correct password; the browser does not follow the redirect yet. */
  async function answeredBy(userId: string) {
    const browser = flow.openBrowser();
    const page = (await browser.visit(flow.authorizationUrl())).location as URL;
    const response = await completeSignIn(flow.realm.identity, browser, page, { userId });
    const takeUp = async () => {
      const { location } = await browser.visit(String(response));
      return location?.searchParams.has('code') === true;
    };
    return { back: response, takeUp };
  }

  /** A signed-in browser, and the id of its session. */
  async function signedIn() {
    const { identity, organizationId } = flow.realm;
    await identity.sessions.endAll(organizationId, flow.user.userId);
    flow.clock.advance(1);
    const browser = flow.openBrowser();
    await flow.requestCode({}, browser);
    flow.clock.advance(1);
    const [session] = await identity.sessions.list(organizationId, flow.user.userId);
    assert.ok(session !== undefined);
    return { browser, sessionId: session.sessionId };
  }

  const endAll = (userId = flow.user.userId) =>
    flow.realm.identity.sessions.endAll(flow.realm.organizationId, userId);
  const sessions = () =>
    flow.realm.identity.sessions.list(flow.realm.organizationId, flow.user.userId);

  test('a finished login step ends with all sessions', async () => {
    const { userId } = await flow.createUser();
    const { takeUp } = await answeredBy(userId);
    await endAll(userId);
    flow.clock.advance(600_000);
    assert.equal(await takeUp(), false);
  });

  test('a finished login step ends with a change of the password', async () => {
    const { identity, organizationId } = flow.realm;
    const { userId } = await flow.createUser();
    // Once early in a second, and once late in the next.
    flow.clock.advance(1000 - (flow.clock.now() % 1000) + 200);
    const { takeUp } = await answeredBy(userId);
    flow.clock.advance(1500);
    await identity.accounts.setPassword(organizationId, userId, newPassword());
    flow.clock.advance(60_000);
    assert.equal(await takeUp(), false);
  });

  test('a sign-in after that, in the same second, succeeds', async () => {
    const { identity, organizationId } = flow.realm;
    const { userId } = await flow.createUser();
    await identity.accounts.setPassword(organizationId, userId, newPassword());
    await endAll(userId);
    assert.equal(await (await answeredBy(userId)).takeUp(), true);
  });

  test('an authentication that is being stored does not succeed', async () => {
    const { userId } = await flow.createUser();
    const browser = flow.openBrowser();
    const page = (await browser.visit(flow.authorizationUrl())).location as URL;
    hook.before(matchOidcEntityInsert('Interaction'), async () => {
      flow.clock.advance(1);
      await endAll(userId);
    });
    assert.equal(await completeSignIn(flow.realm.identity, browser, page, { userId }), undefined);
    assert.ok(hook.isDone());
  });

  test('a login step that is being used starts no session', async () => {
    const { userId } = await flow.createUser();
    const { takeUp } = await answeredBy(userId);
    hook.before(matchOidcEntityInsert('AuthorizationCode'), async () => {
      flow.clock.advance(1);
      await endAll(userId);
    });
    assert.equal(await takeUp(), false);
    assert.ok(hook.isDone());
    assert.deepEqual(
      await flow.realm.identity.sessions.list(flow.realm.organizationId, userId),
      [],
    );
  });

  test('a request of the browser neither restores its session nor gets a code', async () => {
    for (const model of ['AuthorizationCode', 'Session']) {
      const { browser } = await signedIn();
      hook.before(matchOidcEntityInsert(model), () => endAll());
      const { location } = await browser.visit(flow.authorizationUrl({ prompt: 'none' }));
      assert.ok(hook.isDone());
      assert.deepEqual(await sessions(), [], model);
      const code = location?.searchParams.get('code') ?? 'none';
      assert.equal((await flow.redeemCode(code)).body['error'], 'invalid_grant', model);
      const again = await browser.visit(flow.authorizationUrl({ prompt: 'none' }));
      assert.equal(again.location?.searchParams.get('error'), 'login_required');
    }
  });

  test('the same where this one session ends', async () => {
    for (const model of ['AuthorizationCode', 'Session']) {
      const { browser, sessionId } = await signedIn();
      const { identity, organizationId } = flow.realm;
      hook.before(matchOidcEntityInsert(model), () =>
        identity.sessions.end(organizationId, flow.user.userId, sessionId),
      );
      const { location } = await browser.visit(flow.authorizationUrl({ prompt: 'none' }));
      assert.ok(hook.isDone());
      assert.deepEqual(await sessions(), [], model);
      const code = location?.searchParams.get('code') ?? 'none';
      assert.equal((await flow.redeemCode(code)).body['error'], 'invalid_grant', model);
      // The browser continues without a session, and a new sign-in works.
      await flow.requestCode({}, browser);
      assert.equal((await sessions()).length, 1);
    }
  });

  test('the excepted session continues', async () => {
    const { browser, sessionId } = await signedIn();
    const { identity, organizationId } = flow.realm;
    hook.before(matchOidcEntityInsert('AuthorizationCode'), () =>
      identity.sessions.endOthers(organizationId, flow.user.userId, sessionId),
    );
    const { location } = await browser.visit(flow.authorizationUrl({ prompt: 'none' }));
    assert.equal((await flow.redeemCode(location?.searchParams.get('code') ?? '')).status, 200);
  });

  test('a session that starts too late is not issued', async () => {
    const { identity, userDomainId } = flow.realm;
    const { userId } = await flow.createUser();
    const page = new URL(`/auth/realms/${userDomainId}/account`, 'https://localhost:8443');
    const { raw, rawReply } = createNodeRequestAndReply(flow.openBrowser(), page);
    hook.before(matchOidcEntityInsert('Session'), async () => {
      flow.clock.advance(1);
      await endAll(userId);
    });
    const signedInAs = { userId, methods: ['pwd'] } as const;
    const begun = await identity.sessions.start(userDomainId, raw, rawReply, signedInAs);
    assert.ok(hook.isDone());
    assert.deepEqual([begun, rawReply.getHeader('set-cookie')], [undefined, undefined]);
  });

  test('a code waits for a session whose id is being replaced', async () => {
    const code = await flow.requestCode();
    const name = (from: string, to: string) =>
      hook.database.query(
        `UPDATE oidc_entities SET uid = replace(uid, $2, $3)
         WHERE organization_id = $1 AND model = 'Session' AND uid LIKE $2 || '%'`,
        [flow.realm.organizationId, from, to],
      );
    const begins: StatementFilter = ({ text }) => text.includes('INSERT INTO token_families');
    const [session] = await hook.database.query<{ uid: string }>(
      `SELECT uid FROM oidc_entities WHERE organization_id = $1 AND model = 'Session'
         AND uid = (SELECT uid FROM oidc_entities WHERE organization_id = $1
           AND model = 'AuthorizationCode' AND entity_id = $2)`,
      [flow.realm.organizationId, hashBearerValue(code)],
    );
    assert.ok(session !== undefined);
    const { uid } = session;
    hook.before(begins, async () => {
      await name(uid, `gone ${uid}`);
      hook.before(begins, async () => {
        await name(`gone ${uid}`, uid);
      });
    });
    assert.equal((await flow.redeemCode(code)).status, 200);
    assert.ok(hook.isDone());
  });

  test('a session that could not be ended is revoked by the next attempt', async () => {
    const { identity } = flow.realm;
    const tokens: TokenResponse = await flow.requestTokens();
    const isRevoking: StatementFilter = ({ text, values }) =>
      text.includes('INSERT INTO oidc_entities') &&
      (text.includes('RevokedFamily') || values.includes('RevokedFamily'));
    hook.before(isRevoking, async () => {
      throw new Error('the database is away');
    });
    await assert.rejects(endAll(), /the database is away/);
    await endAll();
    await assert.rejects(identity.verifyToken(tokens.access_token), { code: 'token_invalid' });
  });
});

test('a password that is replaced while it is being used gets no tokens', async () => {
  const clock = movableClock();
  const hook = createInterruptibleDatabase(await testDatabase());
  const { jobs, mail } = createMailRecorder();
  const realm = await openTestRealm({
    database: hook.database,
    clock,
    environment: 'test',
    jobs,
    mail,
  });
  const clientId = await realm.createPasswordClient();
  const person = await createTestUser(realm);
  const { organizationId, userId } = person.user;
  hook.before(
    ({ text }) => text.includes('INSERT INTO token_families'),
    async () => {
      clock.advance(1);
      await realm.identity.accounts.setPassword(organizationId, userId, newPassword());
    },
  );
  const { status, body } = await realm.post(realm.tokenPath, passwordForm(person, clientId));
  assert.deepEqual([status, body['error']], [400, 'invalid_grant']);
  assert.ok(hook.isDone());
  assert.deepEqual(await realm.identity.sessions.list(organizationId, userId), []);
  await realm.close();
});
