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

type Place = { readonly merchantId: string; readonly storeId: string; readonly deviceId: string };
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
async function shops(on: PortalTestServer, realm: PortalRealm) {
  const { provisioning, catalog } = on.application;
  const { organizationId } = realm;
  const by = scopeAuthoredByPlatform(organizationId);
  const { serviceId } = (await catalog.services.create(by, declaration as never)).view;
  await catalog.services.publish(by, serviceId);
  const offer = await catalog.packagesAndSubscriptions.createPackage(by, {
    name: 'Offer',
    serviceIds: [serviceId],
  });
  await catalog.packagesAndSubscriptions.subscribe(by, offer.view.packageId);
  const scope = { organizationId };
  const activate = (level: string, entityId: string) =>
    catalog.activations.activate(by, { serviceId, level, entityId } as never);
  await activate('Organization', organizationId);

  async function store(merchantId: string): Promise<Place> {
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
    async shop(isActive = true): Promise<Place> {
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
  let on: PortalTestServer;
  let realm: PortalRealm;
  let made: Awaited<ReturnType<typeof shops>>;
  const sockets = new Set<WebSocket>();

  before(async () => {
    on = await openPortalTestServer({ roles: 'connector' });
    await on.application.start();
    realm = await on.newRealm();
    made = await shops(on, realm);
  });
  after(async () => {
    for (const socket of sockets) socket.terminate();
    await on.close();
  });

  async function signedIn(facts: TestUserOptions): Promise<Visitor> {
    const visitor = openVisitor(on, realm.userDomainId);
    await visitor.signIn(await createTestUser(realm, facts));
    return visitor;
  }

  const at = (deviceId: string) => ({ 'x-switchyard-device': deviceId });
  const ticketFor = ({ ask }: Visitor, deviceId: string): Promise<BrowserResponse> =>
    ask(connectionsPath, { method: 'POST', headers: at(deviceId) });
  const codeOf = (seen: BrowserResponse) => [seen.status, seen.json()['code']];

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
        origin: on.settings.baseUrl,
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
    const seen = await ticketFor(visitor, deviceId);
    assert.equal(seen.status, 201, seen.text);
    const ticket = seen.json() as unknown as Ticket;
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
    const place = await made.shop();
    const visitor = await signedIn({ merchantId: place.merchantId, group: 'org_operator' });
    const listed = await visitor.ask('/portal/terminals');
    assert.equal(listed.status, 200, listed.text);
    assert.deepEqual(listed.json()['items'], [
      { deviceId: place.deviceId, storeId: place.storeId, name: 'Till' },
    ]);
    const { line, ticket } = await connect(visitor, place.deviceId);
    assert.equal(
      ticket.connectionUrl.startsWith(on.settings.baseUrl.replace('https', 'wss')),
      true,
    );
    assert.equal(line.socket.protocol, 'switchyard-terminal', 'the ticket is not said back');
    const asked = sync(visitor, place.deviceId, ticket.tsn, paymentOf());
    const heard = await heardBy(line);
    assert.equal(heard.header.MessageCategory, 'Payment');
    line.send(paidOf(heard));
    const answered = await asked;
    assert.equal(answered.status, 200, answered.text);
    assert.match(answered.text, /"Result":"Success"/);
  });

  test('a connection requires the session of the ticket and a portal page', async () => {
    const place = await made.shop();
    const visitor = await signedIn({ merchantId: place.merchantId });
    const other = await signedIn({ merchantId: place.merchantId });
    const seen = await ticketFor(visitor, place.deviceId);
    const ticket = seen.json() as unknown as Ticket;
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
    for (const [what, by, url, protocols, headers] of hostile) {
      await assert.rejects(
        open(by, { connectionUrl: url, protocols }, headers),
        refused(403),
        what,
      );
    }
    const line = await open(visitor, ticket);
    await assert.rejects(open(visitor, ticket), refused(410), 'it is good once');
    assert.equal(line.socket.readyState, WebSocket.OPEN);
  });

  test('a handshake without an origin is rejected', async () => {
    const place = await made.shop();
    const visitor = await signedIn({ merchantId: place.merchantId });
    const ticket = (await ticketFor(visitor, place.deviceId)).json() as unknown as Ticket;
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
    const place = await made.shop();
    const visitor = await signedIn({ merchantId: place.merchantId });
    const ticket = (await ticketFor(visitor, place.deviceId)).json() as unknown as Ticket;
    on.clock.advance(121_000);
    await assert.rejects(open(visitor, ticket), refused(403));
  });

  test('a terminal requires a user of the merchant with pay.sale, and errors name the reason', async () => {
    const [place, foreign] = [await made.shop(), await made.shop()];
    const idle = await made.shop(false);
    const manager = await signedIn({ merchantId: place.merchantId });
    assert.deepEqual(codeOf(await ticketFor(manager, foreign.deviceId)), [404, 'device_not_found']);
    assert.deepEqual(codeOf(await ticketFor(manager, randomUUID())), [404, 'device_not_found']);
    const asked = await manager.ask(connectionsPath, { method: 'POST' });
    assert.deepEqual(codeOf(asked), [403, 'permission_denied']);
    const owner = await signedIn({ merchantId: idle.merchantId });
    const notActive = (await ticketFor(owner, idle.deviceId)).json();
    assert.deepEqual([notActive['code'], notActive['level']], ['not_enabled', 'Merchant']);
    const supervisor = await signedIn({ merchantId: place.merchantId, group: 'org_supervisor' });
    assert.equal((await ticketFor(supervisor, place.deviceId)).status, 403);
    assert.equal((await supervisor.ask('/portal/terminals')).status, 403);
    const office = await signedIn({});
    assert.equal((await ticketFor(office, place.deviceId)).status, 403);
    const stranger = openVisitor(on, realm.userDomainId);
    assert.equal((await ticketFor(stranger, place.deviceId)).status, 401);
    const script = await manager.browser.visit(connectionsPath, {
      method: 'POST',
      headers: { ...at(place.deviceId), accept: 'application/json' },
    });
    assert.equal(script.status, 401, 'a page that does not say that it is the portal');
  });

  test('a logical device without hardware is not a terminal', async () => {
    const place = await made.shop();
    const visitor = await signedIn({ merchantId: place.merchantId });
    const ticket = (await ticketFor(visitor, place.deviceId)).json() as unknown as Ticket;
    const { provisioning } = on.application;
    const scope = { organizationId: realm.organizationId };
    await provisioning.logicalDevices.linkPhysicalDevices(scope, place.deviceId, []);
    await assert.rejects(open(visitor, ticket), (error) => error instanceof HandshakeRefused);
    const again = await ticketFor(visitor, place.deviceId);
    assert.deepEqual(codeOf(again)[1], 'device_not_active');
  });

  test('a new connection of a terminal replaces the old one', async () => {
    const place = await made.shop();
    const [one, two] = [
      await signedIn({ merchantId: place.merchantId }),
      await signedIn({ merchantId: place.merchantId }),
    ];
    const first = await connect(one, place.deviceId);
    const second = await connect(two, place.deviceId);
    assert.equal((await first.line.closed()).code, 4001);
    const asked = sync(one, place.deviceId, second.ticket.tsn, paymentOf());
    second.line.send(paidOf(await heardBy(second.line)));
    assert.equal((await asked).status, 200);
  });

  test('the point of sale learns at once that the terminal is gone, with unknown outcome', async () => {
    const place = await made.shop();
    const visitor = await signedIn({ merchantId: place.merchantId });
    const { line, ticket } = await connect(visitor, place.deviceId);
    const asked = sync(visitor, place.deviceId, ticket.tsn, paymentOf());
    await heardBy(line);
    line.close(1000);
    const lost = await asked;
    assert.deepEqual(
      [lost.json()['code'], lost.json()['outcome']],
      ['device_disconnected', 'Unknown'],
    );
    const offline = await sync(visitor, place.deviceId, ticket.tsn, paymentOf());
    assert.deepEqual(
      [offline.json()['code'], offline.json()['outcome']],
      ['device_offline', 'NotProcessed'],
    );
  });

  test('two users at two points of sale without names share no terminal', async () => {
    const place = await made.shop();
    const [one, two] = [
      await signedIn({ merchantId: place.merchantId }),
      await signedIn({ merchantId: place.merchantId }),
    ];
    const { line, ticket } = await connect(one, place.deviceId);
    const send = ({ ask }: Visitor, message: Json) =>
      ask(`/retail/v1/devices/${ticket.tsn}/sync`, {
        method: 'POST',
        headers: { 'x-switchyard-till': place.deviceId, 'content-type': 'application/json' },
        body: JSON.stringify(message),
      });
    const asked = send(one, paymentOf());
    const heard = await heardBy(line);
    assert.deepEqual(codeOf(await send(two, paymentOf())), [409, 'device_claimed']);
    line.send(paidOf(heard));
    assert.equal((await asked).status, 200);
  });

  test('the end of a session closes its terminal', async () => {
    const place = await made.shop();
    const visitor = await signedIn({ merchantId: place.merchantId });
    const { line } = await connect(visitor, place.deviceId);
    const out = await visitor.ask('/portal/sign-out', { method: 'POST' });
    assert.equal(out.status, 200, out.text);
    assert.equal((await line.closed()).code, 4401);
  });

  test('the point of sale can only use the terminals of its store', async () => {
    const [place, foreign] = [await made.shop(), await made.shop()];
    const beside = await made.store(place.merchantId);
    const visitor = await signedIn({ merchantId: place.merchantId });
    const theirs = await signedIn({ merchantId: foreign.merchantId });
    const [own, next, strange] = [
      await connect(visitor, place.deviceId),
      await connect(visitor, beside.deviceId),
      await connect(theirs, foreign.deviceId),
    ];
    const told = async (deviceId: string, tsn: string) =>
      (await sync(visitor, deviceId, tsn, requestOf('Diagnosis', {}))).json()['code'];
    assert.equal(await told(place.deviceId, next.ticket.tsn), 'wrong_store');
    assert.equal(await told(place.deviceId, strange.ticket.tsn), 'device_unknown');
    assert.equal(await told(foreign.deviceId, strange.ticket.tsn), 'device_not_found');
    assert.equal(await told(randomUUID(), own.ticket.tsn), 'device_not_found');
    const asTill = { 'x-switchyard-till': place.deviceId };
    const seen = await visitor.ask('/portal/session', { headers: asTill });
    assert.deepEqual(seen.json()['permissions'], ['cc.pos']);
    const users = await visitor.ask(
      `/user-management/v2/user-domains/${realm.userDomainId}/users`,
      { headers: asTill },
    );
    assert.equal(users.status, 403);
    const supervisor = await signedIn({ merchantId: place.merchantId, group: 'org_supervisor' });
    const path = `/retail/v1/devices/${own.ticket.tsn}/status`;
    assert.equal((await supervisor.ask(path, { headers: asTill })).status, 403);
    assert.equal((await visitor.ask(path)).status, 403, 'a person is no till');
    assert.equal((await visitor.ask(path, { headers: asTill })).status, 200);
  });
});

