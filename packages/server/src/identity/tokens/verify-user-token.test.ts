// Which tokens of people and of devices are believed, what they allow, and how fast they end.
import assert from 'node:assert/strict';
import { createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { defined, groupPermissions, isErrorCode, Refusal } from '@switchyard/contract';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import { testDatabase } from '../../../test/database.ts';
import { movableClock, openTestRealm, type TestRealm } from '../../../test/identity.ts';
import { createPerson, type Person, type PersonFacts, passwordForm } from '../../../test/people.ts';
import type { Caller } from '../../http/index.ts';
import type { Database } from '../../platform/index.ts';
import type { RealmKey } from '../realms-and-keys/realm.ts';
import { createRealmStore } from '../realms-and-keys/realm-sql.ts';
import { createKeyRing } from '../realms-and-keys/signing-keys.ts';

const minuteMs = 60_000;
const masterKey = randomBytes(32);
const merchantId = randomUUID();

async function codeOf(verdict: Promise<unknown>): Promise<string> {
  try {
    await verdict;
    return 'believed';
  } catch (error) {
    assert.ok(error instanceof Refusal && isErrorCode(error.code), String(error));
    return error.code;
  }
}

type Tokens = { readonly access: string; readonly refresh: string; readonly id: string };

async function tokensOf(realm: TestRealm, clientId: string, person: Person, scope?: string) {
  const { status, body } = await realm.post(realm.tokenPath, {
    ...passwordForm(person, clientId),
    ...defined({ scope }),
  });
  assert.equal(status, 200, JSON.stringify(body));
  const { access_token, refresh_token, id_token } = body;
  return { access: String(access_token), refresh: String(refresh_token), id: String(id_token) };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('the token of a person', () => {
  const clock = movableClock();
  let database: Database;
  let realm: TestRealm;
  let clientId: string;
  let manager: Person;
  let tokens: Tokens;

  before(async () => {
    database = await testDatabase();
    realm = await openTestRealm({ database, clock, masterKey, environment: 'test' });
    clientId = await realm.createPasswordClient();
    manager = await createPerson(realm, { merchantId });
    tokens = await tokensOf(realm, clientId, manager);
  });
  after(() => realm.close());

  const verify = (text: string) => realm.identity.verifyToken(text);

  async function keyOf(algorithm: string): Promise<RealmKey> {
    const sealed = await createRealmStore(database).listKeys(realm.organizationId, clock.now());
    const key = sealed.find((each) => each.algorithm === algorithm);
    assert.ok(key);
    return createKeyRing(masterKey).openKey(realm.organizationId, key);
  }

  /** As only the platform can sign it. */
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

  test('makes the caller that the account is', async () => {
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

  test('keeps its rights in every scope, and gets no others by a claim', async () => {
    const wide = factsOf(await verify(tokens.access));
    for (const scope of ['openid', 'email', 'auth', 'phone address']) {
      const { access } = await tokensOf(realm, clientId, manager, scope);
      const claims = decodeJwt(access);
      assert.equal('permissions' in claims || 'um_scope' in claims, false, scope);
      const { expiresAt, issuedAt, signInId, tokenId } = wide;
      const own = { expiresAt, issuedAt, signInId, tokenId };
      assert.deepEqual({ ...factsOf(await verify(access)), ...own }, wide, scope);
    }
    const operator = await createPerson(realm, { merchantId, group: 'org_operator' });
    const boasting = await sign({
      sub: operator.user.userId,
      permissions: ['um.write', 'pay.sale'],
      um_scope: { entityId: realm.organizationId, entityType: 'tenant' },
    });
    const caller = factsOf(await verify(boasting));
    assert.deepEqual(caller.permissions, ['pay.sale', 'pay.read']);
    assert.equal(caller.entityId, merchantId);
  });

  test('of the organisation may act on one merchant alone', async () => {
    const acting: PersonFacts = { scopeEntityType: 'merchant', scopeEntityId: merchantId };
    const person = await createPerson(realm, { group: 'org_custcare', ...acting });
    const caller = await verify((await tokensOf(realm, clientId, person)).access);
    assert.deepEqual([caller.entityType, caller.merchantId], ['merchant', merchantId]);
  });

  test('is no ID token and no refresh token', async () => {
    assert.equal(await codeOf(verify(tokens.id)), 'token_invalid');
    assert.equal(await codeOf(verify(tokens.refresh)), 'token_invalid');
    assert.equal(await codeOf(verify(await sign({ typ: 'ID' }))), 'token_invalid');
    assert.equal(await codeOf(verify(await sign({ typ: undefined }))), 'token_invalid');
    assert.equal(await codeOf(verify(await sign({}))), 'believed');
  });

  test('is signed by the key that it names, with the algorithm of that key', async () => {
    const { privateJwk, keyId } = await keyOf('RS256');
    const payload = { ...decodeJwt(tokens.access), jti: randomUUID() };
    const header = decodeProtectedHeader(tokens.access);
    const pem = createPublicKey({ key: privateJwk, format: 'jwk' }).export({
      type: 'spki',
      format: 'pem',
    });
    const elliptic = await keyOf('ES256');
    const forged = [
      `${encode({ ...header, alg: 'none' })}.${encode(payload)}.`,
      await new SignJWT(payload)
        .setProtectedHeader({ alg: 'HS256', kid: keyId, typ: 'JWT' })
        .sign(Buffer.from(pem)),
      await new SignJWT(payload)
        .setProtectedHeader({ alg: 'ES256', kid: keyId, typ: 'JWT' })
        .sign(elliptic.privateJwk),
      await new SignJWT(payload)
        .setProtectedHeader({ alg: 'RS256', kid: 'unknown', typ: 'JWT' })
        .sign(privateJwk),
      await new SignJWT(payload).setProtectedHeader({ alg: 'RS256', typ: 'JWT' }).sign(privateJwk),
    ];
    for (const [index, text] of forged.entries()) {
      assert.equal(await codeOf(verify(text)), 'token_invalid', String(index));
    }
  });

  test('needs a user who is there', async () => {
    for (const sub of [randomUUID(), 'x', "' OR 1=1", '../admin', 'é'.repeat(40)]) {
      assert.equal(await codeOf(verify(await sign({ sub }))), 'token_invalid', sub);
    }
    const other = await openTestRealm({ database, clock, masterKey, environment: 'test' });
    const stranger = await createPerson(other);
    assert.equal(await codeOf(verify(await sign({ sub: stranger.user.userId }))), 'token_invalid');
    await other.close();
  });

  test('is believed from a clock 30 s ahead, and not from further', async () => {
    const now = clock.now() / 1000;
    assert.equal(await codeOf(verify(await sign({ nbf: now + 30, iat: now + 30 }))), 'believed');
    assert.equal(await codeOf(verify(await sign({ nbf: now + 31 }))), 'token_invalid');
  });

  test('of a device is good for its device and store, and for what devices do', async () => {
    const place = { deviceId: randomUUID(), storeId: randomUUID() };
    const caller = factsOf(await verify(await sign(place, 'ES256')));
    assert.deepEqual([caller.deviceId, caller.storeId], [place.deviceId, place.storeId]);
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
      assert.equal(await codeOf(verify(await sign({ ...place, ...wrong }))), 'token_invalid');
    }
  });

  test('that is bound to a certificate comes with it, also where that is looked up first', async () => {
    const bound = await sign({ cnf: { 'x5t#S256': 'thumb' } }, 'ES256');
    const showing = (thumbprint: string | undefined) =>
      realm.identity.verifyToken(bound, { certificateThumbprint: async () => thumbprint });
    for (let round = 0; round < 2; round += 1) {
      assert.equal(await codeOf(verify(bound)), 'token_invalid');
      assert.equal(await codeOf(showing(undefined)), 'token_invalid');
      assert.equal(await codeOf(showing('other')), 'token_invalid');
      assert.equal(await codeOf(showing('thumb')), 'believed');
    }
    for (const cnf of [null, {}, { jkt: 'x' }, 'thumb', []] as unknown[]) {
      const odd = await sign({ cnf });
      const shown = { certificateThumbprint: () => undefined };
      assert.equal(await codeOf(realm.identity.verifyToken(odd, shown)), 'token_invalid');
    }
  });
});

describe('a person who is sent away', () => {
  /** Two processes over one database: what one does the other learns in time. */
  async function twoProcesses() {
    const clock = movableClock();
    const database = await testDatabase();
    const deps = { database, clock, masterKey, environment: 'test' } as const;
    const here = await openTestRealm(deps);
    const there = await openTestRealm(deps);
    const person = await createPerson(here, { merchantId });
    const clientId = await here.createPasswordClient();
    const tokens = await tokensOf(here, clientId, person);
    assert.equal(await codeOf(here.identity.verifyToken(tokens.access)), 'believed');
    assert.equal(await codeOf(there.identity.verifyToken(tokens.access)), 'believed');
    const close = () => Promise.all([here.close(), there.close()]);
    return { clock, database, here, there, person, clientId, tokens, close };
  }

  test('is out at once in this process, within a minute in the other, and old tokens stay dead', async () => {
    const { clock, here, there, person, clientId, tokens, close } = await twoProcesses();
    const { organizationId, userId } = person.user;
    clock.advance(1);
    await here.identity.accounts.setStatus(organizationId, userId, 'Disabled');
    assert.equal(await codeOf(here.identity.verifyToken(tokens.access)), 'token_invalid');
    clock.advance(minuteMs);
    assert.equal(await codeOf(there.identity.verifyToken(tokens.access)), 'token_invalid');

    await here.identity.accounts.setStatus(organizationId, userId, 'Enabled');
    assert.equal(await codeOf(here.identity.verifyToken(tokens.access)), 'token_invalid');
    const again = await tokensOf(here, clientId, person);
    assert.equal(await codeOf(here.identity.verifyToken(again.access)), 'believed');
    await close();
  });

  test('a sign-in that is ended takes its access tokens along, and leaves the others', async () => {
    const { clock, here, there, person, clientId, tokens, close } = await twoProcesses();
    const neighbour = await tokensOf(here, clientId, person);
    const { organizationId, userId } = person.user;
    await here.identity.sessions.end(
      organizationId,
      userId,
      String(decodeJwt(tokens.access)['sid']),
    );
    assert.equal(await codeOf(here.identity.verifyToken(tokens.access)), 'token_invalid');
    assert.equal(await codeOf(here.identity.verifyToken(neighbour.access)), 'believed');
    clock.advance(minuteMs);
    assert.equal(await codeOf(there.identity.verifyToken(tokens.access)), 'token_invalid');
    assert.equal(await codeOf(there.identity.verifyToken(neighbour.access)), 'believed');
    await close();
  });

  test('a right that was taken away is gone within a minute', async () => {
    const { clock, database, here, there, person, tokens, close } = await twoProcesses();
    const { organizationId, userId } = person.user;
    await database.query(
      'UPDATE users SET groups = $3 WHERE organization_id = $1 AND user_id = $2',
      [organizationId, userId, JSON.stringify([`${merchantId}_org_operator`])],
    );
    clock.advance(minuteMs);
    for (const { identity } of [here, there]) {
      const { permissions } = await identity.verifyToken(tokens.access);
      assert.deepEqual([...permissions], ['pay.sale', 'pay.read']);
    }
    await close();
  });

  test('a token is refused from the second of its expiry on', async () => {
    const { clock, here, tokens, close } = await twoProcesses();
    clock.advance(5 * minuteMs - 1);
    assert.equal(await codeOf(here.identity.verifyToken(tokens.access)), 'believed');
    clock.advance(1);
    assert.equal(await codeOf(here.identity.verifyToken(tokens.access)), 'token_expired');
    await close();
  });
});
