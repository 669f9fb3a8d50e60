// Whole run: much is made, or waited for, before it shows.
// A simulated terminal that a demo page controls: access control, one page at a time, its connection to
// the Cloud Connector, and only in the demo environment.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { PortalTerminalAction, PortalTerminalView } from '@switchyard/contract';
import { startTerminal } from '@switchyard/simulators';
import { scopeAuthoredByPlatform } from '../../src/catalog/index.ts';
import { demoKeys } from '../../src/vault/index.ts';
import type { Json } from '../connector/test-connector.ts';
import { paymentOf, requestOf } from '../connector/test-retail-api.ts';
import type { BrowserResponse } from '../support/browser/cookie-browser.ts';
import { type EventStream, openEventStream } from '../support/event-stream-client.ts';
import { createTestUser, type TestUserOptions } from '../support/identity/test-users.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { asPage, openVisitor, type Visitor } from './portal-client.ts';
import {
  openPortalTestServer,
  type PortalRealm,
  type PortalTestServer,
} from './portal-test-platform.ts';

const terminalsPath = '/portal/terminals';
const endLimitMs = 40_000;
const declaration = { name: 'Cloud Connector', description: 'It.', domain: 'Retail API' };
let serials = 81_000_000;

type TestStore = {
  readonly merchantId: string;
  readonly storeId: string;
  readonly deviceId: string;
};
/** Creates merchants with a terminal each, where the connector is active. */
async function openStores(portal: PortalTestServer, realm: PortalRealm) {
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
  // A merchant that is created later needs its own activation.
  portal.clock.advance(1000);

  async function createStore(merchantId: string): Promise<TestStore> {
    serials += 1;
    const made = await provisioning.stores.create(scope, { merchantId, name: `S${serials}` });
    const { storeId } = made.view;
    const logicalDevice = await provisioning.logicalDevices.create(scope, {
      storeId,
      name: 'Till',
    });
    const { logicalDeviceId: deviceId } = logicalDevice.view;
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
    createStore,
    /** The connector is active at the merchant by default. */
    async createMerchantWithStore(isActive = true): Promise<TestStore> {
      const made = await provisioning.merchants.create(scope, {
        name: 'Shop',
        country: 'FR',
        mcc: '5814',
        timeZone: 'Europe/Paris',
      });
      const { merchantId } = made.view;
      if (isActive) await activate('Merchant', merchantId);
      return createStore(merchantId);
    },
  };
}

/** A page that follows the terminal of a device. */
type Page = { readonly pageId: string; readonly stream: EventStream };

const viewOf = ({ stream }: Page) => stream.events.at(-1)?.data as PortalTerminalView | undefined;

const connects = (page: Page, connection: PortalTerminalView['connection']) =>
  eventually(`the connection is ${connection}`, () => viewOf(page)?.connection === connection);
const asksFor = (page: Page, type: string) =>
  eventually(`the terminal asks for ${type}`, () => viewOf(page)?.screen?.prompt?.type === type);

