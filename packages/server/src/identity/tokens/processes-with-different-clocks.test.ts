// Tests two processes whose clocks differ by half a minute: each accepts the tokens of the other.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createBrowser, injectionTransport } from '../../../test/support/browser/cookie-browser.ts';
import { redirectUri, type TokenResponse } from '../../../test/support/browser/oauth-test-realm.ts';
import { authorizationUrl, signIn } from '../../../test/support/browser/sign-in-without-pages.ts';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  authUrl,
  type MovableClock,
  movableClock,
  openTestRealm,
  type RealmResponse,
  type TestRealm,
} from '../../../test/support/identity/test-realm.ts';
import {
  createTestUser,
  passwordForm,
  type TestUser,
} from '../../../test/support/identity/test-users.ts';
import {
  createInterruptibleDatabase,
  type InterruptibleDatabase,
} from '../../../test/support/interrupt-before-statement.ts';
import { createMailRecorder } from '../../../test/support/mail/mail-recorder.ts';
import { createDatabaseClock } from '../../platform/index.ts';

const skewMs = 30_000;

describe('two processes, one with its clock ahead and one behind', () => {
  let ahead: TestRealm;
  let behind: TestRealm;
  let clocks: MovableClock[];
  let userId: string;
  let client: { clientId: string; clientSecret: string };

  before(async () => {
    const [early, late] = [movableClock(), movableClock()];
    late.advance(skewMs);
    clocks = [early, late];
    const database = await testDatabase();
    const masterKey = randomBytes(32);
    behind = await openTestRealm({ database, clock: early, masterKey });
    ahead = await openTestRealm({ database, clock: late, masterKey });
    const { organizationId, userDomainId, identity } = behind;
    client = await behind.createApplication({
      securityFlows: ['AuthorizationCode'],
      redirectUris: [redirectUri],
    });
    const user = await identity.accounts.create({
      organizationId,
      userDomainId,
      username: 'ada',
      entityType: 'tenant',
      entityId: organizationId,
      email: 'ada@shop.example',
      emailVerified: true,
      groups: [`${organizationId}_org_admin`],
      secondFactor: 'Off',
    });
    userId = user.userId;
  });
  after(async () => {
    await ahead.close();
    await behind.close();
  });

  /** Both processes serve the realm of the first. */
  const post = (realm: TestRealm, form: Record<string, string>): Promise<RealmResponse> =>
    realm.post(behind.tokenPath, {
      client_id: client.clientId,
      client_secret: client.clientSecret,
      ...form,
    });

  test('a sign-in at one process continues at the other', async () => {
    for (const [first, second] of [
      [ahead, behind],
      [behind, ahead],
    ] as const) {
      const browser = createBrowser(authUrl, injectionTransport(first.app));
      const link = authorizationUrl(`/oauth2/v1/${behind.userDomainId}/auth`, {
        client_id: client.clientId,
        redirect_uri: redirectUri,
      });
      const callback = await signIn(first.identity, browser, link, { userId });
      const redeemed = await post(second, {
        grant_type: 'authorization_code',
        redirect_uri: redirectUri,
        code: String(callback.searchParams.get('code')),
      });
      assert.equal(redeemed.status, 200, JSON.stringify(redeemed.body));
      let tokens = redeemed.body as TokenResponse;
      for (const realm of [first, second, first]) {
        await ahead.identity.verifyToken(tokens.access_token);
        await behind.identity.verifyToken(tokens.access_token);
        const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
        const refreshed = await post(realm, form);
        assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
        tokens = refreshed.body as TokenResponse;
      }
      for (const clock of clocks) clock.advance(1000);
    }
  });

  test('a session that one process ends has ended at the other', async () => {
    const browser = createBrowser(authUrl, injectionTransport(ahead.app));
    const link = authorizationUrl(`/oauth2/v1/${behind.userDomainId}/auth`, {
      client_id: client.clientId,
      redirect_uri: redirectUri,
    });
    const callback = await signIn(ahead.identity, browser, link, { userId });
    const form = {
      grant_type: 'authorization_code',
      redirect_uri: redirectUri,
      code: String(callback.searchParams.get('code')),
    };
    const { body } = await post(ahead, form);
    const tokens = body as TokenResponse;
    await behind.identity.verifyToken(tokens.access_token);
    assert.equal((await post(behind, form)).body['error'], 'invalid_grant', 'a code comes twice');
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    assert.equal((await post(ahead, refresh)).body['error'], 'invalid_grant');
    await assert.rejects(behind.identity.verifyToken(tokens.access_token), /token_invalid/);
    for (const clock of clocks) clock.advance(60_000);
    await assert.rejects(ahead.identity.verifyToken(tokens.access_token), /token_invalid/);
  });
});

