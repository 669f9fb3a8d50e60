// Tests signing keys: encrypted in the database, bound to their realm, rotated without breaking old tokens.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../test/support/identity/test-realm.ts';
import { publishedBeforeUseMs } from './key-rotation.ts';
import { createRealmStore } from './realm-sql.ts';
import { realmCacheTtlMs } from './realms.ts';
import { createKeyRing } from './signing-keys.ts';

async function publishedIds(realm: TestRealm): Promise<string[]> {
  const response = await realm.app.inject({
    url: `/auth/realms/${realm.userDomainId}/protocol/openid-connect/certs`,
  });
  assert.match(String(response.headers['cache-control']), /^public, max-age=/);
  const keys: Record<string, unknown>[] = response.json().keys;
  for (const key of keys) {
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi']) assert.equal(key[secret], undefined);
  }
  assert.ok(
    keys.some((key) => key['alg'] === 'RS256') && keys.some((key) => key['alg'] === 'ES256'),
  );
  return keys.map((key) => String(key['kid']));
}

describe('signing keys', () => {
  test('are encrypted in the database and decrypt only with their master key and realm', async () => {
    const masterKey = randomBytes(32);
    const database = await testDatabase();
    const realm = await openTestRealm({ database, clock: movableClock(), masterKey });
    const store = createRealmStore(database);
    const keys = await store.listKeys(realm.organizationId, 0);
    assert.equal(keys.length, 2);
    for (const key of keys) {
      const ring = createKeyRing(masterKey);
      const { d = '' } = ring.openKey(realm.organizationId, key).privateJwk;
      assert.ok(d.length > 40);
      assert.equal(key.privateSealed.includes(d.slice(0, 10)), false);
      assert.equal(key.privateSealed.includes('"d":"'), false);
      assert.throws(() => ring.openKey(randomUUID(), key));
      assert.throws(() => createKeyRing(randomBytes(32)).openKey(realm.organizationId, key));
    }
    await realm.close();
  });

  // Spec: IDENT-19
  test('rotate: published first, signing later; old keys verify until their tokens expire', async () => {
    const clock = movableClock();
    const realm = await openTestRealm({ database: await testDatabase(), clock });
    const client = await realm.createApplication({ accessTokenSeconds: 86_400 });
    const kidOf = (token: string) => decodeProtectedHeader(token).kid;
    const before = await publishedIds(realm);
    const oldToken = await realm.getToken(client);

    await realm.identity.signingKeys.rotate(realm.userDomainId);
    assert.equal((await publishedIds(realm)).length, 4, 'the new ones are published at once');
    assert.equal(kidOf(await realm.getToken(client)), kidOf(oldToken), 'and do not sign yet');

    clock.advance(publishedBeforeUseMs + realmCacheTtlMs);
    const lastOfOld = oldToken;
    const newToken = await realm.getToken(client);
    assert.equal(before.includes(String(kidOf(newToken))), false);
    await realm.identity.verifyToken(lastOfOld);
    await realm.identity.verifyToken(newToken);

    clock.advance(86_400_000 + 1);
    assert.equal((await publishedIds(realm)).length, 2, 'the old ones have gone');
    await realm.getToken(client);
    await realm.close();
  });
});

describe('a realm', () => {
  // Spec: ID-5
  test('is created once; repeating the call changes nothing', async () => {
    const realm = await openTestRealm({ database: await testDatabase(), clock: movableClock() });
    const { identity, organizationId, userDomainId } = realm;
    const ids = await publishedIds(realm);
    await identity.createUserDomain({ userDomainId, organizationId });
    assert.deepEqual(await publishedIds(realm), ids);
    await assert.rejects(
      identity.createUserDomain({ userDomainId, organizationId: randomUUID() }),
      /already_exists/,
    );
    await assert.rejects(
      identity.createUserDomain({ userDomainId: `realm-${randomUUID()}`, organizationId }),
      /already_exists/,
    );
    for (const name of ['', 'A', 'a/b', '-a', 'a b', 'x'.repeat(64)]) {
      await assert.rejects(
        identity.createUserDomain({ userDomainId: name, organizationId: randomUUID() }),
        /field_invalid/,
      );
    }
    await realm.close();
  });
});
