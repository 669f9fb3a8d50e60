import assert from 'node:assert/strict';
import { hash, X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';
import {
  type Answer,
  type CertificateAndKey,
  type DeviceRequestOptions,
  openDevices,
  type TestDevices,
  type TestTerminal,
} from '../../../test/support/provisioning/test-devices.ts';
import type { User } from '../accounts/index.ts';

const tokenPath = '/oauth2-mtls/v1/token';
const password = 'seven tills under one roof';
const grant_type = 'client_credentials';

function assertError({ status, body }: Answer, expected: number, error: string): void {
  assert.deepEqual([status, body.error], [expected, error], JSON.stringify(body));
}

describe('device tokens', () => {
  let setup: TestDevices;
  let location: TestTerminal;
  let certificate: CertificateAndKey;
  before(async () => {
    setup = await openDevices();
    location = await setup.createTerminal();
    certificate = await setup.certify(location.physicalDeviceId);
  });
  after(() => setup.close());

  const requestToken = (
    form: Record<string, string>,
    presented: CertificateAndKey | undefined = certificate,
    more: DeviceRequestOptions = {},
  ) => setup.device(tokenPath, { form, certificate: presented, ...more });

  /** Verifies the signature of the realm and the audience. */
  async function claimsOf(token: string, audience: string): Promise<JWTPayload> {
    const issuer = `https://localhost:8443/auth/realms/${setup.userDomainId}`;
    const path = `/auth/realms/${setup.userDomainId}/protocol/openid-connect/certs`;
    const keys = createLocalJWKSet((await setup.api(path)).body);
    const { payload } = await jwtVerify(token, keys, { issuer, audience });
    return payload;
  }

  /** The response of the API to a token, with or without a certificate. */
  const atApi = (token: string, presented?: CertificateAndKey, headers = {}) =>
    setup.api(`/provisioning/v2/physical-devices/${location.physicalDeviceId}/certificates`, {
      token,
      headers,
      certificate: presented,
    });

  const thumbprintOf = ({ cert }: CertificateAndKey) =>
    hash('sha256', new X509Certificate(cert).raw, 'base64url');

  describe('by client credentials', () => {
    // Spec: MTLS-4
    it('have every member and claim of the specification, and are bound to the certificate', async () => {
      const credentials = await setup.credentials(certificate);
      const answer = await requestToken({ grant_type, ...credentials });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const { access_token, id_token, ...rest } = answer.body;
      assert.deepEqual(rest, {
        expires_in: 3600,
        refresh_expires_in: 0,
        token_type: 'Bearer',
        'not-before-policy': 0,
        scope: 'openid profile email auth',
      });
      assert.equal(answer.headers['cache-control'], 'no-store');
      const claims = await claimsOf(access_token, credentials.client_id);
      assert.deepEqual(claims['cnf'], { 'x5t#S256': thumbprintOf(certificate) });
      const { merchantId, storeId, logicalDeviceId, tsn } = location;
      assert.deepEqual(claims['um_scope'], { entityId: merchantId, entityType: 'merchant' });
      for (const [name, value] of Object.entries({
        storeId,
        deviceId: logicalDeviceId,
        entityId: merchantId,
        user_domain: setup.userDomainId,
        device_type: 'UnattendedDevice',
        device_id: tsn,
        method: 'api',
        '2fa': false,
        scope: 'openid profile email auth',
      })) {
        assert.equal(claims[name], value, name);
      }
      const ownClaims = await claimsOf(id_token, credentials.client_id);
      assert.equal(ownClaims.sub, claims.sub);
      assert.equal(ownClaims['typ'], 'ID');
      assert.equal(ownClaims['device_id'], tsn);
    });

    // Spec: IDENT-23
    it('work at the API with their certificate, and are refused without it', async () => {
      const { body } = await requestToken({
        grant_type,
        ...(await setup.credentials(certificate)),
      });
      const good = await atApi(body.access_token, certificate);
      assert.equal(good.status, 200, JSON.stringify(good.body));
      const neighbour = await setup.createTerminal({ merchantId: location.merchantId });
      const other = await setup.certify(neighbour.physicalDeviceId);
      const header = `:${new X509Certificate(certificate.cert).raw.toString('base64')}:`;
      for (const answer of [
        await atApi(body.access_token),
        await atApi(body.access_token, other),
        await atApi(body.access_token, undefined, { 'client-cert': header }),
        await atApi(body.id_token, certificate),
      ]) {
        assert.deepEqual([answer.status, answer.body.code], [401, 'token_invalid']);
      }
    });

    // Spec: MTLS-3
    it('need a secret that is bound to this certificate', async () => {
      const credentials = await setup.credentials(certificate);
      const neighbour = await setup.createTerminal({ merchantId: location.merchantId });
      const thief = await setup.certify(neighbour.physicalDeviceId);
      assertError(await requestToken({ grant_type, ...credentials }, thief), 401, 'invalid_client');
      const ownClaims = { grant_type, client_id: credentials.client_id };
      assertError(await requestToken(ownClaims), 401, 'invalid_client');
      assertError(await requestToken({ ...ownClaims, client_secret: 'x' }), 401, 'invalid_client');
      const unknown = { grant_type, client_id: 'unknown', client_secret: 'x' };
      assertError(await requestToken(unknown), 401, 'invalid_client');
      const elsewhere = await setup.api(`/oauth2/v1/${setup.userDomainId}/token`, {
        form: { grant_type, ...credentials },
      });
      assertError(elsewhere, 401, 'invalid_client');
    });

    it('are for devices: the secret of another application is refused', async () => {
      const { organizationId, userDomainId, identity } = setup;
      for (const role of ['Merchant', 'Device']) {
        const made = await identity.createApplication({
          organizationId,
          userDomainId,
          merchantId: location.merchantId,
          name: role,
          entityType: 'merchant',
          entityId: location.merchantId,
          roles: [role],
          securityFlows: ['ClientCredentials'],
        });
        const client = { client_id: made.clientId, client_secret: made.clientSecret };
        assertError(await requestToken({ grant_type, ...client }), 401, 'invalid_client');
      }
    });

    // Spec: IDENT-13
    it('without a certificate have a Basic challenge where the client used that header', async () => {
      const authorization = `Basic ${Buffer.from('a:b').toString('base64')}`;
      const form = { grant_type };
      const byHeader = await setup.device(tokenPath, { form, headers: { authorization } });
      assertError(byHeader, 401, 'invalid_client');
      assert.match(String(byHeader.headers['www-authenticate']), /^Basic realm="/);
      const byForm = await setup.device(tokenPath, { form: { ...form, client_id: 'a' } });
      assertError(byForm, 401, 'invalid_client');
      assert.equal(byForm.headers['www-authenticate'], undefined);
    });

    it('are limited for each device, though the devices of a merchant share a client', async () => {
      const tokenLimits = { addressPerMinute: 1000, failuresPerMinute: 1000, clientPerMinute: 2 };
      const limited = await openDevices({ tokenLimits });
      try {
        const first = await limited.createTerminal();
        const second = await limited.createTerminal({ merchantId: first.merchantId });
        const statuses: (readonly number[])[] = [];
        for (const { physicalDeviceId } of [first, second]) {
          const presented = await limited.certify(physicalDeviceId);
          const form = { grant_type, ...(await limited.credentials(presented)) };
          const requests = [];
          for (let times = 0; times < 3; times += 1) {
            requests.push(
              (await limited.device(tokenPath, { form, certificate: presented })).status,
            );
          }
          statuses.push(requests);
        }
        assert.deepEqual(statuses, [
          [200, 200, 429],
          [200, 200, 429],
        ]);
      } finally {
        await limited.close();
      }
    });

    it('of one device mean nothing to another organisation', async () => {
      const otherOrganization = await openDevices();
      try {
        const { physicalDeviceId } = await otherOrganization.createTerminal();
        const foreign = await otherOrganization.certify(physicalDeviceId);
        const answer = await requestToken(
          { grant_type, ...(await setup.credentials(certificate)) },
          foreign,
        );
        // Also with the authority of another installation: the certificate is not registered here.
        assertError(answer, 401, 'invalid_client');
      } finally {
        await otherOrganization.close();
      }
    });
  });

  describe('by password', () => {
    let sequence = 0;
    async function createUser(facts: {
      entityType: 'tenant' | 'merchant';
      entityId: string;
      group: string;
    }): Promise<User> {
      sequence += 1;
      const { entityType, entityId, group } = facts;
      return setup.identity.accounts.create({
        organizationId: setup.organizationId,
        userDomainId: setup.userDomainId,
        username: `user-${sequence}`,
        email: `user-${sequence}@shop.example`,
        emailVerified: true,
        groups: [`${entityId}_${group}`],
        secondFactor: 'Off',
        password,
        entityType,
        entityId,
      });
    }
    const operatorOf = ({ merchantId }: TestTerminal) =>
      createUser({ entityType: 'merchant', entityId: merchantId, group: 'org_operator' });
    const formOf = ({ username }: User, more: Record<string, string> = {}) => ({
      grant_type: 'password',
      client_id: `device-${location.merchantId}`,
      username,
      password,
      ...more,
    });

    // Spec: MTLS-5 MTLS-6
    it('are issued to a user at this device, and are refreshed with the certificate only', async () => {
      await setup.credentials(certificate);
      const user = await operatorOf(location);
      const scope = 'openid profile auth';
      const answer = await requestToken(formOf(user, { scope }));
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const { access_token, refresh_token, id_token, session_state, ...rest } = answer.body;
      assert.deepEqual([rest.token_type, rest.scope, rest.expires_in], ['Bearer', scope, 3600]);
      assert.ok(rest.refresh_expires_in > 0 && id_token && session_state);
      const client_id = `device-${location.merchantId}`;
      const claims = await claimsOf(access_token, client_id);
      assert.deepEqual(claims['cnf'], { 'x5t#S256': thumbprintOf(certificate) });
      const { storeId, logicalDeviceId, tsn } = location;
      for (const [name, value] of Object.entries({
        sub: user.userId,
        storeId,
        deviceId: logicalDeviceId,
        device_type: 'ConfidentialDevice',
        device_id: tsn,
        '2fa': false,
      })) {
        assert.equal(claims[name], value, name);
      }
      assert.deepEqual(claims['groups'], user.groups);

      const form = { grant_type: 'refresh_token', client_id, refresh_token };
      const ordinary = `/oauth2/v1/${setup.userDomainId}/token`;
      assertError(await setup.api(ordinary, { form }), 401, 'invalid_client');
      const neighbour = await setup.createTerminal({ merchantId: location.merchantId });
      const other = await setup.certify(neighbour.physicalDeviceId);
      assertError(await requestToken(form, other), 400, 'invalid_grant');
      const renewed = await requestToken(form);
      assert.equal(renewed.status, 200, JSON.stringify(renewed.body));
      const again = await claimsOf(renewed.body.access_token, client_id);
      assert.deepEqual([again['cnf'], again['deviceId']], [claims['cnf'], claims['deviceId']]);
      assertError(await requestToken(form), 400, 'invalid_grant');
    });

    it('are refused for users of the organisation and of other merchants', async () => {
      await setup.credentials(certificate);
      const { organizationId } = setup;
      const elsewhere = await setup.createTerminal();
      const refused = [
        await createUser({ entityType: 'tenant', entityId: organizationId, group: 'org_admin' }),
        await createUser({ entityType: 'tenant', entityId: organizationId, group: 'org_dfo' }),
        await operatorOf(elsewhere),
      ];
      const bodies = [];
      for (const user of refused) {
        const answer = await requestToken(formOf(user));
        assertError(answer, 400, 'invalid_grant');
        bodies.push(answer.body);
      }
      const operator = await operatorOf(location);
      const wrong = await requestToken({
        ...formOf(operator),
        password: 'a wrong one, and long enough',
      });
      const unknownUser = await requestToken({ ...formOf(operator), username: 'unknown' });
      for (const { body } of [wrong, unknownUser]) bodies.push(body);
      for (const body of bodies) assert.deepEqual(body, bodies[0]);
    });

    // Spec: TERM-5
    it('can be issued to a public application for the devices of the organisation', async () => {
      const { organizationId, userDomainId, identity } = setup;
      const { clientId: client_id } = await identity.createPublicApplication({
        organizationId,
        userDomainId,
        name: 'Devices',
        entityType: 'tenant',
        entityId: organizationId,
        roles: [],
        securityFlows: ['Password'],
      });
      const form = { ...formOf(await operatorOf(location)), client_id };
      const answer = await requestToken(form);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const ordinary = await setup.api(`/oauth2/v1/${userDomainId}/token`, { form });
      assert.equal(ordinary.status, 200, JSON.stringify(ordinary.body));
      const claims = await claimsOf(ordinary.body.access_token, client_id);
      assert.equal(claims['cnf'], undefined);
    });
  });

  it('of sign-ins elsewhere cannot be refreshed with a certificate instead of a secret', async () => {
    const { organizationId, userDomainId, identity } = setup;
    const username = 'user-elsewhere';
    await identity.accounts.create({
      organizationId,
      userDomainId,
      username,
      password,
      email: 'jane@shop.example',
      emailVerified: true,
      groups: [],
      secondFactor: 'Off',
      entityType: 'merchant',
      entityId: location.merchantId,
    });
    const { clientId: client_id, clientSecret: client_secret } = await identity.createApplication({
      organizationId,
      userDomainId,
      name: 'Office',
      roles: [],
      entityType: 'tenant',
      entityId: organizationId,
      redirectUris: ['https://office.example/back'],
      securityFlows: ['Password', 'AuthorizationCode'],
    });
    const ordinary = `/oauth2/v1/${userDomainId}/token`;
    const signIn = { grant_type: 'password', client_id, client_secret, username, password };
    const { body: tokens } = await setup.api(ordinary, { form: signIn });
    const { refresh_token } = tokens;
    const refresh = { grant_type: 'refresh_token', client_id, refresh_token };
    assertError(await requestToken(refresh), 400, 'invalid_grant');
    const ownClaims = await setup.api(ordinary, { form: { ...refresh, client_secret } });
    assert.equal(ownClaims.status, 200, JSON.stringify(ownClaims.body));

    const redirect_uri = 'https://office.example/back';
    const redeem = { grant_type: 'authorization_code', client_id, redirect_uri, code: 'x' };
    assertError(await requestToken(redeem), 400, 'unauthorized_client');
    const response = await setup.api(ordinary, { form: { ...redeem, client_secret } });
    assertError(response, 400, 'invalid_grant');
  });

  describe('with invalid requests', () => {
    it('are refused as RFC 6749 requires', async () => {
      const credentials = await setup.credentials(certificate);
      const form = { grant_type, ...credentials };
      const basic = Buffer.from(`${credentials.client_id}:${credentials.client_secret}`);
      const authorization = `Basic ${basic.toString('base64')}`;
      const encoded = new URLSearchParams(form).toString();
      const type = { 'content-type': 'application/x-www-form-urlencoded' };
      const raw = (body: string, headers: Record<string, string> = type) =>
        setup.device(tokenPath, { raw: body, headers, certificate });
      assertError(await raw(`${encoded}&grant_type=x`), 400, 'invalid_request');
      assertError(await raw(`${encoded}&client_id=x`), 400, 'invalid_request');
      assertError(await raw(encoded, { ...type, authorization }), 400, 'invalid_request');
      assertError(await raw(encoded, { 'content-type': 'text/plain' }), 400, 'invalid_request');
      assertError(await raw(`${encoded}&x=${'y'.repeat(65_536)}`), 400, 'invalid_request');
      assertError(await raw(''), 401, 'invalid_client');
      assertError(
        await requestToken({ ...form, grant_type: 'magic' }),
        400,
        'unsupported_grant_type',
      );
      assertError(await requestToken({ ...form, grant_type: 'password' }), 400, 'invalid_request');
      assertError(await requestToken({ ...form, scope: 'openid moon' }), 400, 'invalid_scope');
      const narrow = await requestToken({ ...form, scope: 'profile' });
      assert.equal(narrow.body.scope, 'profile');
      assert.equal(narrow.body.id_token, undefined);
      const { grant_type: _grant, ...client } = form;
      const posted = await raw(new URLSearchParams({ grant_type }).toString(), {
        ...type,
        authorization,
      });
      assert.equal(posted.status, 200, JSON.stringify(posted.body));
      assertError(await requestToken(client), 400, 'invalid_request');
    });

    // Spec: VER-3
    it('are issued by POST at the device listener and nowhere else', async () => {
      const read = await setup.device(tokenPath, { certificate });
      assert.deepEqual([read.status, read.headers['allow']], [405, 'POST']);
      const form = { grant_type, ...(await setup.credentials(certificate)) };
      assert.equal((await setup.api(tokenPath, { form, certificate })).status, 404);
      const { userDomainId, token } = setup;
      for (const path of [
        `/oauth2/v1/${userDomainId}/token`,
        `/auth/realms/${userDomainId}/protocol/openid-connect/token`,
        '/provisioning/v2/stores',
        '/openapi.json',
        '/docs/api',
        '/healthz',
        '/',
      ]) {
        assert.equal((await setup.device(path, { certificate, token })).status, 404, path);
      }
    });
  });
});