test('a page with a known session connects despite invalid tokens from its IP address', async (t) => {
  const rateLimits = { unauthenticated: { windowSeconds: 3600, limit: 2 } };
  const on = await openPortalTestServer({ roles: 'connector', rateLimits });
  t.after(() => on.close());
  await on.application.start();
  const realm = await on.newRealm();
  const place = await (await shops(on, realm)).shop();
  const visitor = openVisitor(on, realm.userDomainId);
  await visitor.signIn(await createTestUser(realm, { merchantId: place.merchantId }));
  const headers = { authorization: 'Bearer forged' };
  for (const status of [401, 401, 429]) {
    assert.equal((await visitor.ask('/retail/v1/devices/any/status', { headers })).status, status);
  }
  const at = { 'x-switchyard-device': place.deviceId };
  const seen = await visitor.ask(connectionsPath, { method: 'POST', headers: at });
  assert.equal(seen.status, 201, seen.text);
  const ticket = seen.json() as unknown as Ticket;
  const statusWith = async (session: string) => {
    const cookie = `__Host-switchyard-session=${session}`;
    const socket = new WebSocket(ticket.connectionUrl, ticket.protocols, {
      rejectUnauthorized: false,
      headers: { cookie, origin: on.settings.baseUrl },
    });
    socket.on('error', () => {});
    const status = await new Promise<number>((resolve) => {
      socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
      socket.once('open', () => resolve(101));
    });
    socket.terminate();
    return status;
  };
  assert.equal(await statusWith('a'.repeat(64)), 429, 'it may be nobody’s');
  assert.equal(await statusWith(visitor.session()?.value ?? ''), 101);
});

