// Whole run: much is made, or waited for, before it shows.
// From an empty platform to a sale by API only: a production setup, with its first operator created
// by command.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { otpCodeAt } from '../support/identity/test-users.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  type ProductionPlatform,
  startProductionPlatform,
} from '../support/processes/production-platform.ts';
import { createCertificateRequest } from '../support/provisioning/test-devices.ts';
import { until } from '../support/wait-for-result.ts';

const password = 'nine tills under one long roof';
const email = 'ann@banque.example';
const stepMs = 30_000;

describe('an estate from nothing', { timeout: 300_000 }, () => {
  let platform: ProductionPlatform;
  let token: string;
  before(async () => {
    platform = await startProductionPlatform();
  });
  after(() => platform.close());

  const call = (
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<HttpResponse> => platform.client.call(method, path, { token, ...options });

  /** Sends a request and asserts success. */
  async function done(method: string, path: string, body?: unknown): Promise<HttpResponse['body']> {
    const answer = await call(method, path, defined({ body }));
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }
  const made = (path: string, body: unknown = {}) => done('POST', path, body);

  async function signIn(realm: string, username: string, totp: string): Promise<string> {
    const form = {
      grant_type: 'password',
      client_id: 'switchyard-cli',
      username,
      password,
      totp,
    };
    const { status, body, text } = await platform.client.call('POST', `/oauth2/v1/${realm}/token`, {
      raw: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(status, 200, text);
    return body.access_token;
  }

  // Spec: ONB-11
  test('an organisation signs up, the operator approves it, and its administrator signs in', async () => {
    const { client, operator, mail } = platform;
    const signUps = '/onboarding/v1/sign-ups';
    const person = { email, givenName: 'Ann', familyName: 'Carter', country: 'FR' };
    const form = { organizationName: 'Banque du Nord', persona: 'Acquirer', ...person };
    const received = await client.call('POST', signUps, { body: form });
    assert.equal(received.status, 202, received.text);

    token = await client.token(operator.userDomainId, operator.clientId, operator.clientSecret);
    const { items } = await done('GET', `${signUps}?status=Pending`);
    assert.deepEqual(
      items.map((item: Record<string, string>) => item['email']),
      [email],
    );
    await made(`${signUps}/${items[0].signUpId}/approve`);

    const invitation = await mail.mailTo(email, /\/links\//);
    const link = /\/links\/([\w-]{43})/.exec(invitation)?.[1];
    const activation = `/onboarding/v1/activations/${link}`;
    const { oneTimePassword, userDomainId, username } = await made(activation, { password });
    const code = (later = 0) => otpCodeAt(oneTimePassword.secret, Date.now() + later);
    const { recoveryCodes } = await made(`${activation}/otp`, { code: code() });
    assert.equal(recoveryCodes.length, 10);
    // The current code is already used; the server also accepts the code of the next time step.
    token = await signIn(userDomainId, username, code(stepMs));
    const organizations = await done('GET', '/provisioning/v2/organizations');
    assert.deepEqual(
      organizations.items.map((item: Record<string, string>) => item['name']),
      ['Banque du Nord'],
    );
  });

  let entities: Record<'merchantId' | 'storeId' | 'logicalDeviceId' | 'physicalDeviceId', string>;
  test('it brings in its estate: merchant, store, devices, the way to its acquirer', async () => {
    const base = '/provisioning/v2';
    const { merchantId } = await made(`${base}/merchants`, {
      name: 'Café du Port',
      country: 'FR',
      mcc: '5814',
      timeZone: 'Europe/Paris',
    });
    const { storeId } = await made(`${base}/stores`, { merchantId, name: 'Quai 3' });
    const { logicalDeviceId } = await made(`${base}/logical-devices`, { storeId, name: 'Till 1' });
    const hardware = { serialNumber: '70000001', make: 'AXIUM', model: 'DX8000', family: 'axium' };
    const { physicalDeviceId } = await made(`${base}/physical-devices`, {
      ...hardware,
      merchantId,
    });
    const links = `${base}/logical-devices/${logicalDeviceId}/physical-devices`;
    await done('PUT', links, { physicalDeviceIds: [physicalDeviceId] });
    const { acquirerLinkId } = await made(`${base}/acquirer-links`, {
      name: 'host',
      host: '127.0.0.1',
      port: platform.host.port,
      tls: false,
      institutionId: '123456',
    });
    await made(`${base}/merchants/${merchantId}/acquirer-contracts`, {
      acquirerLink: acquirerLinkId,
      acquirerMerchantId: '100000000000001',
      terminalIdRange: { from: 'CAFE0001', to: 'CAFE0099' },
      currencies: ['EUR'],
      captureModes: ['Immediate', 'Deferred'],
      defaultCaptureMode: 'Immediate',
      clearCardData: 'Allowed',
    });
    entities = { merchantId, storeId, logicalDeviceId, physicalDeviceId };
  });

  test('the operator approves its acquirer link', async () => {
    const { client, operator } = platform;
    const previousToken = token;
    token = await client.token(operator.userDomainId, operator.clientId, operator.clientSecret);
    const approvals = '/provisioning/v2/acquirer-link-approvals';
    const { items } = await done('GET', approvals);
    const [{ acquirerLinkId, host, port }] = items;
    assert.deepEqual([host, port], ['127.0.0.1', platform.host.port]);
    await made(`${approvals}/${acquirerLinkId}/approve`, { host, port });
    token = previousToken;
  });

  test('it declares a service, subscribes to it, switches it on and configures it', async () => {
    const base = '/service-catalog/v1';
    const { serviceId } = await made(`${base}/services`, {
      name: 'Receipts',
      domain: 'Printing',
      parameterSchema: {
        type: 'object',
        properties: { footer: { type: 'string' }, copies: { type: 'integer' } },
      },
      defaults: { footer: 'Thank you', copies: 1 },
    });
    await made(`${base}/services/${serviceId}/publish`);
    const offer = { name: 'Basics', serviceIds: [serviceId] };
    const { packageId } = await made(`${base}/packages`, offer);
    await made(`${base}/subscriptions`, { packageId });
    const { items } = await done('GET', '/provisioning/v2/organizations');
    const entityId = items[0].organizationId;
    const activation = { serviceId, level: 'Organization', entityId };
    assert.equal((await made(`${base}/activations`, activation)).status, 'Active');
    const at = (level: string, id: string) =>
      `/configuration/v1/${level}/${id}/services/${serviceId}`;
    await made(at('merchants', entities.merchantId), { values: { footer: 'À bientôt' } });
    const effective = await done('GET', at('logical-devices', entities.logicalDeviceId));
    assert.deepEqual(effective.effective.values, { footer: 'À bientôt', copies: 1 });
  });

  test('no address that it saves leads to this machine, to private networks or to other ports', async () => {
    const link = { name: 'another', institutionId: '123456', tls: true };
    const kinds = [
      {
        path: '/provisioning/v2/acquirer-links',
        idMember: 'acquirerLinkId',
        pointer: '/host',
        bodyWith: (host: string, port: number) => ({ ...link, host, port }),
      },
      {
        path: '/provisioning/v2/acquirer-links',
        idMember: 'acquirerLinkId',
        pointer: '/host',
        bodyWith: (host: string, port: number) => ({
          ...link,
          name: 'over HTTP',
          adapter: 'HttpJson',
          httpJson: { acquirerKeys: ['Q'.repeat(43)] },
          host,
          port,
        }),
      },
      {
        path: '/webhooks/v1/endpoints',
        idMember: 'endpointId',
        pointer: '/url',
        bodyWith: (host: string, port: number) => ({
          url: `https://${host.includes(':') ? `[${host}]` : host}:${port}/`,
          eventTypes: ['*'],
        }),
      },
      {
        path: '/service-catalog/v1/services',
        idMember: 'serviceId',
        pointer: '/spiUrl',
        bodyWith: (host: string, port: number) => ({
          name: 'Provider',
          domain: 'Payment',
          spiUrl: `https://${host.includes(':') ? `[${host}]` : host}:${port}/`,
        }),
      },
    ];
    const hosts = ['127.0.0.1', 'localhost', '169.254.169.254', '10.0.0.1', '::1', 'fd00::1'];
    const refused: [string, number][] = hosts.map((host) => [host, 443]);
    for (const { path, idMember, pointer, bodyWith } of kinds) {
      const first = await made(path, bodyWith('8.8.8.8', 8443));
      const itemPath = `${path}/${first[idMember]}`;
      // Acquirers may use any port; web servers of providers may not.
      const ports: [string, number][] = pointer === '/host' ? [] : [['8.8.8.8', 22]];
      for (const [host, port] of [...refused, ...ports]) {
        for (const [method, at] of [
          ['POST', path],
          ['PUT', itemPath],
        ] as const) {
          const { status, body } = await call(method, at, { body: bodyWith(host, port) });
          const fault = [status, body.code, body.errors?.[0]?.pointer];
          assert.deepEqual(
            fault,
            [422, 'field_invalid', pointer],
            `${method} ${at} ${host}:${port}`,
          );
        }
      }
      await done('DELETE', itemPath);
    }
  });

  test('its terminal proves itself, reads its configuration and says that it is in use', async () => {
    const { key, csr } = await createCertificateRequest();
    const certificates = `/provisioning/v2/physical-devices/${entities.physicalDeviceId}/certificates`;
    const { certificateChain: cert } = await made(certificates, { certificateRequest: csr });
    const { security, api } = platform.asDevice({ cert, key });
    try {
      const lookup = () => security.call('GET', '/oauth2-mtls/v1/merchants-credentials');
      assert.equal((await lookup()).body.code, 'device_not_claimed');
      const claimCode = 'K7QM-2F9X';
      const sent = await security.call('POST', '/oauth2-mtls/v1/claims', { body: { claimCode } });
      assert.deepEqual(sent.body, { claimStatus: 'Unclaimed' }, sent.text);
      const device = `/provisioning/v2/physical-devices/${entities.physicalDeviceId}`;
      const claimed = await done('POST', `${device}/claim`, { claimCode });
      assert.equal(claimed.claimStatus, 'Claimed');
      const credentialsResponse = await lookup();
      const [{ clientId, clientSecret }] = credentialsResponse.body;
      const granted = await security.call('POST', '/oauth2-mtls/v1/token', {
        raw: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: clientSecret,
        }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      assert.equal(granted.status, 200, granted.text);
      const deviceToken = { token: granted.body.access_token };
      const base = '/configuration/v1/device';
      const { body, headers, text } = await api.call('GET', base, deviceToken);
      assert.equal(body?.services?.[0]?.values?.footer, 'À bientôt', text);
      const conditionalHeaders = { 'if-none-match': String(headers['etag']) };
      assert.equal(
        (await api.call('GET', base, { ...deviceToken, headers: conditionalHeaders })).status,
        304,
      );
      const word = { version: body.version, applied: true };
      const acknowledgement = await api.call('POST', `${base}/acknowledgements`, {
        ...deviceToken,
        body: word,
      });
      assert.ok(acknowledgement.status < 300, acknowledgement.text);
    } finally {
      security.close();
      api.close();
    }
    const path = `/configuration/v1/logical-devices/${entities.logicalDeviceId}/delivery`;
    assert.equal((await done('GET', path)).status, 'Applied');
  });

  // Spec: ONB-11
  test('a till gets credentials, takes a sale with them, and reads it back', async () => {
    const { client } = platform;
    const { storeId } = entities;
    const till = await made('/provisioning/v2/points-of-sale', { name: 'Till 1', storeId });
    const { items } = await done('GET', '/provisioning/v2/organizations');
    const realm = items[0].userDomainId;
    const tillToken = await client.token(realm, till.clientId, till.clientSecret);
    const transactions = '/payment/v1/transactions';
    await until(
      async () => {
        const path = `${transactions}/technical/isAvailable`;
        return (
          (await client.call('GET', path, { token: tillToken })).body.available === true ||
          undefined
        );
      },
      'the link to sign on',
      60_000,
    );
    const body = keyedSale({
      clientTransactionId: randomUUID(),
      deviceId: entities.logicalDeviceId,
    });
    const sale = await client.call('POST', `${transactions}/process`, { token: tillToken, body });
    assert.equal(sale.status, 200, sale.text);
    assert.deepEqual([sale.body.state, sale.body.approved], ['Captured', true]);
    const path = `${transactions}/${sale.body.transactionId}`;
    const read = await client.call('GET', path, { token: tillToken });
    assert.deepEqual([read.body.state, read.body.capturedAmount], ['Captured', 1234]);
  });

  // Spec: ONB-5
  test('all changes are in the audit, and a platform has one operator', async () => {
    const { items } = await done('GET', '/audit/v1/records?limit=200');
    const actions = new Set(items.map((item: Record<string, string>) => item['action']));
    for (const action of ['merchant.created', 'service.published', 'pointOfSale.created']) {
      assert.ok(actions.has(action), `${action} in ${[...actions]}`);
    }
    assert.equal((await platform.runAdminCommand(['operator', 'destroy'])).status, 2);
    const again = await platform.runAdminCommand(['operator', 'create']);
    assert.equal(again.status, 1);
    assert.match(again.stderr, /has an operator/);
    const { client, operator } = platform;
    const renewed = await platform.runAdminCommand(['operator', 'rotate-secret', '--json']);
    assert.equal(renewed.status, 0, renewed.stderr);
    const { clientSecret } = JSON.parse(renewed.stdout) as { clientSecret: string };
    assert.notEqual(clientSecret, operator.clientSecret);
    const isIn = () =>
      client.token(operator.userDomainId, operator.clientId, clientSecret).then(
        () => true,
        () => undefined,
      );
    await until(isIn, 'the new secret');
  });
});
