// Whole run: much is made, or waited for, before it shows.
// A demo page that acts as a terminal at the Cloud Connector: access control, relayed messages, and
// only in the demo environment.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { scopeAuthoredByPlatform } from '../../src/catalog/index.ts';
import { type Json, type Line, lineOf } from '../connector/test-connector.ts';
import { heardBy, paidOf, paymentOf, requestOf } from '../connector/test-retail-api.ts';
import type { BrowserResponse } from '../support/browser/cookie-browser.ts';
import { createTestUser, type TestUserOptions } from '../support/test-users.ts';
import { asPage, openVisitor, type Visitor } from './portal-client.ts';
import {
  openPortalTestServer,
  type PortalRealm,
  type PortalTestServer,
} from './portal-test-platform.ts';

const connectionsPath = '/portal/terminal-connections';
const declaration = { name: 'Cloud Connector', description: 'It.', domain: 'Retail API' };
let serials = 81_000_000;

type Shop = { readonly merchantId: string; readonly storeId: string; readonly deviceId: string };
type Ticket = {
  readonly connectionUrl: string;
  readonly protocols: string[];
  readonly tsn: string;
};

class HandshakeRefused extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`handshake refused: ${status}`);
    this.status = status;
  }
}

/** Creates merchants with a terminal each, where the connector is active. */
async function shops(portal: PortalTestServer, realm: PortalRealm) {
  const { provisioning, catalog } = portal.application;
  const { organizationId } = realm;
  const authoredScope = scopeAuthoredByPlatform(organizationId);
  const { serviceId } = (await catalog.services.create(authoredScope, declaration as never)).view;
  await catalog.services.publish(authoredScope, serviceId);
  const offer = await catalog.packagesAndSubscriptions.createPackage(authoredScope, {
    name: 'Offer',
    serviceIds: [serviceId],
  });
  await catalog.packagesAndSubscriptions.subscribe(authoredScope, offer.view.packageId);
  const scope = { organizationId };
  const activate = (level: string, entityId: string) =>
    catalog.activations.activate(authoredScope, { serviceId, level, entityId } as never);
  await activate('Organization', organizationId);

  async function store(merchantId: string): Promise<Shop> {
    serials += 1;
    const made = await provisioning.stores.create(scope, { merchantId, name: `S${serials}` });
    const { storeId } = made.view;
    const spot = await provisioning.logicalDevices.create(scope, { storeId, name: 'Till' });
    const { logicalDeviceId: deviceId } = spot.view;
    const hardware = { serialNumber: String(serials), make: 'AXIUM', model: 'DX8000' };
    const { view } = await provisioning.physicalDevices.create(scope, {
      ...hardware,
      family: 'axium',
      merchantId,
    });
    await provisioning.logicalDevices.linkPhysicalDevices(scope, deviceId, [view.physicalDeviceId]);
    return { merchantId, storeId, deviceId };
  }

  return {
    store,
    /** The connector is active at the shop by default. */
    async shop(isActive = true): Promise<Shop> {
      const made = await provisioning.merchants.create(scope, {
        name: 'Shop',
        country: 'FR',
        mcc: '5814',
        timeZone: 'Europe/Paris',
      });
      const { merchantId } = made.view;
      if (isActive) await activate('Merchant', merchantId);
      return store(merchantId);
    },
  };
}

