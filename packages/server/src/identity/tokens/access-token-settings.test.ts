// Tests the access token settings of an application: signature algorithm and `typ` header.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../test/support/identity/test-realm.ts';
import { createTestUser, passwordForm } from '../../../test/support/identity/test-users.ts';

type Tokens = { readonly access_token: string; readonly id_token: string; refresh_token: string };

describe('access tokens', () => {
  const clock = movableClock();
  let realm: TestRealm;
  before(async () => {
    realm = await openTestRealm({ database: await testDatabase(), clock, environment: 'test' });
  });
  after(() => realm.close());

  function headerOf(token: string) {
    const { kid: _kid, ...header } = decodeProtectedHeader(token);
    return header;
  }

  async function verify(token: string, options: JWTVerifyOptions) {
    const url = `/auth/realms/${realm.userDomainId}/protocol/openid-connect/certs`;
    const { body } = await realm.app.inject({ method: 'GET', url });
    const keys = createLocalJWKSet(JSON.parse(body) as JSONWebKeySet);
    return jwtVerify(token, keys, { ...options, currentDate: new Date(clock.now()) });
  }

  async function signIn(facts: object): Promise<Tokens> {
    const client = await realm.createApplication({
      securityFlows: ['Password'],
      ...facts,
    });
    const { clientId, clientSecret } = client;
    const person = await createTestUser(realm);
    const form = { ...passwordForm(person, clientId), client_secret: clientSecret };
    const { status, body } = await realm.post(realm.tokenPath, form);
    assert.equal(status, 200, JSON.stringify(body));
    const renewed = await realm.post(realm.tokenPath, {
      grant_type: 'refresh_token',
      client_id: clientId,
      client_secret: clientSecret,
      refresh_token: String(body['refresh_token']),
    });
    assert.equal(renewed.status, 200, JSON.stringify(renewed.body));
    const header = headerOf(String(body['access_token']));
    assert.deepEqual(headerOf(String(renewed.body['access_token'])), header);
    return body as Tokens;
  }

  // Spec: IDENT-12
  test('of an application with RS256 verify only with RS256', async () => {
    const client = await realm.createApplication({ accessTokenAlgorithm: 'RS256' });
    const token = await realm.getToken(client);
    assert.deepEqual(headerOf(token), { alg: 'RS256', typ: 'JWT' });
    await verify(token, { algorithms: ['RS256'] });
    await assert.rejects(verify(token, { algorithms: ['ES256'] }));
    assert.equal((await realm.identity.verifyToken(token)).clientId, client.clientId);
  });

  test('of a user use RS256 unless the application uses ES256; ID tokens do not change', async () => {
    const usual = await signIn({});
    assert.deepEqual(headerOf(usual.access_token), { alg: 'RS256', typ: 'JWT' });
    const tokens = await signIn({ accessTokenAlgorithm: 'ES256', accessTokenType: 'at+jwt' });
    assert.deepEqual(headerOf(tokens.access_token), { alg: 'ES256', typ: 'at+jwt' });
    assert.deepEqual(headerOf(tokens.id_token), { alg: 'RS256', typ: 'JWT' });
    const caller = await realm.identity.verifyToken(tokens.access_token);
    assert.ok(caller.userId);
  });

  // Spec: IDENT-12
  test('with typ at+jwt have the claims that RFC 9068 needs, and are accepted', async () => {
    const client = await realm.createApplication({ accessTokenType: 'at+jwt' });
    const token = await realm.getToken(client);
    assert.deepEqual(headerOf(token), { alg: 'ES256', typ: 'at+jwt' });
    const { payload } = await verify(token, {
      typ: 'at+jwt',
      audience: client.clientId,
      requiredClaims: ['iss', 'exp', 'aud', 'sub', 'iat', 'jti', 'client_id'],
    });
    assert.equal(payload['client_id'], client.clientId);
    assert.equal((await realm.identity.verifyToken(token)).clientId, client.clientId);
  });
});
