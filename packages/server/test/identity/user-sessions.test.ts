// The sessions of users, which administrators list and end, and the health of the platform.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { openVisitor, type Visitor } from '../portal/portal-client.ts';
import {
  openPortalTestServer,
  type PortalRealm,
  type PortalTestServer,
} from '../portal/portal-test-platform.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { createTestUser } from '../support/identity/test-users.ts';

type Item = Readonly<Record<string, unknown>>;

describe('sessions and status for administrators', () => {
  let portal: PortalTestServer;
  let realm: PortalRealm;
  let admin: Visitor;
  before(async () => {
    portal = await openPortalTestServer();
    realm = await portal.newRealm();
    admin = openVisitor(portal, realm.userDomainId);
    await admin.signIn(await createTestUser(realm));
  });
  after(() => portal.close());

  const pathOf = (userId: string, more = '') =>
    `/user-management/v2/user-domains/${realm.userDomainId}/users/${userId}/sessions${more}`;
  async function listOf(userId: string, query = ''): Promise<Item[]> {
    const sessions = await admin.ask(pathOf(userId) + query);
    assert.equal(sessions.status, 200, sessions.text);
    return sessions.json()['items'] as Item[];
  }
  const remove = (path: string, client = admin) => client.ask(path, { method: 'DELETE' });

  test('the sessions of a user are listed, and each can be ended', async () => {
    const person = await createTestUser(realm);
    const { userId } = person.user;
    const browsers = [1, 2, 3].map(() => openVisitor(portal, realm.userDomainId));
    for (const browser of browsers) {
      await browser.signIn(person);
      portal.clock.advance(1_000);
    }
    const items = await listOf(userId);
    assert.equal(items.length, 3);
    const [newest] = items;
    assert.equal(newest?.['kind'], 'Browser');
    assert.deepEqual(newest?.['methods'], ['pwd']);
    assert.deepEqual(newest?.['clientIds'], ['switchyard-portal']);
    const times = items.map((item) => String(item['signedInAt']));
    assert.deepEqual(times, times.toSorted().toReversed());
    const first = await admin.ask(`${pathOf(userId)}?limit=2`);
    const { nextCursor } = first.json();
    assert.equal((first.json()['items'] as Item[]).length, 2);
    const rest = await listOf(userId, `?limit=2&cursor=${nextCursor}`);
    assert.deepEqual(rest, items.slice(2));
    const removed = await remove(pathOf(userId, `?sessionId=${newest?.['sessionId']}`));
    assert.deepEqual([removed.status, removed.text], [204, '']);
    const remainingSessions = await Promise.all(
      browsers.map(({ ask: sendRequest }) => sendRequest('/portal/session')),
    );
    assert.deepEqual(
      remainingSessions.map(({ status }) => status),
      [200, 200, 401],
    );
    const again = await remove(pathOf(userId, `?sessionId=${newest?.['sessionId']}`));
    assert.equal(again.status, 404);
    assert.equal((await remove(pathOf(userId))).status, 204);
    assert.deepEqual(await listOf(userId), []);
    assert.equal((await browsers[0]?.ask('/portal/session'))?.status, 401);
    const auditRecords = await admin.ask(
      `/audit/v1/records?action=user.sessionsEnded&entityId=${userId}`,
    );
    const records = auditRecords.json()['items'] as Item[];
    assert.deepEqual(
      records.map((record) => record['after']),
      [{ all: true }, { sessionId: newest?.['sessionId'] }],
    );
  });

  test('sessions of users out of reach and of unknown users are not found', async () => {
    const other = await portal.newRealm();
    const foreignUser = await createTestUser(other);
    for (const userId of [foreignUser.user.userId, randomUUID()]) {
      assert.equal((await admin.ask(pathOf(userId))).status, 404);
      assert.equal((await remove(pathOf(userId))).status, 404);
      assert.equal((await remove(pathOf(userId, '?sessionId=x'))).status, 404);
    }
    const boss = await createTestUser(realm);
    const { merchantId } = (
      await portal.application.provisioning.merchants.create(
        { organizationId: realm.organizationId },
        { name: 'Shop', country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' },
      )
    ).view;
    const manager = openVisitor(portal, realm.userDomainId);
    await manager.signIn(await createTestUser(realm, { merchantId }));
    assert.equal((await manager.ask(pathOf(boss.user.userId))).status, 404);
    assert.equal((await remove(pathOf(boss.user.userId), manager)).status, 404);
    const clerk = openVisitor(portal, realm.userDomainId);
    await clerk.signIn(await createTestUser(realm, { merchantId, group: 'org_operator' }));
    assert.equal((await clerk.ask(pathOf(boss.user.userId))).status, 403);
  });

  test('the status lists the components of the platform and only the organisation’s own queues', async () => {
    const database = await testDatabase();
    const stale = async (organizationId: string) =>
      database.query(
        `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, created_at)
         VALUES (0, $1, gen_random_uuid(), 'nobody.does', '{}', $2, $2)`,
        [organizationId, new Date(portal.clock.now() - 90_000).toISOString()],
      );
    await stale((await portal.newRealm()).organizationId);
    const health = async () => (await admin.ask('/health/v1/components')).json();
    const good = await health();
    assert.equal(good['status'], 'Up', JSON.stringify(good));
    assert.deepEqual(good['components'], [{ name: 'database', status: 'Up' }]);
    const queues = Object(good['queues']);
    assert.ok(queues.outbox.oldestSeconds < 60);
    assert.deepEqual(queues.webhooks, { waiting: 0, oldestSeconds: 0 });
    await stale(realm.organizationId);
    const late = await health();
    assert.equal(late['status'], 'Degraded');
    assert.ok(Object(late['queues']).jobs.oldestSeconds >= 90);
    await database.query("DELETE FROM jobs WHERE kind = 'nobody.does'");
    const care = openVisitor(portal, realm.userDomainId);
    await care.signIn(await createTestUser(realm, { group: 'org_custcare' }));
    assert.equal((await care.ask('/health/v1/components')).status, 403);
  });
});