describe('a simulated terminal of a page', () => {
  let portal: PortalTestServer;
  let realm: PortalRealm;
  let made: Awaited<ReturnType<typeof openStores>>;
  const streams = new Set<EventStream>();

  before(async () => {
    portal = await openPortalTestServer({ roles: 'connector' });
    await portal.application.start();
    realm = await portal.newRealm();
    made = await openStores(portal, realm);
  });
  after(async () => {
    for (const stream of streams) stream.destroy();
    await portal.close();
  });

  async function signedIn(facts: TestUserOptions): Promise<Visitor> {
    const visitor = openVisitor(portal, realm.userDomainId);
    await visitor.signIn(await createTestUser(realm, facts));
    return visitor;
  }

  const at = (deviceId: string) => ({ 'x-switchyard-device': deviceId });
  const eventsPath = (pageId: string = randomUUID()) => `${terminalsPath}/events?page=${pageId}`;
  const rejectionOf = (
    visitor: Visitor,
    headers: Readonly<Record<string, string>>,
  ): Promise<BrowserResponse> => visitor.ask(eventsPath(), { headers });
  const codeOf = (response: BrowserResponse) => [response.status, response.json()['code']];

  async function follow(visitor: Visitor, deviceId: string): Promise<Page> {
    const { value = '' } = visitor.session() ?? {};
    const pageId = randomUUID();
    const stream = await openEventStream(`${portal.settings.baseUrl}${eventsPath(pageId)}`, {
      ca: portal.ca,
      headers: { ...asPage, ...at(deviceId), cookie: `__Host-switchyard-session=${value}` },
    });
    assert.equal(stream.status, 200);
    streams.add(stream);
    return { pageId, stream };
  }

  const act = (
    visitor: Visitor,
    deviceId: string,
    { pageId }: Pick<Page, 'pageId'>,
    action: PortalTerminalAction,
  ) =>
    visitor.ask(`${terminalsPath}/actions?page=${pageId}`, {
      method: 'POST',
      headers: { ...at(deviceId), 'content-type': 'application/json' },
      body: JSON.stringify(action),
    });

  const sync = ({ ask }: Visitor, deviceId: string, tsn: string, body: Json) =>
    ask(`/retail/v1/devices/${tsn}/sync?posId=page-1`, {
      method: 'POST',
      headers: { 'x-switchyard-till': deviceId, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  /** A user of a new merchant whose page shows the connected terminal. */
  async function openTerminal() {
    const store = await made.createMerchantWithStore();
    const visitor = await signedIn({ merchantId: store.merchantId, group: 'org_operator' });
    const page = await follow(visitor, store.deviceId);
    await connects(page, 'Online');
    return { store, visitor, page, tsn: viewOf(page)?.tsn ?? '' };
  }

  test('a page lists its logical devices, and its terminal takes a payment of its point of sale', async () => {
    const { store, visitor, page, tsn } = await openTerminal();
    const listed = await visitor.ask(terminalsPath);
    assert.equal(listed.status, 200, listed.text);
    assert.deepEqual(listed.json()['items'], [
      { deviceId: store.deviceId, storeId: store.storeId, name: 'Till' },
    ]);
    assert.equal(viewOf(page)?.cards.length, 5);
    const pendingResponse = sync(visitor, store.deviceId, tsn, paymentOf({ POIID: tsn }));
    await asksFor(page, 'Card');
    const presented = await act(visitor, store.deviceId, page, {
      type: 'Card',
      name: 'visa',
      entry: 'Chip',
    });
    assert.equal(presented.status, 204, presented.text);
    await asksFor(page, 'Pin');
    assert.equal((await act(visitor, store.deviceId, page, { type: 'Cancel' })).status, 204);
    assert.match((await pendingResponse).text, /"ErrorCondition":"Cancel"/);
  });

  // Spec: NEXO-30
  test('a terminal requires a portal page of a user of the merchant with pay.sale', async () => {
    const [store, foreign] = [
      await made.createMerchantWithStore(),
      await made.createMerchantWithStore(),
    ];
    const manager = await signedIn({ merchantId: store.merchantId });
    const atDevice = at(store.deviceId);
    for (const deviceId of [foreign.deviceId, randomUUID()]) {
      const response = await rejectionOf(manager, at(deviceId));
      assert.deepEqual(codeOf(response), [404, 'device_not_found']);
    }
    assert.deepEqual(codeOf(await rejectionOf(manager, {})), [403, 'permission_denied']);
    const supervisor = await signedIn({ merchantId: store.merchantId, group: 'org_supervisor' });
    assert.equal((await rejectionOf(supervisor, atDevice)).status, 403);
    assert.equal((await supervisor.ask(terminalsPath)).status, 403);
    const office = await signedIn({});
    assert.equal((await rejectionOf(office, atDevice)).status, 403);
    assert.equal((await office.ask(terminalsPath)).status, 403);
    const signedOutVisitor = openVisitor(portal, realm.userDomainId);
    assert.equal((await rejectionOf(signedOutVisitor, atDevice)).status, 401);
    const otherPages: Record<string, string>[] = [
      { 'x-switchyard-portal': '' },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of otherPages) {
      const response = await rejectionOf(manager, { ...atDevice, ...headers });
      assert.equal(response.status, 401, JSON.stringify(headers));
    }
  });

  test('the page shows why the connector rejects the terminal', async () => {
    const idle = await made.createMerchantWithStore(false);
    const owner = await signedIn({ merchantId: idle.merchantId });
    const page = await follow(owner, idle.deviceId);
    await connects(page, 'Refused');
    assert.equal(viewOf(page)?.errorCode, 'not_enabled');
  });

  test('a logical device without hardware is not a terminal', async () => {
    const store = await made.createMerchantWithStore();
    const visitor = await signedIn({ merchantId: store.merchantId });
    const { provisioning } = portal.application;
    const scope = { organizationId: realm.organizationId };
    await provisioning.logicalDevices.linkPhysicalDevices(scope, store.deviceId, []);
    const response = await rejectionOf(visitor, at(store.deviceId));
    assert.equal(codeOf(response)[1], 'device_not_active');
  });

  // Spec: NEXO-30
  test('one page controls a terminal, until another page takes it over', async () => {
    const { store, visitor, page: first } = await openTerminal();
    const other = await signedIn({ merchantId: store.merchantId });
    const second = await follow(other, store.deviceId);
    await connects(second, 'ControlledByOtherPage');
    assert.equal(viewOf(second)?.screen, undefined);
    const ignored = await act(other, store.deviceId, second, { type: 'Disconnect' });
    assert.deepEqual(codeOf(ignored), [409, 'terminal_not_controlled']);
    const strange = await act(
      other,
      store.deviceId,
      { pageId: randomUUID() },
      { type: 'TakeOver' },
    );
    assert.deepEqual(codeOf(strange), [409, 'terminal_not_controlled']);
    assert.equal((await act(other, store.deviceId, second, { type: 'TakeOver' })).status, 204);
    await connects(second, 'Online');
    await connects(first, 'ControlledByOtherPage');
    assert.equal((await act(visitor, store.deviceId, first, { type: 'Cancel' })).status, 409);
    second.stream.destroy();
    await connects(first, 'Online');
  });

  test('another terminal with the same identity replaces it until the page connects it again', async () => {
    const { store, visitor, page, tsn } = await openTerminal();
    const { dataDir, baseUrl, deviceAuthUrl } = portal.settings;
    const read = (name: string) => readFile(join(dataDir, 'devices', name), 'utf8');
    const states: string[] = [];
    const other = await startTerminal({
      tsn,
      baseUrl,
      deviceAuthUrl,
      dataDir: join(dataDir, 'other-terminal'),
      keys: demoKeys(dataDir).deviceKey(tsn, 'DukptTdes'),
      cert: await read(`${tsn}.pem`),
      key: await read(`${tsn}-key.pem`),
      ca: portal.ca,
      now: Date.now,
      onCloud: (state) => void states.push(state),
    });
    await connects(page, 'IdentityInUse');
    assert.equal((await act(visitor, store.deviceId, page, { type: 'Connect' })).status, 204);
    await connects(page, 'Online');
    await eventually('the other terminal stops', () => states.at(-1) === 'Superseded');
    await other.stop();
  });

  test('the point of sale learns at once that the terminal is gone, with unknown outcome', async () => {
    const { store, visitor, page, tsn } = await openTerminal();
    const pendingResponse = sync(visitor, store.deviceId, tsn, paymentOf({ POIID: tsn }));
    await asksFor(page, 'Card');
    assert.equal((await act(visitor, store.deviceId, page, { type: 'Disconnect' })).status, 204);
    const lost = await pendingResponse;
    assert.deepEqual(
      [lost.json()['code'], lost.json()['outcome']],
      ['device_disconnected', 'Unknown'],
    );
    await connects(page, 'Disconnected');
    const offline = await sync(visitor, store.deviceId, tsn, paymentOf({ POIID: tsn }));
    assert.deepEqual(
      [offline.json()['code'], offline.json()['outcome']],
      ['device_offline', 'NotProcessed'],
    );
  });

  test('two users at two points of sale without names share no terminal', async () => {
    const { store, visitor, page, tsn } = await openTerminal();
    const other = await signedIn({ merchantId: store.merchantId });
    const send = ({ ask }: Visitor, message: Json) =>
      ask(`/retail/v1/devices/${tsn}/sync`, {
        method: 'POST',
        headers: { 'x-switchyard-till': store.deviceId, 'content-type': 'application/json' },
        body: JSON.stringify(message),
      });
    const pendingResponse = send(visitor, paymentOf({ POIID: tsn }));
    await asksFor(page, 'Card');
    assert.deepEqual(codeOf(await send(other, paymentOf({ POIID: tsn }))), [409, 'device_claimed']);
    await act(visitor, store.deviceId, page, { type: 'Cancel' });
    assert.equal((await pendingResponse).status, 200);
  });

  // Spec: NEXO-30
  test('the end of a session ends the stream, and the terminal without a page disconnects', async () => {
    const { store, visitor, page, tsn } = await openTerminal();
    const other = await signedIn({ merchantId: store.merchantId });
    const out = await visitor.ask('/portal/sign-out', { method: 'POST' });
    assert.equal(out.status, 200, out.text);
    assert.equal((await act(visitor, store.deviceId, page, { type: 'Cancel' })).status, 401);
    await page.stream.waitForEnd();
    const asTill = { 'x-switchyard-till': store.deviceId };
    await eventually(
      'the terminal is offline',
      async () =>
        (await other.ask(`/retail/v1/devices/${tsn}/status`, { headers: asTill })).json()[
          'online'
        ] === false,
      endLimitMs,
    );
  });

  test('the point of sale can only use the terminals of its store', async () => {
    const [store, foreign] = [
      await made.createMerchantWithStore(),
      await made.createMerchantWithStore(),
    ];
    const beside = await made.createStore(store.merchantId);
    const visitor = await signedIn({ merchantId: store.merchantId });
    const otherVisitor = await signedIn({ merchantId: foreign.merchantId });
    const [own, next, strange] = [
      await follow(visitor, store.deviceId),
      await follow(visitor, beside.deviceId),
      await follow(otherVisitor, foreign.deviceId),
    ];
    for (const page of [own, next, strange]) await connects(page, 'Online');
    const tsnOf = (page: Page) => viewOf(page)?.tsn ?? '';
    const errorCodeOf = async (deviceId: string, tsn: string) =>
      (await sync(visitor, deviceId, tsn, requestOf('Diagnosis', {}))).json()['code'];
    assert.equal(await errorCodeOf(store.deviceId, tsnOf(next)), 'wrong_store');
    assert.equal(await errorCodeOf(store.deviceId, tsnOf(strange)), 'device_unknown');
    assert.equal(await errorCodeOf(foreign.deviceId, tsnOf(strange)), 'device_not_found');
    assert.equal(await errorCodeOf(randomUUID(), tsnOf(own)), 'device_not_found');
    const asTill = { 'x-switchyard-till': store.deviceId };
    const response = await visitor.ask('/portal/session', { headers: asTill });
    assert.deepEqual(response.json()['permissions'], ['cc.pos']);
    const users = await visitor.ask(
      `/user-management/v2/user-domains/${realm.userDomainId}/users`,
      { headers: asTill },
    );
    assert.equal(users.status, 403);
    const supervisor = await signedIn({ merchantId: store.merchantId, group: 'org_supervisor' });
    const path = `/retail/v1/devices/${tsnOf(own)}/status`;
    assert.equal((await supervisor.ask(path, { headers: asTill })).status, 403);
    assert.equal((await visitor.ask(path)).status, 403, 'a person is no till');
    assert.equal((await visitor.ask(path, { headers: asTill })).status, 200);
  });
});

describe('outside of the demo', () => {
  let portal: PortalTestServer;
  let realm: PortalRealm;
  before(async () => {
    portal = await openPortalTestServer({ roles: 'connector', environment: 'test' });
    realm = await portal.newRealm();
  });
  after(() => portal.close());

  // Spec: NEXO-30
  test('no page can be a terminal or a point of sale', async () => {
    const store = await (await openStores(portal, realm)).createMerchantWithStore();
    const visitor = openVisitor(portal, realm.userDomainId);
    await visitor.signIn(await createTestUser(realm, { merchantId: store.merchantId }));
    const headers = { 'x-switchyard-device': store.deviceId, 'x-switchyard-till': store.deviceId };
    const actions = await visitor.ask('/portal/terminals/actions', { method: 'POST', headers });
    assert.deepEqual([actions.status, actions.json()['code']], [405, 'method_not_allowed']);
    assert.equal((await visitor.ask('/portal/terminals/events', { headers })).status, 404);
    assert.equal((await visitor.ask('/portal/terminals', { headers })).status, 404);
    const session = await visitor.ask('/portal/session', { headers });
    const { permissions } = session.json() as { permissions: string[] };
    assert.ok(permissions.includes('um.write'), 'the headers say nothing');
    assert.equal(permissions.includes('cc.pos'), false);
    const status = await visitor.ask('/retail/v1/devices/any/status', { headers });
    assert.equal(status.status, 403);
  });
});
