// Tests access tokens of users and devices: which are accepted, their permissions, and how fast they end.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { defined, groupPermissions, isErrorCode, ProblemError } from '@switchyard/contract';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../test/support/identity/test-realm.ts';
import {
  createTestUser,
  passwordForm,
  type TestUser,
  type TestUserOptions,
} from '../../../test/support/identity/test-users.ts';
import type { Caller } from '../../http/index.ts';
import type { Database } from '../../platform/index.ts';
import { createRealmStore } from '../realms-and-keys/realm-sql.ts';
import type { RealmKey } from '../realms-and-keys/realm-types.ts';
import { createKeyRing } from '../realms-and-keys/signing-keys.ts';

const minuteMs = 60_000;
const masterKey = randomBytes(32);
const merchantId = randomUUID();

async function codeOf(verification: Promise<unknown>): Promise<string> {
  try {
    await verification;
    return 'believed';
  } catch (error) {
    assert.ok(error instanceof ProblemError && isErrorCode(error.code), String(error));
    return error.code;
  }
}

type Tokens = { readonly access: string; readonly refresh: string; readonly id: string };

async function tokensOf(realm: TestRealm, clientId: string, person: TestUser, scope?: string) {
  const { status, body } = await realm.post(realm.tokenPath, {
    ...passwordForm(person, clientId),
    ...defined({ scope }),
  });
  assert.equal(status, 200, JSON.stringify(body));
  const { access_token, refresh_token, id_token } = body;
  return { access: String(access_token), refresh: String(refresh_token), id: String(id_token) };
}

describe('the token of a person', () => {
  const clock = movableClock();
  let database: Database;
  let realm: TestRealm;
  let clientId: string;
  let manager: TestUser;
  let tokens: Tokens;

  before(async () => {
    database = await testDatabase();
    realm = await openTestRealm({ database, clock, masterKey, environment: 'test' });
    clientId = await realm.createPasswordClient();
    manager = await createTestUser(realm, { merchantId });
    tokens = await tokensOf(realm, clientId, manager);
  });
  after(() => realm.close());

  const verify = (text: string) => realm.identity.verifyToken(text);

  async function keyOf(algorithm: string): Promise<RealmKey> {
    const sealed = await createRealmStore(database).listKeys(realm.organizationId, clock.now());
    const key = sealed.find((sealedKey) => sealedKey.algorithm === algorithm);
    assert.ok(key);
    return createKeyRing(masterKey).openKey(realm.organizationId, key);
  }

  /** Signs a token with the key of the realm, as only the platform can. */
  async function sign(claims: JWTPayload, algorithm = 'RS256'): Promise<string> {
    const { privateJwk, keyId } = await keyOf(algorithm);
    return new SignJWT({ ...decodeJwt(tokens.access), jti: randomUUID(), ...claims })
      .setProtectedHeader({ alg: algorithm, kid: keyId, typ: 'JWT' })
      .sign(privateJwk);
  }

  const factsOf = ({ permissions, ...facts }: Caller) => ({
    ...facts,
    permissions: [...permissions],
  });

  test('gives the caller of the account', async () => {
    const { exp, iat, jti, sid } = decodeJwt(tokens.access);
    const caller = await verify(tokens.access);
    assert.deepEqual(factsOf(caller), {
      subject: manager.user.userId,
      userId: manager.user.userId,
      clientId,
      realm: realm.userDomainId,
      organizationId: realm.organizationId,
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      expiresAt: Number(exp) * 1000,
      tokenId: jti,
      keyId: decodeProtectedHeader(tokens.access).kid,
      issuedAt: Number(iat) * 1000,
      signInId: sid,
      permissions: [...manager.user.permissions],
    });
    assert.equal(await verify(tokens.access), caller, 'again and again the same');
    assert.deepEqual(new Set(manager.user.permissions), new Set(groupPermissions.merchant_manager));
  });

  test('has the same permissions in every scope, and gets no others from a claim', async () => {
    const wide = factsOf(await verify(tokens.access));
    for (const scope of ['openid', 'email', 'auth', 'phone address']) {
      const { access } = await tokensOf(realm, clientId, manager, scope);
      const claims = decodeJwt(access);
      assert.equal('permissions' in claims || 'um_scope' in claims, false, scope);
      const { expiresAt, issuedAt, signInId, tokenId } = wide;
      const tokenFacts = { expiresAt, issuedAt, signInId, tokenId };
      assert.deepEqual({ ...factsOf(await verify(access)), ...tokenFacts }, wide, scope);
    }
    const operator = await createTestUser(realm, { merchantId, group: 'org_operator' });
    const boasting = await sign({
      sub: operator.user.userId,
      permissions: ['um.write', 'pay.sale'],
      um_scope: { entityId: realm.organizationId, entityType: 'tenant' },
    });
    const caller = factsOf(await verify(boasting));
    assert.deepEqual(caller.permissions, ['pay.sale', 'pay.read']);
    assert.equal(caller.entityId, merchantId);
  });

  test('of the organisation may be limited to one merchant', async () => {
    const acting: TestUserOptions = { scopeEntityType: 'merchant', scopeEntityId: merchantId };
    const person = await createTestUser(realm, { group: 'org_custcare', ...acting });
    const caller = await verify((await tokensOf(realm, clientId, person)).access);
    assert.deepEqual([caller.entityType, caller.merchantId], ['merchant', merchantId]);
  });

  test('is no ID token and no refresh token', async () => {
    assert.equal(await codeOf(verify(tokens.id)), 'token_invalid');
    assert.equal(await codeOf(verify(tokens.refresh)), 'token_invalid');
  });

  test('needs an existing user', async () => {
    for (const sub of [randomUUID(), 'x', "' OR 1=1", '../admin', 'é'.repeat(40)]) {
      assert.equal(await codeOf(verify(await sign({ sub }))), 'token_invalid', sub);
    }
    const other = await openTestRealm({ database, clock, masterKey, environment: 'test' });
    const otherUser = await createTestUser(other);
    assert.equal(await codeOf(verify(await sign({ sub: otherUser.user.userId }))), 'token_invalid');
    await other.close();
  });

  test('of a device works for its device and store, with device permissions', async () => {
    const location = { deviceId: randomUUID(), storeId: randomUUID() };
    const caller = factsOf(await verify(await sign(location, 'ES256')));
    assert.deepEqual([caller.deviceId, caller.storeId], [location.deviceId, location.storeId]);
    assert.deepEqual(caller.permissions, [
      'conf.read',
      'pay.sale',
      'pay.capture',
      'pay.refund',
      'pay.cancel',
      'pay.read',
      'dev.read',
    ]);
    for (const wrong of [{ deviceId: 7 }, { deviceId: '' }, { storeId: null }]) {
      assert.equal(await codeOf(verify(await sign({ ...location, ...wrong }))), 'token_invalid');
    }
  });
});

