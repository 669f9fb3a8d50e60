// A merchant's terminal, a provider's organisation and its real server, which answers as a test says.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rolePermissions } from '@switchyard/contract';
import type { Answer } from './client.ts';
import { type Scene, type Shop, scene, until } from './scene.ts';
import { forgedToken } from './tokens.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes
export type Json = Record<string, any>;

export type ProviderCall = {
  readonly kind: 'create' | 'status' | 'cancel' | 'refund' | 'refundStatus' | 'health';
  readonly transactionId: string;
  readonly body: Json;
};

/** A status with a body; nothing at all where the provider is silent. */
export type Reply = { readonly status?: number; readonly body: unknown } | 'silent' | 'cut';
export type Script = (call: ProviderCall) => Reply | undefined | Promise<Reply | undefined>;

export type QrProvider = {
  readonly url: string;
  readonly calls: ProviderCall[];
  of(kind: ProviderCall['kind'], transactionId?: string): ProviderCall[];
  /** Says how a call is answered; what it leaves out is answered as usual. */
  script: Script;
  close(): Promise<void>;
};

/** The code of the EMVCo sample. */
export const sampleCode =
  '00020101021229300012D156000000000510A93FO3230Q31280012D15600000001030812345678520441115802CN5914BEST TRANSPORT6007BEIJING64200002ZH0104最佳运输0202北京540523.7253031565502016233030412340603***0708A60086670902ME91320016A0112233449988770708123456786304A13A';

export const nameOf = (transactionId: string): string => `P-${transactionId}`;

function callOf(request: IncomingMessage, text: string): ProviderCall | undefined {
  const path = String(request.url).split('?')[0] ?? '';
  const [, root, id = '', part, refund] = path.replace(/^\/spi/, '').split('/');
  const body: Json = text === '' ? {} : JSON.parse(text);
  if (path === '/spi') return undefined;
  if (root === 'health') return { kind: 'health', transactionId: '', body };
  if (id === '') return { kind: 'create', transactionId: body['platformTransactionId'], body };
  if (part === 'cancel') return { kind: 'cancel', transactionId: id, body };
  if (refund !== undefined) {
    return { kind: 'refundStatus', transactionId: id, body: { refundId: refund } };
  }
  if (part === 'refunds') return { kind: 'refund', transactionId: id, body };
  return { kind: 'status', transactionId: id, body };
}

/** Shows a code, knows of nothing new, and does what it is asked for. */
function usual({ kind, transactionId, body }: ProviderCall): Reply {
  const providerTransactionId = nameOf(transactionId);
  const display = { type: 'text/emvqr', data: sampleCode };
  switch (kind) {
    case 'create':
      return { body: { providerTransactionId, status: 'Pending', display } };
    case 'cancel':
      return { body: { providerTransactionId, status: 'Cancelled' } };
    case 'refund':
    case 'refundStatus':
      return { body: { refundId: body['refundId'], status: 'Completed' } };
    case 'health':
      return { body: { status: 'Up' } };
    default:
      return { body: { providerTransactionId, status: 'Pending' } };
  }
}