describe('a page of the demo as a terminal', () => {
  let portal: PortalTestServer;
  let realm: PortalRealm;
  let made: Awaited<ReturnType<typeof shops>>;
  const sockets = new Set<WebSocket>();

  before(async () => {
    portal = await openPortalTestServer({ roles: 'connector' });
    await portal.application.start();
    realm = await portal.newRealm();
    made = await shops(portal, realm);
  });
  after(async () => {
    for (const socket of sockets) socket.terminate();
    await portal.close();
  });

  async function signedIn(facts: TestUserOptions): Promise<Visitor> {
    const visitor = openVisitor(portal, realm.userDomainId);
    await visitor.signIn(await createTestUser(realm, facts));
    return visitor;
  }

  const at = (deviceId: string) => ({ 'x-switchyard-device': deviceId });
  const ticketFor = ({ ask }: Visitor, deviceId: string): Promise<BrowserResponse> =>
    ask(connectionsPath, { method: 'POST', headers: at(deviceId) });
  const codeOf = (response: BrowserResponse) => [response.status, response.json()['code']];

  /** Opens a WebSocket as a browser does: with its cookies and the origin of the page. */
  async function open(
    visitor: Visitor,
    { connectionUrl, protocols }: Pick<Ticket, 'connectionUrl' | 'protocols'>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Line> {
    const { value = '' } = visitor.session() ?? {};
    const url = new URL(connectionUrl);
    const socket = new WebSocket(url, protocols, {
      rejectUnauthorized: false,
      headers: {
        cookie: `__Host-switchyard-session=${value}`,
        origin: portal.settings.baseUrl,
        ...headers,
      },
    });
    sockets.add(socket);
    const line = lineOf(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => resolve());
      socket.once('unexpected-response', (_request, { statusCode = 0 }) => {
        socket.terminate();
        reject(new HandshakeRefused(statusCode));
      });
      socket.once('error', reject);
    });
    return line;
  }

  async function connect(
    visitor: Visitor,
    deviceId: string,
  ): Promise<{ line: Line; ticket: Ticket }> {
    const response = await ticketFor(visitor, deviceId);
    assert.equal(response.status, 201, response.text);
    const ticket = response.json() as unknown as Ticket;
    return { line: await open(visitor, ticket), ticket };
  }

  const refused = (status: number) => (error: unknown) =>
    error instanceof HandshakeRefused && error.status === status;

  const sync = ({ ask }: Visitor, deviceId: string, tsn: string, body: Json) =>
    ask(`/retail/v1/devices/${tsn}/sync?posId=page-1`, {
      method: 'POST',
      headers: { 'x-switchyard-till': deviceId, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  test('a page lists its logical devices and takes a payment of its own point of sale', async () => {
    const shop = await made.shop();
    const visitor = await signedIn({ merchantId: shop.merchantId, group: 'org_operator' });
    const listed = await visitor.ask('/portal/terminals');
    assert.equal(listed.status, 200, listed.text);
    assert.deepEqual(listed.json()['items'], [
      { deviceId: shop.deviceId, storeId: shop.storeId, name: 'Till' },
    ]);
    const { line, ticket } = await connect(visitor, shop.deviceId);
    assert.equal(
      ticket.connectionUrl.startsWith(portal.settings.baseUrl.replace('https', 'wss')),
      true,
    );
    assert.equal(line.socket.protocol, 'switchyard-terminal', 'the ticket is not said back');
    const pendingResponse = sync(visitor, shop.deviceId, ticket.tsn, paymentOf());
    const heard = await heardBy(line);
    assert.equal(heard.header.MessageCategory, 'Payment');
    line.send(paidOf(heard));
    const answered = await pendingResponse;
    assert.equal(answered.status, 200, answered.text);
    assert.match(answered.text, /"Result":"Success"/);
  });

  test('a connection requires the session of the ticket and a portal page', async () => {
    const shop = await made.shop();
    const visitor = await signedIn({ merchantId: shop.merchantId });
    const other = await signedIn({ merchantId: shop.merchantId });
    const response = await ticketFor(visitor, shop.deviceId);
    const ticket = response.json() as unknown as Ticket;
    const [protocol = '', sealed = ''] = ticket.protocols;
    const changed = `${sealed.slice(0, 40)}${sealed[40] === 'A' ? 'B' : 'A'}${sealed.slice(41)}`;
    const { connectionUrl } = ticket;
    const hostile: [string, Visitor, string, string[], Record<string, string>][] = [
      [
        'another page',
        visitor,
        connectionUrl,
        ticket.protocols,
        { origin: 'https://evil.example' },
      ],
      ['a page of no address', visitor, connectionUrl, ticket.protocols, { origin: 'null' }],
      [
        'a site that says so',
        visitor,
        connectionUrl,
        ticket.protocols,
        { 'sec-fetch-site': 'cross-site' },
      ],
      ['no session', visitor, connectionUrl, ticket.protocols, { cookie: 'a=b' }],
      [
        'a made-up session',
        visitor,
        connectionUrl,
        ticket.protocols,
        { cookie: `__Host-switchyard-session=${'A'.repeat(64)}` },
      ],
      ['another session', other, connectionUrl, ticket.protocols, {}],
      ['another connection', visitor, `${connectionUrl}x`, ticket.protocols, {}],
      ['no ticket', visitor, connectionUrl, [protocol], {}],
      ['a changed ticket', visitor, connectionUrl, [protocol, changed], {}],
      ['a long ticket', visitor, connectionUrl, [protocol, 'A'.repeat(3_000)], {}],
      ['a ticket in front', visitor, connectionUrl, [sealed, protocol], {}],
      ['more behind it', visitor, connectionUrl, [protocol, sealed, 'x'], {}],
    ];
    for (const [what, authoredScope, url, protocols, headers] of hostile) {
      await assert.rejects(
        open(authoredScope, { connectionUrl: url, protocols }, headers),
        refused(403),
        what,
      );
    }
    const line = await open(visitor, ticket);
    await assert.rejects(open(visitor, ticket), refused(410), 'it is good once');
    assert.equal(line.socket.readyState, WebSocket.OPEN);
  });

  test('a handshake without an origin is rejected', async () => {
    const shop = await made.shop();
    const visitor = await signedIn({ merchantId: shop.merchantId });
    const ticket = (await ticketFor(visitor, shop.deviceId)).json() as unknown as Ticket;
    const { value = '' } = visitor.session() ?? {};
    const socket = new WebSocket(ticket.connectionUrl, ticket.protocols, {
      rejectUnauthorized: false,
      headers: { cookie: `__Host-switchyard-session=${value}` },
    });
    socket.on('error', () => {});
    const status = await new Promise((resolve) => {
      socket.once('unexpected-response', (_request, { statusCode }) => resolve(statusCode));
      socket.once('open', () => resolve(101));
    });
    socket.terminate();
    assert.equal(status, 403);
  });

  test('a ticket is valid for two minutes', async () => {
    const shop = await made.shop();
    const visitor = await signedIn({ merchantId: shop.merchantId });
    const ticket = (await ticketFor(visitor, shop.deviceId)).json() as unknown as Ticket;
    portal.clock.advance(121_000);
    await assert.rejects(open(visitor, ticket), refused(403));
  });

  test('a terminal requires a user of the merchant with pay.sale, and errors name the reason', async () => {
    const [shop, foreign] = [await made.shop(), await made.shop()];
    const idle = await made.shop(false);
    const manager = await signedIn({ merchantId: shop.merchantId });
    assert.deepEqual(codeOf(await ticketFor(manager, foreign.deviceId)), [404, 'device_not_found']);
    assert.deepEqual(codeOf(await ticketFor(manager, randomUUID())), [404, 'device_not_found']);
    const response = await manager.ask(connectionsPath, { method: 'POST' });
    assert.deepEqual(codeOf(response), [403, 'permission_denied']);
    const owner = await signedIn({ merchantId: idle.merchantId });
    const notActive = (await ticketFor(owner, idle.deviceId)).json();
    assert.deepEqual([notActive['code'], notActive['level']], ['not_enabled', 'Merchant']);
    const supervisor = await signedIn({ merchantId: shop.merchantId, group: 'org_supervisor' });
    assert.equal((await ticketFor(supervisor, shop.deviceId)).status, 403);
    assert.equal((await supervisor.ask('/portal/terminals')).status, 403);
    const office = await signedIn({});
    assert.equal((await ticketFor(office, shop.deviceId)).status, 403);
    const signedOutVisitor = openVisitor(portal, realm.userDomainId);
    assert.equal((await ticketFor(signedOutVisitor, shop.deviceId)).status, 401);
    const script = await manager.browser.visit(connectionsPath, {
      method: 'POST',
      headers: { ...at(shop.deviceId), accept: 'application/json' },
    });
    assert.equal(script.status, 401, 'a page that does not say that it is the portal');
  });

  test('a logical device without hardware is not a terminal', async () => {
    const shop = await made.shop();
    const visitor = await signedIn({ merchantId: shop.merchantId });
    const ticket = (await ticketFor(visitor, shop.deviceId)).json() as unknown as Ticket;
    const { provisioning } = portal.application;
    const scope = { organizationId: realm.organizationId };
    await provisioning.logicalDevices.linkPhysicalDevices(scope, shop.deviceId, []);
    await assert.rejects(open(visitor, ticket), (error) => error instanceof HandshakeRefused);
    const again = await ticketFor(visitor, shop.deviceId);
    assert.deepEqual(codeOf(again)[1], 'device_not_active');
  });

  test('a new connection of a terminal replaces the old one', async () => {
    const shop = await made.shop();
    const [one, two] = [
      await signedIn({ merchantId: shop.merchantId }),
      await signedIn({ merchantId: shop.merchantId }),
    ];
    const first = await connect(one, shop.deviceId);
    const second = await connect(two, shop.deviceId);
    assert.equal((await first.line.closed()).code, 4001);
    const pendingResponse = sync(one, shop.deviceId, second.ticket.tsn, paymentOf());
    second.line.send(paidOf(await heardBy(second.line)));
    assert.equal((await pendingResponse).status, 200);
  });

  test('the point of sale learns at once that the terminal is gone, with unknown outcome', async () => {
    const shop = await made.shop();
    const visitor = await signedIn({ merchantId: shop.merchantId });
    const { line, ticket } = await connect(visitor, shop.deviceId);
    const pendingResponse = sync(visitor, shop.deviceId, ticket.tsn, paymentOf());
    await heardBy(line);
    line.close(1000);
    const lost = await pendingResponse;
    assert.deepEqual(
      [lost.json()['code'], lost.json()['outcome']],
      ['device_disconnected', 'Unknown'],
    );
    const offline = await sync(visitor, shop.deviceId, ticket.tsn, paymentOf());
    assert.deepEqual(
      [offline.json()['code'], offline.json()['outcome']],
      ['device_offline', 'NotProcessed'],
    );
  });

  test('two users at two points of sale without names share no terminal', async () => {
    const shop = await made.shop();
    const [one, two] = [
      await signedIn({ merchantId: shop.merchantId }),
      await signedIn({ merchantId: shop.merchantId }),
    ];
    const { line, ticket } = await connect(one, shop.deviceId);
    const send = ({ ask }: Visitor, message: Json) =>
      ask(`/retail/v1/devices/${ticket.tsn}/sync`, {
        method: 'POST',
        headers: { 'x-switchyard-till': shop.deviceId, 'content-type': 'application/json' },
        body: JSON.stringify(message),
      });
    const pendingResponse = send(one, paymentOf());
    const heard = await heardBy(line);
    assert.deepEqual(codeOf(await send(two, paymentOf())), [409, 'device_claimed']);
    line.send(paidOf(heard));
    assert.equal((await pendingResponse).status, 200);
  });

  test('the end of a session closes its terminal', async () => {
    const shop = await made.shop();
    const visitor = await signedIn({ merchantId: shop.merchantId });
    const { line } = await connect(visitor, shop.deviceId);
    const out = await visitor.ask('/portal/sign-out', { method: 'POST' });
    assert.equal(out.status, 200, out.text);
    assert.equal((await line.closed()).code, 4401);
  });

  test('the point of sale can only use the terminals of its store', async () => {
    const [shop, foreign] = [await made.shop(), await made.shop()];
    const beside = await made.store(shop.merchantId);
    const visitor = await signedIn({ merchantId: shop.merchantId });
    const otherVisitor = await signedIn({ merchantId: foreign.merchantId });
    const [own, next, strange] = [
      await connect(visitor, shop.deviceId),
      await connect(visitor, beside.deviceId),
      await connect(otherVisitor, foreign.deviceId),
    ];
    const errorCodeOf = async (deviceId: string, tsn: string) =>
      (await sync(visitor, deviceId, tsn, requestOf('Diagnosis', {}))).json()['code'];
    assert.equal(await errorCodeOf(shop.deviceId, next.ticket.tsn), 'wrong_store');
    assert.equal(await errorCodeOf(shop.deviceId, strange.ticket.tsn), 'device_unknown');
    assert.equal(await errorCodeOf(foreign.deviceId, strange.ticket.tsn), 'device_not_found');
    assert.equal(await errorCodeOf(randomUUID(), own.ticket.tsn), 'device_not_found');
    const asTill = { 'x-switchyard-till': shop.deviceId };
    const response = await visitor.ask('/portal/session', { headers: asTill });
    assert.deepEqual(response.json()['permissions'], ['cc.pos']);
    const users = await visitor.ask(
      `/user-management/v2/user-domains/${realm.userDomainId}/users`,
      { headers: asTill },
    );
    assert.equal(users.status, 403);
    const supervisor = await signedIn({ merchantId: shop.merchantId, group: 'org_supervisor' });
    const path = `/retail/v1/devices/${own.ticket.tsn}/status`;
    assert.equal((await supervisor.ask(path, { headers: asTill })).status, 403);
    assert.equal((await visitor.ask(path)).status, 403, 'a person is no till');
    assert.equal((await visitor.ask(path, { headers: asTill })).status, 200);
  });
});

test('a page with a known session connects despite invalid tokens from its IP address', async (t) => {
  const rateLimits = { unauthenticated: { windowSeconds: 3600, limit: 2 } };
  const portal = await openPortalTestServer({ roles: 'connector', rateLimits });
  t.after(() => portal.close());
  await portal.application.start();
  const realm = await portal.newRealm();
  const shop = await (await shops(portal, realm)).shop();
  const visitor = openVisitor(portal, realm.userDomainId);
  await visitor.signIn(await createTestUser(realm, { merchantId: shop.merchantId }));
  const headers = { authorization: 'Bearer forged' };
  for (const status of [401, 401, 429]) {
    assert.equal((await visitor.ask('/retail/v1/devices/any/status', { headers })).status, status);
  }
  const at = { 'x-switchyard-device': shop.deviceId };
  const response = await visitor.ask(connectionsPath, { method: 'POST', headers: at });
  assert.equal(response.status, 201, response.text);
  const ticket = response.json() as unknown as Ticket;
  const statusWith = async (session: string) => {
    const cookie = `__Host-switchyard-session=${session}`;
    const socket = new WebSocket(ticket.connectionUrl, ticket.protocols, {
      rejectUnauthorized: false,
      headers: { cookie, origin: portal.settings.baseUrl },
    });
    socket.on('error', () => {});
    const status = await new Promise<number>((resolve) => {
      socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
      socket.once('open', () => resolve(101));
    });
    socket.terminate();
    return status;
  };
  assert.equal(await statusWith('a'.repeat(64)), 429, 'the request counts as unauthenticated');
  assert.equal(await statusWith(visitor.session()?.value ?? ''), 101);
});

describe('outside of the demo', () => {
  let portal: PortalTestServer;
  let realm: PortalRealm;
  before(async () => {
    portal = await openPortalTestServer({ roles: 'connector', environment: 'test' });
    realm = await portal.newRealm();
  });
  after(() => portal.close());

  test('no page can be a terminal or a point of sale', async () => {
    const shop = await (await shops(portal, realm)).shop();
    const visitor = openVisitor(portal, realm.userDomainId);
    await visitor.signIn(await createTestUser(realm, { merchantId: shop.merchantId }));
    const headers = { 'x-switchyard-device': shop.deviceId, 'x-switchyard-till': shop.deviceId };
    const pendingResponse = await visitor.ask(connectionsPath, { method: 'POST', headers });
    const unknownResponse = await visitor.ask('/portal/none-of-ours', { method: 'POST', headers });
    assert.deepEqual(
      [pendingResponse.status, pendingResponse.json()['code']],
      [405, 'method_not_allowed'],
    );
    assert.deepEqual(
      [unknownResponse.status, unknownResponse.json()['code']],
      [405, 'method_not_allowed'],
    );
    assert.equal((await visitor.ask('/portal/terminals', { headers })).status, 404);
    const session = await visitor.ask('/portal/session', { headers });
    const { permissions } = session.json() as { permissions: string[] };
    assert.ok(permissions.includes('um.write'), 'the headers say nothing');
    assert.equal(permissions.includes('cc.pos'), false);
    const status = await visitor.ask('/retail/v1/devices/any/status', { headers });
    assert.equal(status.status, 403);
    const { value = '' } = visitor.session() ?? {};
    const url = `${portal.settings.baseUrl.replace('https', 'wss')}${connectionsPath}/x`;
    const socket = new WebSocket(url, ['switchyard-terminal', 'x'], {
      rejectUnauthorized: false,
      headers: {
        ...asPage,
        cookie: `__Host-switchyard-session=${value}`,
        origin: portal.settings.baseUrl,
      },
    });
    socket.on('error', () => {});
    const answered = await new Promise<number>((resolve) => {
      socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
      socket.once('open', () => resolve(101));
    });
    socket.terminate();
    assert.notEqual(answered, 101);
  });
});