describe('processes with clocks that differ by seconds, which use the clock of the database', () => {
  const apartMs = 10_000;
  /** The clock has a resolution of one millisecond. */
  const leftOpenMs = 2;
  let ahead: TestRealm;
  let behind: TestRealm;
  let clocks: ReturnType<typeof createDatabaseClock>[];
  let hook: InterruptibleDatabase;
  let clientId: string;
  const databases = movableClock();

  function followed(ms: number) {
    const machine = { now: () => databases.now() + ms };
    const database = {
      query: async () => [{ at: databases.now() }] as never,
      shards: async () => undefined,
    };
    const log = { warn: () => {}, error: () => {} };
    return createDatabaseClock({ database, clock: machine, log });
  }

  before(async () => {
    const database = await testDatabase();
    hook = createInterruptibleDatabase(database);
    const masterKey = randomBytes(32);
    const [late, early] = [followed(apartMs), followed(-apartMs)];
    clocks = [late, early];
    for (const clock of clocks) await clock.start();
    const { jobs, mail } = createMailRecorder();
    const made = { masterKey, environment: 'test', jobs, mail } as const;
    ahead = await openTestRealm({ ...made, database: hook.database, clock: late });
    behind = await openTestRealm({ ...made, database, clock: early });
    clientId = await ahead.createPasswordClient();
  });
  after(async () => {
    for (const clock of clocks) await clock.stop();
    await ahead.close();
    await behind.close();
  });

  const signInAt = (realm: TestRealm, person: TestUser) =>
    realm.post(ahead.tokenPath, passwordForm(person, clientId));

  // Spec: ONB-9
  test('a sign-in after all sessions ended succeeds, in every process', async () => {
    for (const [ending, next] of [
      [ahead, behind],
      [behind, ahead],
    ] as const) {
      const person = await createTestUser(ahead);
      const { organizationId, userId } = person.user;
      const password = `correct ${randomUUID()} staple`;
      await ending.identity.accounts.setPassword(organizationId, userId, password);
      await ending.identity.sessions.endAll(organizationId, userId);
      databases.advance(leftOpenMs);
      const { status, body } = await signInAt(next, { ...person, password });
      assert.equal(status, 200, JSON.stringify(body));
      for (const realm of [ahead, behind])
        await realm.identity.verifyToken(String(body['access_token']));
      const refreshed = await next.post(ahead.tokenPath, {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: String(body['refresh_token']),
      });
      assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
    }
  });

  // Spec: ONB-9
  test('an authentication before the sessions ended in another process is not used', async () => {
    const person = await createTestUser(ahead);
    const { organizationId, userId } = person.user;
    hook.before(
      ({ text }) => text.includes('INSERT INTO token_families'),
      async () => {
        databases.advance(leftOpenMs);
        await behind.identity.sessions.endAll(organizationId, userId);
      },
    );
    const { status, body } = await signInAt(ahead, person);
    assert.deepEqual([status, body['error']], [400, 'invalid_grant']);
    assert.ok(hook.isDone());
    assert.deepEqual(await behind.identity.sessions.list(organizationId, userId), []);
  });
});
