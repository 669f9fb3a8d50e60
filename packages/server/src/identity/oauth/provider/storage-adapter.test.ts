// Tests the storage adapter: single redemption, hashed values, separate realms, deletion after expiry.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { errors } from 'oidc-provider';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import { movableClock } from '../../../../test/support/identity/test-realm.ts';
import type { Database } from '../../../platform/index.ts';
import { createOidcEntityStore } from '../../infrastructure/oidc-entity-sql.ts';
import { createStorageAdapter } from './storage-adapter.ts';

describe('the adapter', () => {
  const clock = movableClock();
  let database: Database;

  before(async () => {
    database = await testDatabase();
  });

  async function deleteExpired(): Promise<number> {
    const entities = createOidcEntityStore(database);
    const limit = 500;
    let total = 0;
    for (let deleted = limit; deleted === limit; total += deleted)
      deleted = await entities.deleteExpired(clock.now(), limit);
    return total;
  }

  function adapterOf(model: string, organizationId = randomUUID()) {
    const entities = createOidcEntityStore(database);
    return createStorageAdapter({ entities, clock, organizationId })(model);
  }

  test('of 20 parallel redemptions exactly one succeeds, 20 times', async () => {
    for (let round = 0; round < 20; round += 1) {
      const adapter = adapterOf(round % 2 === 0 ? 'AuthorizationCode' : 'RefreshToken');
      await adapter.upsert('code', { grantId: 'g', clientId: 'c' }, 60);
      const results = await Promise.allSettled(
        Array.from({ length: 20 }, () => adapter.consume('code')),
      );
      const lost = results.filter((result) => result.status === 'rejected');
      assert.equal(lost.length, 19);
      for (const { reason } of lost) assert.ok(reason instanceof errors.InvalidGrant);
      assert.equal((await adapter.find('code'))?.consumed, clock.now() / 1000);
    }
  });

  test('a second save does not make a redeemed code valid again', async () => {
    const adapter = adapterOf('RefreshToken');
    await adapter.upsert('token', { grantId: 'g' }, 60);
    await adapter.consume('token');
    await adapter.upsert('token', { grantId: 'g', scope: 'email' }, 60);
    const entity = await adapter.find('token');
    assert.equal(entity?.scope, 'email');
    assert.equal(typeof entity?.consumed, 'number');
    await assert.rejects(adapter.consume('token'));
  });

  test('bearer values are not in the database and are returned complete', async () => {
    const organizationId = randomUUID();
    const secret = randomUUID();
    const adapter = adapterOf('RefreshToken', organizationId);
    await adapter.upsert(secret, { jti: secret, kind: 'RefreshToken', accountId: 'a' }, 60);
    const rows = await database.query(
      'SELECT entity_id, payload, account_id FROM oidc_entities WHERE organization_id = $1',
      [organizationId],
    );
    assert.equal(rows.length, 1);
    assert.equal(JSON.stringify(rows).includes(secret), false);
    const { exp, ...entity } = (await adapter.find(secret)) ?? {};
    assert.deepEqual(entity, { jti: secret, kind: 'RefreshToken', accountId: 'a' });
    assert.equal(typeof exp, 'number');
  });

  test('a login request does not store the session at its start', async () => {
    const organizationId = randomUUID();
    const adapter = adapterOf('Interaction', organizationId);
    const session = { uid: 'u', cookie: 'the cookie', accountId: 'a' };
    await adapter.upsert('i', { jti: 'i', session, params: { scope: 'openid' } }, 60);
    const entity = await adapter.find('i');
    assert.deepEqual([entity?.jti, entity?.['session']], ['i', undefined]);
    assert.deepEqual(entity?.['params'], { scope: 'openid' });
  });

  test('a session is found by its uid, a device code by the user code', async () => {
    const sessions = adapterOf('Session');
    await sessions.upsert('s', { jti: 's', uid: 'u' }, 60);
    const session = await sessions.findByUid('u');
    assert.deepEqual([session?.uid, session?.jti], ['u', undefined], 'its cookie is not known');
    const codes = adapterOf('DeviceCode');
    await codes.upsert('d', { jti: 'd', userCode: 'ABC' }, 60);
    assert.equal((await codes.findByUserCode('ABC'))?.jti, 'd');
    assert.equal(await codes.findByUserCode('ABD'), undefined);
  });

  test('realms and models are separate', async () => {
    const userId = randomUUID();
    await adapterOf('AuthorizationCode', userId).upsert('x', { grantId: 'g' }, 60);
    assert.equal(await adapterOf('AuthorizationCode').find('x'), undefined);
    assert.equal(await adapterOf('RefreshToken', userId).find('x'), undefined);
    await adapterOf('AuthorizationCode').revokeByGrantId('g');
    assert.ok(await adapterOf('AuthorizationCode', userId).find('x'));
    await adapterOf('RefreshToken', userId).revokeByGrantId('g');
    assert.equal(await adapterOf('AuthorizationCode', userId).find('x'), undefined, 'whole family');
  });

  test('expired entities are not found, and only they are deleted', async () => {
    const organizationId = randomUUID();
    const adapter = adapterOf('DeviceCode', organizationId);
    const many = Array.from({ length: 700 }, (_, count) => adapter.upsert(`i${count}`, {}, 60));
    await Promise.all(many);
    await adapter.upsert('long', {}, 600);
    await adapter.upsert('for ever', {}, undefined as unknown as number);
    clock.advance(60_001);
    assert.equal(await adapter.find('i1'), undefined);
    assert.ok((await deleteExpired()) >= 700);
    const rows = await database.query<{ entity_id: string }>(
      'SELECT entity_id FROM oidc_entities WHERE organization_id = $1 ORDER BY 1',
      [organizationId],
    );
    assert.deepEqual(
      rows.map((row) => row.entity_id),
      ['for ever', 'long'],
    );
    assert.ok(await adapter.find('for ever'));
  });

  test('one run deletes all expired rows, however many there are', async () => {
    const organizationId = randomUUID();
    await database.query(
      `INSERT INTO oidc_entities (organization_id, model, entity_id, payload, created_at, expires_at)
       SELECT $1, 'Interaction', number::text, '{}', $2, $2
       FROM generate_series(1, 25000) AS number`,
      [organizationId, new Date(clock.now() - 60_000).toISOString()],
    );
    assert.ok((await deleteExpired()) >= 25_000);
    const remainingText = 'SELECT entity_id FROM oidc_entities WHERE organization_id = $1 LIMIT 1';
    assert.deepEqual(await database.query(remainingText, [organizationId]), []);
  });
});
