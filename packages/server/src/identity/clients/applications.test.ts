// Tests applications: hashed secrets, rotation of secrets, and refused registrations.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  type MovableClock,
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../test/support/identity/test-realm.ts';
import type { Database } from '../../platform/index.ts';
import { applicationCacheTtlMs, type NewApplication } from './applications.ts';

const masterKey = randomBytes(32);

describe('an application', () => {
  let clock: MovableClock;
  let database: Database;
  let realm: TestRealm;

  before(async () => {
    clock = movableClock();
    database = await testDatabase();
    realm = await openTestRealm({ database, clock, masterKey });
  });
  after(() => realm.close());

  async function statusFor(clientId: string, clientSecret: string, at = realm): Promise<number> {
    const { status } = await at.post(realm.tokenPath, {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
    return status;
  }

  // Spec: APP-3 IDENT-26
  test('has a random secret that the database does not hold', async () => {
    const { clientId, clientSecret } = await realm.createApplication();
    assert.match(clientSecret, /^[\w-]{43}$/);
    const rows = await database.query(
      "SELECT *, encode(secret_hash, 'escape') AS escaped FROM applications WHERE client_id = $1",
      [clientId],
    );
    assert.equal(rows.length, 1);
    assert.equal(JSON.stringify(rows).includes(clientSecret), false);
  });

  test('uses the client id and the secret that the caller gives', async () => {
    const clientSecret = 'a-secret-of-at-least-32-characters';
    const credentials = { clientId: 'till.7_a-b', clientSecret };
    assert.deepEqual(await realm.createApplication(credentials), credentials);
    assert.equal(await statusFor(credentials.clientId, clientSecret), 200);
    await assert.rejects(realm.createApplication(credentials), /already_exists/);
  });

  // Spec: APP-5 TERM-7
  test('after rotation the old secret is refused, in other processes within seconds; tokens stay valid', async () => {
    const other = await openTestRealm({ database, clock, masterKey });
    const { clientId, clientSecret } = await realm.createApplication();
    const token = await realm.getToken({ clientId, clientSecret });
    assert.equal(await statusFor(clientId, clientSecret, other), 200);

    const renewed = await realm.identity.rotateSecret(realm.organizationId, clientId);
    assert.notEqual(renewed.clientSecret, clientSecret);
    assert.equal(await statusFor(clientId, clientSecret), 401);
    assert.equal(await statusFor(clientId, renewed.clientSecret), 200);
    assert.equal(await statusFor(clientId, renewed.clientSecret, other), 200, 'known at once');
    clock.advance(applicationCacheTtlMs + 1);
    assert.equal(await statusFor(clientId, clientSecret, other), 401);
    assert.equal((await realm.identity.verifyToken(token)).clientId, clientId);
    await other.close();
  });

  test('of another organization does not change', async () => {
    const { clientId } = await realm.createApplication();
    const { identity } = realm;
    await assert.rejects(identity.rotateSecret(randomUUID(), clientId), /resource_not_found/);
    await assert.rejects(
      identity.setApplicationStatus(randomUUID(), clientId, 'Disabled'),
      /resource_not_found/,
    );
    await assert.rejects(
      realm.createApplication({ organizationId: randomUUID() }),
      /organization_not_found/,
    );
  });

  test('is refused with invalid values', async () => {
    const wrong: [Partial<NewApplication>, RegExp][] = [
      [{ clientId: 'a b' }, /field_invalid/],
      [{ clientId: '' }, /field_invalid/],
      [{ clientId: 'x'.repeat(129) }, /field_invalid/],
      [{ clientSecret: 'short' }, /field_invalid/],
      [{ roles: ['King'] }, /field_invalid/],
      [{ accessTokenSeconds: 1 }, /field_invalid/],
      [{ accessTokenSeconds: 86_401 }, /field_invalid/],
      [{ entityType: 'merchant', merchantId: randomUUID() }, /entity_mismatch/],
    ];
    for (const [facts, says] of wrong) {
      await assert.rejects(realm.createApplication(facts), says, JSON.stringify(facts));
    }
  });
});

test('token requests during a change of the application succeed or are refused, never fail', async () => {
  const realm = await openTestRealm({ database: await testDatabase(), clock: movableClock() });
  const { clientId, clientSecret } = await realm.createApplication();
  const { identity, organizationId } = realm;
  const requestToken = () =>
    realm.post(realm.tokenPath, {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });
  const statuses = new Set<number>();
  for (let round = 0; round < 10; round += 1) {
    const requests = Array.from({ length: 10 }, requestToken);
    await identity.setApplicationStatus(organizationId, clientId, 'Disabled');
    requests.push(...Array.from({ length: 10 }, requestToken));
    await identity.setApplicationStatus(organizationId, clientId, 'Enabled');
    for (const { status } of await Promise.all(requests)) statuses.add(status);
  }
  statuses.add((await requestToken()).status);
  assert.deepEqual(
    [...statuses].filter((status) => status !== 200 && status !== 401),
    [],
  );
  assert.ok(statuses.has(200));
  await realm.close();
});
