// The terminal simulation of the demo over TLS: from a merchant's user to a sale of the user's
// device.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { bearerHeaders } from '../support/bearer-headers.ts';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { movableClock, openTestRealm } from '../support/identity/test-realm.ts';
import { createTestUser, passwordForm, type TestUser } from '../support/identity/test-users.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const asForm = { 'content-type': 'application/x-www-form-urlencoded' };

type Terminal = {
  readonly deviceId: string;
  readonly physicalDeviceId: string;
  readonly serialNumber: string;
  readonly tsn: string;
};

describe('custom tokens', () => {
  let setup: TestOrganization;
  let clientId: string;
  let manager: TestUser;
  let managerToken: string;
  let terminal: Terminal;
  let otherTerminal: Terminal;

  const where = () => ({
    identity: setup.platform.identity,
    organizationId: setup.organizationId,
    userDomainId: setup.realm,
  });

  function post(path: string, form: string | Record<string, string>, headers = {}) {
    const raw = typeof form === 'string' ? form : new URLSearchParams(form).toString();
    return setup.client.call('POST', path, { raw, headers: { ...asForm, ...headers } });
  }
  const tokenEndpoint = (form: Record<string, string>) =>
    post(`/oauth2/v1/${setup.realm}/token`, form);

  async function signIn(person: TestUser, client = clientId): Promise<string> {
    const answer = await tokenEndpoint(passwordForm(person, client));
    assert.equal(answer.status, 200, answer.text);
    return answer.body.access_token;
  }

  function custom(form: string | Record<string, string>, token?: string, realm = setup.realm) {
    const path = `/auth/realms/${realm}/custom-token`;
    return post(path, form, bearerHeaders(token));
  }

  /** Links hardware to the first logical device of a merchant. */
  async function plugIn(merchant: TestMerchant): Promise<Terminal> {
    const { provisioning } = setup.platform;
    const scope = { organizationId: setup.organizationId };
    const serialNumber = String(10_000_000 + Math.floor(Math.random() * 89_999_999));
    const { view } = await provisioning.physicalDevices.create(scope, {
      serialNumber,
      make: 'AXIUM',
      model: 'DX8000',
      family: 'axium',
    });
    const [deviceId = ''] = merchant.deviceIds;
    await provisioning.logicalDevices.linkPhysicalDevices(scope, deviceId, [view.physicalDeviceId]);
    return {
      deviceId,
      physicalDeviceId: view.physicalDeviceId,
      serialNumber,
      tsn: `AXIUM_DX8000-${serialNumber}`,
    };
  }

  function assertRefused(answer: HttpResponse, status: number, error: string) {
    assert.deepEqual([answer.status, answer.body?.error], [status, error], answer.text);
    assert.deepEqual(Object.keys(answer.body).sort(), ['error', 'error_description']);
    assert.equal(answer.headers['cache-control'], 'no-store');
    if (status !== 401 && status !== 403) return;
    assert.match(
      String(answer.headers['www-authenticate']),
      new RegExp(`^Bearer error="${error}"`),
    );
  }

  before(async () => {
    setup = await createTestOrganization();
    clientId = (
      await setup.platform.identity.createPublicApplication({
        ...where(),
        name: 'Device',
        entityType: 'tenant',
        entityId: setup.organizationId,
        roles: [],
        securityFlows: ['Password'],
      })
    ).clientId;
    manager = await createTestUser(where(), { merchantId: setup.merchant.merchantId });
    managerToken = await signIn(manager);
    terminal = await plugIn(setup.merchant);
    otherTerminal = await plugIn(setup.otherMerchant);
  });

  const tokenForm = (deviceId: string, more: Record<string, string> = {}) => ({
    device_model: 'AXIUM_DX8000',
    device_id: deviceId,
    method: 'api',
    ...more,
  });

  async function deviceToken(): Promise<Record<string, string>> {
    const answer = await custom(tokenForm(terminal.tsn), managerToken);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }

  // Spec: TOKRES-6 CTOK-3 SIM-3 TERM-6
  test('the response has every member of a token response, and the claims name the device', async () => {
    const answer = await custom(
      tokenForm(terminal.tsn, { method: 'device_flow api' }),
      managerToken,
    );
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['cache-control'], 'no-store');
    const { access_token, refresh_token, id_token, session_state, ...rest } = answer.body;
    assert.deepEqual(rest, {
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_expires_in: 28_800,
      'not-before-policy': 0,
      scope: 'openid profile email auth',
    });
    assert.match(session_state, uuidForm);
    assert.equal(decodeProtectedHeader(access_token).alg, 'ES256');
    const claims = decodeJwt(access_token);
    const { device_type, device_id, method, '2fa': twoFactors, scope, deviceId, storeId } = claims;
    assert.deepEqual(
      { device_type, device_id, method, twoFactors, scope, deviceId, storeId },
      {
        device_type: 'PublicDevice',
        device_id: terminal.tsn,
        method: 'api device_flow',
        twoFactors: false,
        scope: 'openid profile email auth',
        deviceId: terminal.deviceId,
        storeId: setup.merchant.storeId,
      },
    );
    assert.deepEqual(
      [claims.sub, claims['azp'], claims['entityId'], 'cnf' in claims],
      [manager.user.userId, clientId, setup.merchant.merchantId, false],
    );
    const id = decodeJwt(id_token);
    assert.deepEqual([id['typ'], id['device_id'], id.sub], ['ID', terminal.tsn, claims.sub]);
    assert.equal(typeof refresh_token, 'string');
  });

  // Spec: CTOK-2
  test('every name of a device gets a custom token', async () => {
    const { deviceId, physicalDeviceId, serialNumber, tsn } = terminal;
    for (const name of [deviceId, physicalDeviceId, serialNumber, tsn]) {
      const { status, body, text } = await custom(tokenForm(name), managerToken);
      assert.equal(status, 200, text);
      const claims = decodeJwt(body.access_token);
      assert.deepEqual([claims['device_id'], claims['deviceId']], [name, deviceId]);
    }
    const [, empty = ''] = setup.merchant.deviceIds;
    assert.equal((await custom({ device_id: empty }, managerToken)).status, 200, 'no hardware yet');
  });

  // Spec: SIM-5
  test('a custom token can sell only for its device and store', async () => {
    const { access_token: token = '' } = await deviceToken();
    const sell = (body: object) =>
      setup.client.call('POST', '/payment/v1/transactions/process', { token, body });
    const sale = await sell(keyedSale());
    assert.equal(sale.status, 200, sale.text);
    assert.equal(sale.body.state, 'Captured');
    const { merchant } = setup;
    const { merchantId, storeId } = merchant;
    const ownClaims = { merchantId, storeId, deviceId: terminal.deviceId };
    assert.equal((await sell(keyedSale(ownClaims))).status, 200);
    for (const elsewhere of [
      { deviceId: merchant.deviceIds[1] },
      { storeId: setup.otherMerchant.storeId },
      { merchantId: setup.otherMerchant.merchantId },
    ]) {
      const { status, body, text } = await sell(keyedSale(elsewhere));
      assert.deepEqual([status, body.code], [403, 'entity_out_of_scope'], text);
    }
  });

  test('a custom token has at most the permissions of a device and of its user', async () => {
    const { access_token: token = '' } = await deviceToken();
    const people = await setup.client.call('GET', '/provisioning/v2/merchants', { token });
    assert.equal(people.status, 403, 'a manager reads these, a device does not');
    const supervisor = await createTestUser(where(), {
      merchantId: setup.merchant.merchantId,
      group: 'org_supervisor',
    });
    const { body } = await custom(tokenForm(terminal.tsn), await signIn(supervisor));
    const sale = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token: body.access_token,
      body: keyedSale(),
    });
    assert.equal(sale.status, 403, 'who may not sell does not by a device');
  });

  test('a custom token contains only the user data of the first token, and ends with the session', async () => {
    const form = { ...passwordForm(manager, clientId), scope: 'openid' };
    const { body: parent } = await tokenEndpoint(form);
    const { body } = await custom(tokenForm(terminal.tsn), parent.access_token);
    assert.equal(body.scope, 'openid auth');
    assert.equal('email' in decodeJwt(body.id_token), false);
    const database = await testDatabase();
    const soon = new Date(Date.now() + 600_000).toISOString();
    await database.query(
      'UPDATE token_families SET ends_at = $3 WHERE organization_id = $1 AND family_id = $2',
      [setup.organizationId, parent.session_state, soon],
    );
    const { body: shortLivedToken } = await custom(tokenForm(terminal.tsn), parent.access_token);
    assert.ok(
      shortLivedToken.expires_in <= 600 && shortLivedToken.refresh_expires_in <= 600,
      JSON.stringify(shortLivedToken),
    );
  });

  // Spec: IDENT-25
  test('the refresh token refreshes the custom token at the realm, with the device', async () => {
    const first = await deviceToken();
    const form = { grant_type: 'refresh_token', client_id: clientId };
    const second = await tokenEndpoint({ ...form, refresh_token: first['refresh_token'] ?? '' });
    assert.equal(second.status, 200, second.text);
    assert.equal(second.body.expires_in, 3600);
    assert.equal(second.body.session_state, first['session_state']);
    const claims = decodeJwt(second.body.access_token);
    assert.deepEqual(
      [claims['deviceId'], claims['device_id'], claims['device_type']],
      [terminal.deviceId, terminal.tsn, 'PublicDevice'],
    );
    const narrow = await tokenEndpoint({
      ...form,
      refresh_token: second.body.refresh_token,
      scope: 'openid',
    });
    const narrowClaims = decodeJwt(narrow.body.access_token);
    assert.equal('device_id' in narrowClaims, false);
    assert.equal(narrowClaims['deviceId'], terminal.deviceId, 'payments need it in every scope');
  });

  test('an unknown device, a device of another merchant and a disabled device have the same error', async () => {
    const answers = [
      await custom(tokenForm('AXIUM_DX8000-00000000'), managerToken),
      await custom(tokenForm(otherTerminal.tsn), managerToken),
      await custom(tokenForm(otherTerminal.deviceId), managerToken),
      await custom(tokenForm(setup.merchant.storeId), managerToken),
      await custom(tokenForm(`${terminal.tsn}' OR ''='`), managerToken),
      await custom(tokenForm('x'.repeat(5000)), managerToken),
    ];
    const { provisioning } = setup.platform;
    const scope = { organizationId: setup.organizationId };
    const status = (value: 'Enabled' | 'Disabled') =>
      provisioning.physicalDevices.change(
        scope,
        terminal.physicalDeviceId,
        undefined,
        async () => ({
          status: value,
        }),
      );
    await status('Disabled');
    answers.push(await custom(tokenForm(terminal.tsn), managerToken));
    await status('Enabled');
    for (const answer of answers) assertRefused(answer, 400, 'invalid_grant');
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  });

  // Spec: CTOK-1
  test('a request needs a known device and a known method', async () => {
    for (const form of [
      {},
      { device_id: '' },
      tokenForm(terminal.tsn, { method: 'magic' }),
      tokenForm(terminal.tsn, { method: 'api magic' }),
      tokenForm(terminal.tsn, { method: ' ' }),
      tokenForm(terminal.tsn, { device_model: 'x'.repeat(65) }),
      `device_id=${terminal.tsn}&device_id=${terminal.tsn}`,
      'device_id=%C3%28',
      'device_id=%00',
    ]) {
      assertRefused(await custom(form, managerToken), 400, 'invalid_request');
    }
    const large = await custom({ device_id: 'x'.repeat(65_536) }, managerToken);
    assertRefused(large, 413, 'invalid_request');
    const json = await setup.client.call('POST', `/auth/realms/${setup.realm}/custom-token`, {
      token: managerToken,
      body: tokenForm(terminal.tsn),
    });
    assertRefused(json, 415, 'invalid_request');
  });

  test('only a signed-in user of a merchant gets a custom token', async () => {
    const bad = tokenForm('nothing of the sort is looked at');
    for (const token of [undefined, 'x', 'a.b.c', `${managerToken}x`]) {
      assertRefused(await custom(bad, token), 401, 'invalid_token');
    }
    const basic = await post(`/auth/realms/${setup.realm}/custom-token`, bad, {
      authorization: 'Basic eDp4',
    });
    assertRefused(basic, 401, 'invalid_token');
    const { id_token = '', refresh_token = '', access_token = '' } = await deviceToken();
    assertRefused(await custom(bad, id_token), 401, 'invalid_token');
    assertRefused(await custom(bad, refresh_token), 401, 'invalid_token');
    assertRefused(await custom(bad, access_token), 403, 'insufficient_scope');
    assertRefused(await custom(bad, setup.merchant.token), 403, 'insufficient_scope');
    const admin = await createTestUser(where());
    assertRefused(await custom(bad, await signIn(admin)), 403, 'insufficient_scope');
    const other = await createTestOrganization();
    assertRefused(await custom(bad, managerToken, other.realm), 401, 'invalid_token');
    assertRefused(await custom(bad, managerToken, 'nowhere'), 404, 'invalid_request');
  });

  test('an application of one store gets tokens of that store only', async () => {
    const { clientId: till } = await setup.platform.identity.createPublicApplication({
      ...where(),
      name: 'Till',
      entityType: 'merchant',
      entityId: setup.merchant.merchantId,
      storeId: randomUUID(),
      roles: [],
      securityFlows: ['Password'],
    });
    const token = await signIn(manager, till);
    assertRefused(await custom(tokenForm(terminal.tsn), token), 400, 'invalid_grant');
  });

  test('a custom token is invalid as soon as its user is deactivated', async () => {
    const eva = await createTestUser(where(), { merchantId: setup.merchant.merchantId });
    const token = await signIn(eva);
    const { body } = await custom(tokenForm(terminal.tsn), token);
    await setup.platform.identity.accounts.setStatus(
      setup.organizationId,
      eva.user.userId,
      'Disabled',
    );
    assertRefused(await custom(tokenForm(terminal.tsn), token), 401, 'invalid_token');
    const sale = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token: body.access_token,
      body: keyedSale(),
    });
    assert.equal(sale.status, 401);
    const form = { grant_type: 'refresh_token', client_id: clientId };
    const next = await tokenEndpoint({ ...form, refresh_token: body.refresh_token });
    assert.deepEqual([next.status, next.body.error], [400, 'invalid_grant']);
  });
});

// Spec: SIM-4 SET-20
describe('custom tokens outside the demo', () => {
  for (const environment of ['test', 'production'] as const) {
    test(`${environment} has no custom tokens`, async (t) => {
      const realm = await openTestRealm({
        database: await testDatabase(),
        clock: movableClock(),
        environment,
      });
      t.after(() => realm.close());
      const path = `/auth/realms/${realm.userDomainId}/custom-token`;
      assert.equal((await realm.post(path, { device_id: 'x' })).status, 404);
    });
  }
});