describe('outside of the demo', () => {
  let on: PortalTestServer;
  let realm: PortalRealm;
  before(async () => {
    on = await openPortalTestServer({ roles: 'connector', environment: 'test' });
    realm = await on.newRealm();
  });
  after(() => on.close());

  test('no page can be a terminal or a point of sale', async () => {
    const place = await (await shops(on, realm)).shop();
    const visitor = openVisitor(on, realm.userDomainId);
    await visitor.signIn(await createTestUser(realm, { merchantId: place.merchantId }));
    const headers = { 'x-switchyard-device': place.deviceId, 'x-switchyard-till': place.deviceId };
    const asked = await visitor.ask(connectionsPath, { method: 'POST', headers });
    const none = await visitor.ask('/portal/none-of-ours', { method: 'POST', headers });
    assert.deepEqual([asked.status, asked.json()['code']], [405, 'method_not_allowed']);
    assert.deepEqual([none.status, none.json()['code']], [405, 'method_not_allowed']);
    assert.equal((await visitor.ask('/portal/terminals', { headers })).status, 404);
    const session = await visitor.ask('/portal/session', { headers });
    const { permissions } = session.json() as { permissions: string[] };
    assert.ok(permissions.includes('um.write'), 'the headers say nothing');
    assert.equal(permissions.includes('cc.pos'), false);
    const status = await visitor.ask('/retail/v1/devices/any/status', { headers });
    assert.equal(status.status, 403);
    const { value = '' } = visitor.session() ?? {};
    const url = `${on.settings.baseUrl.replace('https', 'wss')}${connectionsPath}/x`;
    const socket = new WebSocket(url, ['switchyard-terminal', 'x'], {
      rejectUnauthorized: false,
      headers: {
        ...asPage,
        cookie: `__Host-switchyard-session=${value}`,
        origin: on.settings.baseUrl,
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
