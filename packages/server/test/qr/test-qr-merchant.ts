// A merchant's terminal, a provider's organisation and its server, at the test platform.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { defined, rolePermissions } from '@switchyard/contract';
import type { HttpResponse } from '../support/https-client.ts';
import { signAccessToken } from '../support/identity/signed-access-tokens.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';
import { type Json, nameOf, openQrProvider, type QrProvider, qrBase } from './test-qr-provider.ts';

export type ProviderEventInput = {
  type: string;
  sequence: number;
  eventId?: string;
  amount?: Json;
  [member: string]: unknown;
};

export type TestQr = {
  readonly organization: TestOrganization;
  readonly merchant: TestMerchant;
  readonly provider: QrProvider;
  readonly providerId: string;
  readonly providerToken: string;
  readonly serviceId: string;
  readonly paymentType: string;
  /** The token of the first till of the merchant. */
  readonly deviceToken: string;
  /** The token of a till of another merchant. */
  readonly otherDeviceToken: string;
  request(members?: Json): Json;
  /** Sends a request as the device. */
  call(
    method: string,
    path: string,
    body?: unknown,
    token?: string,
    headers?: Record<string, string>,
  ): Promise<HttpResponse>;
  create(members?: Json): Promise<HttpResponse>;
  /** Starts a payment and returns its identifier. */
  begun(members?: Json): Promise<string>;
  /** Sends an event as the provider. */
  tell(transactionId: string, event: ProviderEventInput, token?: string): Promise<HttpResponse>;
  get(transactionId: string): Promise<Json>;
  /** Waits until the payment meets the condition. */
  becomes(
    transactionId: string,
    fits: (payment: Json) => boolean,
    description: string,
  ): Promise<Json>;
  close(): Promise<void>;
};

async function done(
  organization: TestOrganization,
  path: string,
  body: unknown,
  token: string,
): Promise<Json> {
  const answer = await organization.client.call('POST', path, { token, body });
  assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** Creates an organisation of a provider with its own application. */
async function providerOf(
  organization: TestOrganization,
): Promise<{ providerId: string; providerToken: string }> {
  const { platform, client } = organization;
  const providerId = randomUUID();
  const userDomainId = `p${randomUUID().slice(0, 13)}`;
  const { organizations } = platform.provisioning;
  await organizations.create({ organizationId: providerId }, { name: userDomainId }, providerId);
  await platform.identity.createUserDomain({ userDomainId, organizationId: providerId });
  const { clientId, clientSecret } = await platform.identity.createApplication({
    organizationId: providerId,
    userDomainId,
    name: 'Provider',
    roles: ['ServiceProvider'],
    entityType: 'tenant',
    entityId: providerId,
    securityFlows: ['ClientCredentials'],
  });
  return { providerId, providerToken: await client.token(userDomainId, clientId, clientSecret) };
}

/** Activates the service at the organisation and everything that exists below it now. */
async function activate(organization: TestOrganization, serviceId: string): Promise<void> {
  const catalogue = '/service-catalog/v1';
  const { acquirerToken: token, organizationId } = organization;
  const offer = { name: 'QR', serviceIds: [serviceId] };
  const { packageId } = await done(organization, `${catalogue}/packages`, offer, token);
  await done(organization, `${catalogue}/subscriptions`, { packageId }, token);
  const activation = { serviceId, level: 'Organization', entityId: organizationId };
  const { activationId } = await done(organization, `${catalogue}/activations`, activation, token);
  await until(async () => {
    const path = `${catalogue}/activations/${activationId}`;
    const { body } = await organization.client.call('GET', path, { token });
    return body.status === 'Active' ? true : undefined;
  }, 'the service to be active');
}

export function deviceTokenOf(
  organization: TestOrganization,
  merchant: TestMerchant,
  deviceId = merchant.deviceIds[0],
) {
  const { merchantId, storeId } = merchant;
  return signAccessToken(organization, {
    permissions: [...rolePermissions.Device],
    entityId: merchantId,
    storeId,
    deviceId,
  });
}

/**
 * Creates an organisation with two merchants, and a provider whose service is active there.
 */
export async function openQr(declaration: Json = {}): Promise<TestQr> {
  const organization = await createTestOrganization();
  const provider = await openQrProvider();
  const { providerId, providerToken } = await providerOf(organization);
  const paymentType = `pay${randomUUID().slice(0, 8)}`;
  const declared = { name: 'QR', domain: 'Payments', paymentTypes: [paymentType] };
  const service = { ...declared, spiUrl: provider.url, ...declaration };
  const services = '/service-catalog/v1/services';
  const { serviceId } = await done(organization, services, service, providerToken);
  await done(organization, `${services}/${serviceId}/publish`, {}, providerToken);
  await activate(organization, serviceId);
  const { merchant } = organization;
  const deviceToken = await deviceTokenOf(organization, merchant);
  const tellAs = (
    id: string,
    { eventId = randomUUID(), ...event }: ProviderEventInput,
    token: string,
  ) =>
    organization.client.call('POST', `${qrBase}/${id}/events`, {
      token,
      body: {
        eventId,
        occurredAt: new Date().toISOString(),
        providerTransactionId: nameOf(id),
        ...event,
      },
    });
  const qr: TestQr = {
    organization,
    merchant,
    provider,
    providerId,
    providerToken,
    serviceId,
    paymentType,
    deviceToken,
    otherDeviceToken: await deviceTokenOf(organization, organization.otherMerchant),
    request: (members = {}) => ({
      paymentType,
      paymentScenario: 'consumerscan',
      clientTransactionId: randomUUID(),
      paymentAmount: { amount: 1050, currency: 'EUR' },
      ...members,
    }),
    call: (method, path, body, token = deviceToken, headers = {}) =>
      organization.client.call(method, path, { token, headers, ...defined({ body }) }),
    create: (members) => qr.call('POST', qrBase, qr.request(members)),
    async begun(members) {
      const answer = await qr.create(members);
      assert.ok(answer.status < 300, answer.text);
      return answer.body.transactionId;
    },
    tell: (id, event, token = providerToken) => tellAs(id, event, token),
    async get(id) {
      const answer = await qr.call('GET', `${qrBase}/${id}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    },
    becomes: (id, fits, description) =>
      until(async () => {
        const payment = await qr.get(id);
        return fits(payment) ? payment : undefined;
      }, description),
    close: provider.close,
  };
  return qr;
}
