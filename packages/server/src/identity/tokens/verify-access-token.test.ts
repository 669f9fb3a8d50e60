// Tests the verification of access tokens: forged, foreign, expired and revoked tokens are refused.
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { defined, isErrorCode, ProblemError } from '@switchyard/contract';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  authUrl,
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../test/support/identity/test-realm.ts';
import type { Database } from '../../platform/index.ts';
import { createChangeCounter } from '../infrastructure/change-counter.ts';
import { createRealmStore } from '../realms-and-keys/realm-sql.ts';
import type { RealmKey } from '../realms-and-keys/realm-types.ts';
import { createKeyRing } from '../realms-and-keys/signing-keys.ts';
import { createAccessTokenVerifier } from './verify-access-token.ts';

const minuteMs = 60_000;
const masterKey = randomBytes(32);

async function codeOf(verification: Promise<unknown>): Promise<string> {
  try {
    await verification;
    return 'believed';
  } catch (error) {
    assert.ok(error instanceof ProblemError && isErrorCode(error.code), String(error));
    return error.code;
  }
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('an access token', () => {
  const clock = movableClock();
  let database: Database;
  let realm: TestRealm;
  let token: string;
  let clientId: string;

  before(async () => {
    database = await testDatabase();
    realm = await openTestRealm({ database, clock, masterKey });
    const client = await realm.createApplication({ roles: ['MerchantReadOnly'] });
    clientId = client.clientId;
    token = await realm.getToken(client);
  });
  after(() => realm.close());

  const verify = (text: string) => realm.identity.verifyToken(text);

  /** The private keys of the realm, which only the platform has. */
  async function keysOf(algorithm: string): Promise<RealmKey> {
    const sealed = await createRealmStore(database).listKeys(realm.organizationId, clock.now());
    const key = sealed.find((sealedKey) => sealedKey.algorithm === algorithm);
    assert.ok(key);
    return createKeyRing(masterKey).openKey(realm.organizationId, key);
  }

  async function sign(claims: JWTPayload, algorithm = 'ES256', typ = 'JWT'): Promise<string> {
    const { privateJwk, keyId } = await keysOf(algorithm);
    return new SignJWT({ ...decodeJwt(token), jti: randomUUID(), ...claims })
      .setProtectedHeader({ alg: algorithm, kid: keyId, typ })
      .sign(privateJwk);
  }

  // Spec: TOK-9
  test('gives the same caller each time', async () => {
    const caller = await verify(token);
    const { permissions, ...facts } = caller;
    assert.deepEqual([...permissions], ['prov.read', 'pay.read', 'rep.read']);
    assert.deepEqual(facts, {
      subject: decodeJwt(token).sub,
      clientId,
      realm: realm.userDomainId,
      organizationId: realm.organizationId,
      entityType: 'tenant',
      entityId: realm.organizationId,
      expiresAt: Number(decodeJwt(token).exp) * 1000,
      tokenId: decodeJwt(token).jti,
      keyId: decodeProtectedHeader(token).kid,
    });
    assert.equal(await verify(token), caller);
  });

  // Spec: ID-4
  test('of a merchant and a store names both', async () => {
    const merchantId = randomUUID();
    const storeId = randomUUID();
    const client = await realm.createApplication({
      entityType: 'merchant',
      entityId: merchantId,
      storeId,
    });
    const caller = await verify(await realm.getToken(client));
    assert.equal(caller.merchantId, merchantId);
    assert.equal(caller.storeId, storeId);
    assert.equal(caller.organizationId, realm.organizationId);
  });

  test('that is no token is refused', async () => {
    for (const text of [
      '',
      '.',
      '..',
      'a.b.c',
      'x'.repeat(9000),
      `${token}.`,
      token.slice(0, -1),
    ]) {
      assert.equal(await codeOf(verify(text)), 'token_invalid', text.slice(0, 20));
    }
  });

  test('without a signature, or with the public key as a secret, is refused', async () => {
    const header = decodeProtectedHeader(token);
    const payload = { ...decodeJwt(token), permissions: ['pay.sale'] };
    for (const alg of ['none', 'None', 'NONE']) {
      const forged = `${encode({ ...header, alg })}.${encode(payload)}.`;
      assert.equal(await codeOf(verify(forged)), 'token_invalid', alg);
    }
    const { privateJwk, keyId } = await keysOf('RS256');
    const publicKey = createPublicKey({ key: privateJwk, format: 'jwk' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const confused = await new SignJWT(payload)
      .setProtectedHeader({ alg: 'HS256', kid: keyId, typ: 'JWT' })
      .sign(Buffer.from(pem));
    assert.equal(await codeOf(verify(confused)), 'token_invalid');
    const pss = await new SignJWT(payload)
      .setProtectedHeader({ alg: 'PS256', kid: keyId, typ: 'JWT' })
      .sign({ ...privateJwk, alg: 'PS256' });
    assert.equal(await codeOf(verify(pss)), 'token_invalid', 'another algorithm of the same key');
    const elliptic = await keysOf('ES256');
    for (const [alg, key, kid] of [
      ['ES256', elliptic.privateJwk, keyId],
      ['RS256', privateJwk, 'unknown'],
      ['RS256', privateJwk, undefined],
    ] as const) {
      const misnamed = await new SignJWT(payload)
        .setProtectedHeader({ alg, typ: 'JWT', ...defined({ kid }) })
        .sign(key);
      assert.equal(await codeOf(verify(misnamed)), 'token_invalid', `${alg} ${kid}`);
    }
  });

  test('with another signature is refused, also with its key in the header', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { kid = '' } = decodeProtectedHeader(token);
    const jwk = publicKey.export({ format: 'jwk' });
    for (const header of [{ kid }, { kid: 'mine' }, {}, { kid, jwk }, { kid, jku: 'https://x' }]) {
      const forged = await new SignJWT(decodeJwt(token))
        .setProtectedHeader({ alg: 'ES256', typ: 'JWT', ...header })
        .sign(privateKey);
      assert.equal(await codeOf(verify(forged)), 'token_invalid');
    }
  });

  // Spec: LIST-5
  test('with a malformed key id causes no look-up of a realm', async () => {
    let lookups = 0;
    const realms = {
      find: async () => undefined,
      async findByIssuer() {
        lookups += 1;
        return undefined;
      },
    };
    const deps = { realms, clock, changeCounter: createChangeCounter(), recordUse: () => {} };
    const emptyPorts = {
      applications: { find: async () => undefined },
      findUser: async () => undefined,
      revocations: { findReason: async () => undefined },
    };
    const verifyElsewhere = createAccessTokenVerifier({ ...deps, ...emptyPorts });
    const forged = (kid: unknown) => {
      const head = encode({ alg: 'ES256', typ: 'JWT', kid });
      return `${head}.${encode({ iss: `${authUrl}/auth/realms/x1` })}.`;
    };
    for (const kid of [undefined, 7, '', 'mine', 'a'.repeat(44)]) {
      assert.equal(await codeOf(verifyElsewhere(forged(kid))), 'token_invalid');
    }
    assert.equal(lookups, 0);
    assert.equal(await codeOf(verifyElsewhere(forged('a'.repeat(43)))), 'token_invalid');
    assert.equal(lookups, 1);
  });

  test('is cached after verification, until its expiry', async () => {
    const client = await realm.createApplication({ roles: ['MerchantReadOnly'] });
    const { verifyToken } = realm.identity;
    const ownToken = await realm.getToken(client);
    assert.equal(verifyToken.isVerified(ownToken), false);
    await verifyToken(ownToken);
    assert.equal(verifyToken.isVerified(ownToken), true);
    assert.equal(await codeOf(verifyToken(`${ownToken}x`)), 'token_invalid');
    assert.equal(verifyToken.isVerified(`${ownToken}x`), false);
    assert.equal(verifyToken.isVerified('x'.repeat(9000)), false);
  });

  test('with a changed claim is refused', async () => {
    const [header, , signature] = token.split('.');
    const payload = encode({ ...decodeJwt(token), permissions: ['pay.sale'] });
    assert.equal(await codeOf(verify(`${header}.${payload}.${signature}`)), 'token_invalid');
  });

  test('of one realm is refused with the issuer of another', async () => {
    const other = await openTestRealm({ database, clock, masterKey });
    const issuer = `${authUrl}/auth/realms/${other.userDomainId}`;
    assert.equal(await codeOf(verify(await sign({ iss: issuer }))), 'token_invalid');
    for (const iss of ['https://evil.example/auth/realms/x', `${issuer}/x`, `${issuer}?`, '']) {
      assert.equal(await codeOf(verify(await sign({ iss }))), 'token_invalid', iss);
    }
    await other.close();
  });

  test('that is an ID or refresh token, or lacks a claim, is refused', async () => {
    assert.equal(await codeOf(verify(await sign({}))), 'believed');
    assert.equal(await codeOf(verify(await sign({}, 'RS256'))), 'believed');
    assert.equal(await codeOf(verify(await sign({ typ: 'ID' }))), 'token_invalid');
    assert.equal(await codeOf(verify(await sign({}, 'ES256', 'logout+jwt'))), 'token_invalid');
    for (const claim of ['exp', 'nbf', 'iat', 'jti', 'sub', 'azp', 'um_scope', 'typ']) {
      const lacking = await sign({ [claim]: undefined });
      assert.equal(await codeOf(verify(lacking)), 'token_invalid', claim);
    }
  });

  // Spec: IDENT-23
  test('bound to a certificate needs that certificate, also if it is read asynchronously', async () => {
    const bound = await sign({ cnf: { 'x5t#S256': 'thumb' } });
    const presenting = (thumbprint: string | undefined, isRead: boolean) =>
      realm.identity.verifyToken(bound, {
        thumbprint: isRead ? () => thumbprint : async () => thumbprint,
      });
    for (const isRead of [true, true, false, false]) {
      assert.equal(await codeOf(verify(bound)), 'token_invalid');
      assert.equal(await codeOf(presenting(undefined, isRead)), 'token_invalid');
      assert.equal(await codeOf(presenting('other', isRead)), 'token_invalid');
      assert.equal(await codeOf(presenting('thumb', isRead)), 'believed');
    }
    for (const cnf of [null, {}, { jkt: 'x' }, 'thumb', []] as unknown[]) {
      const odd = await sign({ cnf });
      const presented = { thumbprint: () => undefined };
      assert.equal(await codeOf(realm.identity.verifyToken(odd, presented)), 'token_invalid');
    }
  });

  test('from a clock slightly ahead is accepted, from the future refused', async () => {
    const now = clock.now() / 1000;
    assert.equal(await codeOf(verify(await sign({ nbf: now + 30, iat: now + 30 }))), 'believed');
    assert.equal(await codeOf(verify(await sign({ nbf: now + 31 }))), 'token_invalid');
  });

  // Spec: TOK-6
  test('is refused from the second of its expiry on, cached or not', async () => {
    const shortLived = await sign({ exp: clock.now() / 1000 + 10 });
    const unseen = await sign({ exp: clock.now() / 1000 + 10 });
    assert.equal(await codeOf(verify(shortLived)), 'believed');
    clock.advance(9_999);
    assert.equal(await codeOf(verify(shortLived)), 'believed');
    clock.advance(1);
    assert.equal(await codeOf(verify(shortLived)), 'token_expired');
    assert.equal(await codeOf(verify(shortLived)), 'token_expired', 'no longer cached');
    assert.equal(await codeOf(verify(unseen)), 'token_expired');
  });
});

describe('after disabling', () => {
  /** Two processes with one database: each sees the changes of the other within the cache time. */
  async function twoProcesses() {
    const clock = movableClock();
    const database = await testDatabase();
    const localRealm = await openTestRealm({ database, clock, masterKey });
    const remoteRealm = await openTestRealm({ database, clock, masterKey });
    const client = await localRealm.createApplication();
    const token = await localRealm.getToken(client);
    assert.equal(await codeOf(localRealm.identity.verifyToken(token)), 'believed');
    assert.equal(await codeOf(remoteRealm.identity.verifyToken(token)), 'believed');
    return { clock, here: localRealm, there: remoteRealm, client, token };
  }

  test('an application is refused at once in this process, within a minute in the other', async () => {
    const { clock, here: localRealm, there: remoteRealm, client, token } = await twoProcesses();
    const { organizationId } = localRealm;
    await localRealm.identity.setApplicationStatus(organizationId, client.clientId, 'Disabled');
    assert.equal(await codeOf(localRealm.identity.verifyToken(token)), 'token_invalid');
    const refused = await localRealm.post(localRealm.tokenPath, {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    });
    assert.equal(refused.status, 401);
    clock.advance(minuteMs);
    assert.equal(await codeOf(remoteRealm.identity.verifyToken(token)), 'token_invalid');

    await localRealm.identity.setApplicationStatus(organizationId, client.clientId, 'Enabled');
    assert.equal(await codeOf(localRealm.identity.verifyToken(token)), 'believed');
    await Promise.all([localRealm.close(), remoteRealm.close()]);
  });

  test('a revoked token is refused at once here, within a minute there; others stay valid', async () => {
    const { clock, here: localRealm, there: remoteRealm, client, token } = await twoProcesses();
    const neighbour = await localRealm.getToken(client);
    const { status } = await localRealm.post(
      `/auth/realms/${localRealm.userDomainId}/protocol/openid-connect/revoke`,
      { token, client_id: client.clientId, client_secret: client.clientSecret },
    );
    assert.equal(status, 200);
    assert.equal(await codeOf(localRealm.identity.verifyToken(token)), 'token_invalid');
    clock.advance(minuteMs);
    assert.equal(await codeOf(remoteRealm.identity.verifyToken(token)), 'token_invalid');
    assert.equal(await codeOf(remoteRealm.identity.verifyToken(neighbour)), 'believed');
    await Promise.all([localRealm.close(), remoteRealm.close()]);
  });
});