describe('a disabled user', () => {
  /** Two processes with one database: each sees the changes of the other within the cache time. */
  async function twoProcesses() {
    const clock = movableClock();
    const database = await testDatabase();
    const deps = { database, clock, masterKey, environment: 'test' } as const;
    const localRealm = await openTestRealm(deps);
    const remoteRealm = await openTestRealm(deps);
    const person = await createTestUser(localRealm, { merchantId });
    const clientId = await localRealm.createPasswordClient();
    const tokens = await tokensOf(localRealm, clientId, person);
    assert.equal(await codeOf(localRealm.identity.verifyToken(tokens.access)), 'believed');
    assert.equal(await codeOf(remoteRealm.identity.verifyToken(tokens.access)), 'believed');
    const close = () => Promise.all([localRealm.close(), remoteRealm.close()]);
    return {
      clock,
      database,
      here: localRealm,
      there: remoteRealm,
      person,
      clientId,
      tokens,
      close,
    };
  }

  // Spec: USER-6 STATE-2
  test('is refused at once in this process, within a minute in the other, and old tokens stay invalid', async () => {
    const {
      clock,
      here: localRealm,
      there: remoteRealm,
      person,
      clientId,
      tokens,
      close,
    } = await twoProcesses();
    const { organizationId, userId } = person.user;
    clock.advance(1);
    await localRealm.identity.accounts.setStatus(organizationId, userId, 'Disabled');
    assert.equal(await codeOf(localRealm.identity.verifyToken(tokens.access)), 'token_invalid');
    clock.advance(minuteMs);
    assert.equal(await codeOf(remoteRealm.identity.verifyToken(tokens.access)), 'token_invalid');

    await localRealm.identity.accounts.setStatus(organizationId, userId, 'Enabled');
    assert.equal(await codeOf(localRealm.identity.verifyToken(tokens.access)), 'token_invalid');
    const again = await tokensOf(localRealm, clientId, person);
    assert.equal(await codeOf(localRealm.identity.verifyToken(again.access)), 'believed');
    await close();
  });

  test('a sign-in that ends revokes its access tokens, and no others', async () => {
    const {
      clock,
      here: localRealm,
      there: remoteRealm,
      person,
      clientId,
      tokens,
      close,
    } = await twoProcesses();
    const neighbour = await tokensOf(localRealm, clientId, person);
    const { organizationId, userId } = person.user;
    await localRealm.identity.sessions.end(
      organizationId,
      userId,
      String(decodeJwt(tokens.access)['sid']),
    );
    assert.equal(await codeOf(localRealm.identity.verifyToken(tokens.access)), 'token_invalid');
    assert.equal(await codeOf(localRealm.identity.verifyToken(neighbour.access)), 'believed');
    clock.advance(minuteMs);
    assert.equal(await codeOf(remoteRealm.identity.verifyToken(tokens.access)), 'token_invalid');
    assert.equal(await codeOf(remoteRealm.identity.verifyToken(neighbour.access)), 'believed');
    await close();
  });

  test('a removed permission is lost within a minute', async () => {
    const {
      clock,
      database,
      here: localRealm,
      there: remoteRealm,
      person,
      tokens,
      close,
    } = await twoProcesses();
    const { organizationId, userId } = person.user;
    await database.query(
      'UPDATE users SET groups = $3 WHERE organization_id = $1 AND user_id = $2',
      [organizationId, userId, JSON.stringify([`${merchantId}_org_operator`])],
    );
    clock.advance(minuteMs);
    for (const { identity } of [localRealm, remoteRealm]) {
      const { permissions } = await identity.verifyToken(tokens.access);
      assert.deepEqual([...permissions], ['pay.sale', 'pay.read']);
    }
    await close();
  });
});
