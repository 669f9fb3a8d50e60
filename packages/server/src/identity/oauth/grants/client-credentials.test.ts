// Tests the client credentials grant: both paths, both ways to send the secret, every member and claim.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  authUrl,
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../../test/support/identity/test-realm.ts';
import type { Database } from '../../../platform/index.ts';

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('client credentials', () => {
  const clock = movableClock();
  let database: Database;
  let realm: TestRealm;

  before(async () => {
    database = await testDatabase();
    realm = await openTestRealm({ database, clock });
  });
  after(() => realm.close());

  async function countEntities(): Promise<number> {
    const [row] = await database.query<{ count: number }>(
      'SELECT count(*) AS count FROM oidc_entities WHERE organization_id = $1',
      [realm.organizationId],
    );
    return row?.count ?? -1;
  }

  // Spec: TOKRES-1 TOKRES-2 TOKRES-3 TOKRES-5 TOKRES-7 TOKRES-9 CALLS-3 OAUTH-3 CC-1 FLOW-2 TOK-4 TOK-8 LIM-3 VER-2
  test('the answer has the members of the token response and is not cached', async () => {
    const client = await realm.createApplication();
    const { status, headers, body } = await realm.post(realm.tokenPath, {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    });
    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['pragma'], 'no-cache');
    assert.match(String(headers['content-type']), /^application\/json/);
    const { access_token: accessToken, ...rest } = body;
    assert.match(String(accessToken), /^[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.deepEqual(rest, {
      expires_in: 3600,
      refresh_expires_in: 0,
      token_type: 'Bearer',
      'not-before-policy': 0,
      scope: 'profile email',
    });
  });

  // Spec: CLAIM-1 CLAIM-2 CLAIM-3 CLAIM-4 CLAIM-5 CLAIM-6 CLAIM-7 CLAIM-8 CUSTOM-1 CUSTOM-3 CUSTOM-4 CUSTOM-5 INFO-9 IDENT-1 IDENT-20 IDENT-21 IDENT-22
  test('the token carries the claims of the specification', async () => {
    const merchantId = randomUUID();
    const storeId = randomUUID();
    const client = await realm.createApplication({
      entityType: 'merchant',
      entityId: merchantId,
      storeId,
      roles: ['MerchantReadOnly'],
    });
    const token = await realm.getToken(client);
    const again = await realm.getToken(client);
    const { kid, ...header } = decodeProtectedHeader(token);
    assert.deepEqual(header, { alg: 'ES256', typ: 'JWT' });
    assert.equal(typeof kid, 'string');

    const { sub, jti, ...claims } = decodeJwt(token);
    const issuedAt = clock.now() / 1000;
    assert.match(String(sub), uuidForm);
    assert.match(String(jti), uuidForm);
    assert.equal(decodeJwt(again).sub, sub, 'one service account');
    assert.notEqual(decodeJwt(again).jti, jti);
    assert.deepEqual(claims, {
      iss: `${authUrl}/auth/realms/${realm.userDomainId}`,
      aud: client.clientId,
      azp: client.clientId,
      client_id: client.clientId,
      iat: issuedAt,
      nbf: issuedAt,
      exp: issuedAt + 3600,
      typ: 'Bearer',
      scope: 'profile email',
      user_domain: realm.userDomainId,
      entityId: merchantId,
      um_scope: { entityId: merchantId, entityType: 'merchant' },
      permissions: ['prov.read', 'pay.read', 'rep.read'],
      groups: [],
      storeId,
    });
  });

  test('with scope auth it has the device type ExternalMachine', async () => {
    const { clientId, clientSecret } = await realm.createApplication();
    const { status, body } = await realm.post(realm.tokenPath, {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: 'openid auth',
    });
    assert.deepEqual([status, body['scope']], [200, 'auth']);
    const claims = decodeJwt(String(body['access_token']));
    const { device_type, device_id, method, '2fa': twoFactors } = claims;
    assert.deepEqual(
      { device_type, device_id, method, twoFactors },
      { device_type: 'ExternalMachine', device_id: clientId, method: 'api', twoFactors: false },
    );
    assert.equal('cnf' in claims, false);
  });

  // Spec: IDENT-2 IDENT-28
  test('the server accepts the secret by HTTP Basic at both token endpoints', async () => {
    const { clientId, clientSecret } = await realm.createApplication();
    const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    for (const path of [
      realm.tokenPath,
      `/auth/realms/${realm.userDomainId}/protocol/openid-connect/token`,
    ]) {
      const answer = await realm.post(
        path,
        { grant_type: 'client_credentials' },
        { authorization },
      );
      assert.equal(answer.status, 200, path);
    }
  });

  test('a token writes no row', async () => {
    await realm.getToken(await realm.createApplication());
    assert.equal(await countEntities(), 0);
  });

  test('the server grants the requested scopes without openid, which needs a user', async () => {
    const client = await realm.createApplication();
    const scopes: [string, string][] = [
      ['openid profile email', 'profile email'],
      ['profile', 'profile'],
      ['phone address', 'phone address'],
      ['openid', ''],
      ['', 'profile email'],
    ];
    for (const [scope, granted] of scopes) {
      const { status, body } = await realm.post(realm.tokenPath, {
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.clientSecret,
        scope,
      });
      assert.equal(status, 200);
      assert.equal(body['scope'], granted, scope);
      const claims = decodeJwt(String(body['access_token']));
      assert.equal(claims['entityId'], realm.organizationId, 'rights do not hang on the scope');
    }
  });

  // Spec: IDENT-14
  test('an application may have a token lifetime of its own', async () => {
    const client = await realm.createApplication({ accessTokenSeconds: 120 });
    const claims = decodeJwt(await realm.getToken(client));
    assert.equal(Number(claims.exp) - Number(claims.iat), 120);
  });

  test('a role may be given by its title', async () => {
    const client = await realm.createApplication({ roles: ['Point-of-sale Terminal'] });
    const claims = decodeJwt(await realm.getToken(client));
    assert.ok((claims['permissions'] as string[]).includes('cc.pos'));
  });
});
