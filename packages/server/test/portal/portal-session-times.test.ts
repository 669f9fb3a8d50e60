// Whole run: much is made, or waited for, before it shows.
// The lifetime of a portal session: with activity, without activity, and over several processes.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readForms } from '../support/browser/test-sign-in-pages.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { createTestUser } from '../support/identity/test-users.ts';
import { openVisitor, sessionCookie, type Visitor } from './portal-client.ts';
import {
  openPortalTestServer,
  type PortalRealm,
  type PortalTestServer,
} from './portal-test-platform.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe('the lifetime of a portal session', () => {
  let portal: PortalTestServer;
  let beside: PortalTestServer;
  let realm: PortalRealm;
  before(async () => {
    portal = await openPortalTestServer();
    beside = await openPortalTestServer({ beside: portal });
    realm = await portal.newRealm();
  });
  after(async () => {
    await beside.close();
    await portal.close();
  });

  const advance = (ms: number) => portal.clock.advance(ms);
  const path = () => `/user-management/v2/user-domains/${realm.userDomainId}/users`;
  const generations = async (userId: string) => {
    const rows = await (await testDatabase()).query<{ generation: number }>(
      'SELECT generation FROM portal_sessions WHERE organization_id = $1 AND user_id = $2',
      [realm.organizationId, userId],
    );
    return rows.map(({ generation }) => generation);
  };
  async function signedIn(): Promise<Visitor & { readonly userId: string }> {
    const person = await createTestUser(realm);
    const visitor = openVisitor(portal, realm.userDomainId);
    await visitor.signIn(person);
    return { ...visitor, userId: person.user.userId };
  }
  /** The same browser, with another process that answers. */
  function atOther({ session }: Visitor): Visitor {
    const other = openVisitor({ ...beside, settings: portal.settings }, realm.userDomainId);
    const cookie = session();
    assert.ok(cookie !== undefined);
    other.browser.setCookie(cookie);
    return other;
  }

  test('an active user stays signed in, with at most one token renewal per minute', async () => {
    const { ask, userId } = await signedIn();
    for (let minutes = 0; minutes < 40; minutes += 10) {
      advance(10 * minuteMs);
      assert.equal((await ask(path())).status, 200, `${minutes}`);
      assert.equal((await ask(path())).status, 200);
    }
    assert.deepEqual(await generations(userId), [5]);
    const sessionFacts = (await ask('/portal/session')).json();
    const remainingMs = Date.parse(String(sessionFacts['expiresAt'])) - portal.clock.now();
    assert.equal(remainingMs, 15 * minuteMs);
    assert.equal(sessionFacts['idleSeconds'], 900);
  });

  // Spec: IDENT-44
  test('15 minutes without activity end the session, also at the realm and despite background requests', async () => {
    const { ask, browser, toSignIn } = await signedIn();
    const byItself = { headers: { 'x-switchyard-portal': 'background' } };
    for (let minutes = 0; minutes < 14; minutes += 2) {
      advance(2 * minuteMs);
      assert.equal((await ask(path(), byItself)).status, 200, `${minutes}`);
    }
    advance(minuteMs);
    const late = await ask(path(), byItself);
    assert.equal(late.status, 401, 'requests of an idle page do not extend the session');
    assert.equal(late.json()['code'], 'token_expired');
    assert.match(String(late.headers['www-authenticate']), /Bearer/);
    assert.equal((await ask('/portal/session')).status, 401);
    assert.ok(browser.cookiesFor('/').some(({ name }) => name === sessionCookie));
    assert.ok(readForms(await toSignIn()).length > 0, 'the realm asks for the password');
  });

  test('activity just before the end extends the session, also with an expired access token', async () => {
    const { ask } = await signedIn();
    advance(15 * minuteMs - 1000);
    assert.equal((await ask(path())).status, 200);
    advance(14 * minuteMs);
    assert.equal((await ask(path())).status, 200);
    advance(15 * minuteMs);
    assert.equal((await ask(path())).status, 401);
  });

  // Spec: IDENT-44
  test('the session ends after eight hours despite activity', async () => {
    const { ask } = await signedIn();
    const began = portal.clock.now();
    while (portal.clock.now() - began < 8 * hourMs - 14 * minuteMs) {
      assert.equal((await ask(path())).status, 200);
      advance(14 * minuteMs);
    }
    const sessionFacts = (await ask('/portal/session')).json();
    assert.equal(
      sessionFacts['expiresAt'],
      sessionFacts['endsAt'],
      'the session announces its end',
    );
    const endsAt = Date.parse(String(sessionFacts['endsAt']));
    assert.ok(Math.abs(endsAt - began - 8 * hourMs) <= 1000, 'in whole seconds');
    advance(endsAt - portal.clock.now() - 1);
    assert.equal((await ask(path())).status, 200);
    advance(1);
    assert.equal((await ask(path())).status, 401);
  });

  test('of twenty parallel requests in two processes, one renews and all succeed', async () => {
    const firstVisitor = await signedIn();
    const secondVisitor = atOther(firstVisitor);
    // Both processes have cached the session, and both find its token expired.
    assert.equal((await secondVisitor.ask(path())).status, 200);
    for (let round = 1; round <= 3; round += 1) {
      advance(6 * minuteMs);
      const requests = Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? firstVisitor : secondVisitor).ask(path()),
      );
      const statuses = (await Promise.all(requests)).map(({ status }) => status);
      assert.deepEqual(new Set(statuses), new Set([200]));
      assert.deepEqual(await generations(firstVisitor.userId), [1 + round]);
    }
  });

  test('a sign-out takes effect in every process within seconds', async () => {
    const firstVisitor = await signedIn();
    const secondVisitor = atOther(firstVisitor);
    assert.equal((await secondVisitor.ask(path())).status, 200);
    assert.equal((await firstVisitor.ask('/portal/sign-out', { method: 'POST' })).status, 200);
    advance(6_000);
    assert.equal((await secondVisitor.ask('/portal/session')).status, 401);
  });

  test('activity in one process extends the session in all processes', async () => {
    const firstVisitor = await signedIn();
    const secondVisitor = atOther(firstVisitor);
    for (let round = 0; round < 4; round += 1) {
      advance(10 * minuteMs);
      assert.equal((await firstVisitor.ask(path())).status, 200);
    }
    assert.equal((await secondVisitor.ask(path())).status, 200);
  });

  test('a permission removed by another process is gone within a minute', async () => {
    const firstVisitor = await signedIn();
    const secondVisitor = atOther(firstVisitor);
    assert.equal((await secondVisitor.ask(path())).status, 200);
    const { accounts } = portal.application.identity;
    const groups = [`${realm.organizationId}_org_dfo`];
    await accounts.updateProfile(realm.organizationId, firstVisitor.userId, (user) => ({
      ...user,
      groups,
    }));
    advance(minuteMs);
    assert.equal((await secondVisitor.ask(path())).status, 403);
    await accounts.setStatus(realm.organizationId, firstVisitor.userId, 'Disabled');
    advance(minuteMs);
    assert.equal((await secondVisitor.ask(path())).status, 401);
  });

  test('a new session above the limit ends the oldest session of the user', async () => {
    const person = await createTestUser(realm);
    const first = openVisitor(portal, realm.userDomainId);
    await first.signIn(person);
    const database = await testDatabase();
    await database.query(
      `INSERT INTO portal_sessions
       SELECT organization_id, sha256(n::text::bytea), gen_random_uuid(), sign_in_id, user_id,
         user_domain_id, origin, tokens_sealed, generation, created_at + n * interval '1 second',
         renewed_at, expires_at, ends_at
       FROM portal_sessions, generate_series(1, 19) AS n
       WHERE organization_id = $1 AND user_id = $2`,
      [realm.organizationId, person.user.userId],
    );
    advance(30_000);
    await openVisitor(portal, realm.userDomainId).signIn(person);
    assert.equal((await generations(person.user.userId)).length, 20);
    assert.equal((await first.ask('/portal/session')).status, 401);
  });
});