export async function openQrProvider(): Promise<QrProvider> {
  const calls: ProviderCall[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse, text: string) {
    const call = callOf(request, text);
    response.setHeader('content-type', 'application/json');
    // The activation of the service.
    if (call === undefined) return response.end(JSON.stringify({ status: 'Accepted' }));
    calls.push(call);
    const reply = (await provider.script(call)) ?? usual(call);
    if (reply === 'silent') return undefined;
    if (reply === 'cut') return response.destroy();
    response.statusCode = reply.status ?? 200;
    const { body } = reply;
    return response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => void answer(request, response, Buffer.concat(parts).toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const provider: QrProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/spi`,
    calls,
    of: (kind, id) =>
      calls.filter((each) => each.kind === kind && (id === undefined || each.transactionId === id)),
    script: () => undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return provider;
}

export type Told = {
  type: string;
  sequence: number;
  eventId?: string;
  amount?: Json;
  [member: string]: unknown;
};

export type QrScene = {
  readonly on: Scene;
  readonly shop: Shop;
  readonly provider: QrProvider;
  readonly providerId: string;
  readonly providerToken: string;
  readonly serviceId: string;
  readonly paymentType: string;
  /** Of the first till of the shop. */
  readonly deviceToken: string;
  /** Of another shop's till. */
  readonly otherDeviceToken: string;
  request(members?: Json): Json;
  /** As the device. */
  call(method: string, path: string, body?: unknown, token?: string): Promise<Answer>;
  create(members?: Json): Promise<Answer>;
  /** Begins a payment and tells its identifier. */
  begun(members?: Json): Promise<string>;
  /** Sends an event as the provider. */
  tell(transactionId: string, event: Told, token?: string): Promise<Answer>;
  get(transactionId: string): Promise<Json>;
  /** Waits until a payment is as it should be. */
  becomes(transactionId: string, fits: (payment: Json) => boolean, what: string): Promise<Json>;
  close(): Promise<void>;
};

export const qrBase = '/qrcode-payment/v1/transactions';

async function done(on: Scene, path: string, body: unknown, token: string): Promise<Json> {
  const answer = await on.client.call('POST', path, { token, body });
  assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** An organisation that provides, with an application of its own. */
async function providerOf(on: Scene): Promise<{ providerId: string; providerToken: string }> {
  const { house, client } = on;
  const providerId = randomUUID();
  const userDomainId = `p${randomUUID().slice(0, 13)}`;
  const { organizations } = house.provisioning;
  await organizations.create({ organizationId: providerId }, { name: userDomainId }, providerId);
  await house.identity.createRealm({ userDomainId, organizationId: providerId });
  const { clientId, clientSecret } = await house.identity.createApplication({
    ...{ organizationId: providerId, userDomainId, name: 'Provider', roles: ['ServiceProvider'] },
    ...{ entityType: 'tenant', entityId: providerId, securityFlows: ['ClientCredentials'] },
  });
  return { providerId, providerToken: await client.token(userDomainId, clientId, clientSecret) };
}

/** Active at the organisation, which brings along all that stands below it now. */
async function activate(on: Scene, serviceId: string): Promise<void> {
  const catalogue = '/service-catalog/v1';
  const { acquirerToken: token, organizationId } = on;
  const offer = { name: 'QR', serviceIds: [serviceId] };
  const { packageId } = await done(on, `${catalogue}/packages`, offer, token);
  await done(on, `${catalogue}/subscriptions`, { packageId }, token);
  const wanted = { serviceId, level: 'Organization', entityId: organizationId };
  const { activationId } = await done(on, `${catalogue}/activations`, wanted, token);
  await until(async () => {
    const path = `${catalogue}/activations/${activationId}`;
    const { body } = await on.client.call('GET', path, { token });
    return body.status === 'Active' ? true : undefined;
  }, 'the service to be active');
}

export function deviceTokenOf(on: Scene, shop: Shop, deviceId = shop.deviceIds[0]) {
  const { merchantId, storeId } = shop;
  return forgedToken(on, {
    permissions: [...rolePermissions.Device],
    ...{ entityId: merchantId, storeId, deviceId },
  });
}

/** A scene of its own: an organisation with two shops, and a provider whose service is active there. */
export async function openQr(declaration: Json = {}): Promise<QrScene> {
  const on = await scene();
  const provider = await openQrProvider();
  const { providerId, providerToken } = await providerOf(on);
  const paymentType = `pay${randomUUID().slice(0, 8)}`;
  const declared = { name: 'QR', domain: 'Payments', paymentTypes: [paymentType] };
  const service = { ...declared, spiUrl: provider.url, ...declaration };
  const services = '/service-catalog/v1/services';
  const { serviceId } = await done(on, services, service, providerToken);
  await done(on, `${services}/${serviceId}/publish`, {}, providerToken);
  await activate(on, serviceId);
  const { shop } = on;
  const deviceToken = await deviceTokenOf(on, shop);
  const tellAs = (id: string, { eventId = randomUUID(), ...event }: Told, token: string) =>
    on.client.call('POST', `${qrBase}/${id}/events`, {
      token,
      body: {
        ...{ eventId, occurredAt: new Date().toISOString(), providerTransactionId: nameOf(id) },
        ...event,
      },
    });
  const qr: QrScene = {
    ...{ on, shop, provider, providerId, providerToken, serviceId, paymentType, deviceToken },
    otherDeviceToken: await deviceTokenOf(on, on.otherShop),
    request: (members = {}) => ({
      ...{ paymentType, paymentScenario: 'consumerscan', clientTransactionId: randomUUID() },
      paymentAmount: { amount: 1050, currency: 'EUR' },
      ...members,
    }),
    call: (method, path, body, token = deviceToken) =>
      on.client.call(method, path, { token, ...(body === undefined ? {} : { body }) }),
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
    becomes: (id, fits, what) =>
      until(async () => {
        const payment = await qr.get(id);
        return fits(payment) ? payment : undefined;
      }, what),
    close: provider.close,
  };
  return qr;
}
