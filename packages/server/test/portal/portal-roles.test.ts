// Whole run: pages in a browser.
// Every screen in every role in a real browser: a role opens the screens in its navigation without
// refused requests, and no others.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { waitForLink } from '../faults/load-during-faults.ts';
import { assertAccessible } from '../support/browser/accessibility-check.ts';
import { chromiumSkipReason } from '../support/browser/chromium.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  loaded,
  openStage,
  recordBrowserProblems,
  type Stage,
  wide,
} from './portal-in-chromium.ts';

type Role =
  | 'org_admin'
  | 'org_custcare'
  | 'org_dfo'
  | 'org_dev'
  | 'merchant_manager'
  | 'merchant_dev'
  | 'org_supervisor'
  | 'org_operator';

/** The demo user of each role. */
const users: Readonly<Record<Role, string>> = {
  org_admin: 'admin',
  org_custcare: 'care',
  org_dfo: 'fleet',
  org_dev: 'developer',
  merchant_manager: 'manager',
  merchant_dev: 'merchant-developer',
  org_supervisor: 'supervisor',
  org_operator: 'operator',
};

const all = Object.keys(users) as Role[];
const admin: readonly Role[] = ['org_admin'];
const reporting: readonly Role[] = [
  'org_admin',
  'org_custcare',
  'merchant_manager',
  'org_supervisor',
];
const ofPayments: readonly Role[] = ['merchant_manager', 'org_supervisor', 'org_operator'];
const sellers: readonly Role[] = ['merchant_manager', 'org_operator'];
const ofOrganization: readonly Role[] = ['org_admin', 'org_custcare', 'org_dfo'];
const lookers: readonly Role[] = [...ofOrganization, 'merchant_manager', 'org_supervisor'];
const managers: readonly Role[] = ['org_admin', 'merchant_manager'];
const developers: readonly Role[] = ['org_admin', 'org_dev', 'merchant_dev'];
/** The users that approve applications can also see them. */
const ofApplications: readonly Role[] = [...developers, 'merchant_manager'];
const hookReaders = ofApplications;

/**
 * The navigation from top to bottom, with the roles that see each entry. The list is independent of
 * the portal's own table.
 */
const rail: readonly (readonly [address: string, roles: readonly Role[]])[] = [
  ['/', all],
  ['/analytics', reporting],
  ['/payments', reporting],
  ['/qr-payments', [...ofPayments, 'merchant_dev']],
  ['/virtual-terminal', sellers],
  ['/settlements', reporting],
  ['/merchants', lookers],
  ['/stores', lookers],
  ['/devices', lookers],
  ['/points-of-sale', lookers],
  ['/acquirers', ofOrganization],
  ['/imports', managers],
  ['/services', managers],
  ['/exports', managers],
  ['/reconciliations', ['org_admin', 'org_custcare']],
  ['/users', managers],
  ['/sign-ups', admin],
  ['/claim-conflicts', admin],
  ['/configuration', managers],
  ['/health', admin],
  ['/applications', ofApplications],
  ['/webhooks', hookReaders],
  ['/events', hookReaders],
  ['/console', hookReaders],
  ['/test-cards', all],
  ['/logs', hookReaders],
  ['/audit', admin],
];
/** The navigation of the service provider portal, for an administrator of an organisation. */
const providerRail = [
  '/',
  '/own-services',
  '/own-payments',
  '/users',
  '/applications',
  '/webhooks',
  '/events',
  '/console',
  '/test-cards',
  '/logs',
  '/audit',
];
/** Roles that declare services can also open the service provider portal. */
const providerRails: Partial<Record<Role, readonly string[]>> = {
  org_admin: providerRail,
  org_dev: providerRail.filter((address) => address !== '/users' && address !== '/audit'),
};
const screensOf = (role: Role) =>
  rail.filter(([, roles]) => roles.includes(role)).map(([address]) => address);

/** The screens that no other test checks with axe. */
const forAxe = new Set([
  '/stores',
  '/imports',
  '/exports',
  '/reconciliations',
  '/users',
  '/health',
  '/logs',
  '/audit',
]);

type Inner = readonly [address: string, roles: readonly Role[], isForAxe?: 'axe'];

describe('the portal in each role', { skip: chromiumSkipReason }, () => {
  let stage: Stage;
  let inner: readonly Inner[];

  before(async () => {
    stage = await openStage('portal-roles');
    const token = await stage.tokenOf('merchant');
    await waitForLink(stage.client, token);
    inner = await innerScreens(token);
  });
  after(() => stage?.close());

  /** The detail screens behind those of the navigation, with data of the demo merchant. */
  async function innerScreens(token: string): Promise<Inner[]> {
    const { client, facts } = stage;
    const acquirer = await stage.tokenOf('acquirer');
    const first = async (path: string, as = acquirer) => {
      const { body, text } = await client.call('GET', path, { token: as });
      assert.ok(body.items?.length > 0, `${path}: ${text}`);
      return body.items[0];
    };
    const sale = await client.call('POST', '/payment/v1/transactions/process', {
      token,
      body: {
        clientTransactionId: randomUUID(),
        amount: 1_250,
        currency: 'EUR',
        entryMode: 'Keyed',
        instrument: { card: { number: '4111111111111111', expiryMonth: 12, expiryYear: 2030 } },
      },
    });
    assert.equal(sale.status, 200, sale.text);
    const { merchantId } = facts.applications['merchant'] ?? {};
    const base = '/provisioning/v2';
    const { storeId } = await first(`${base}/stores?merchantId=${merchantId}`);
    const logicalDeviceId = (await first(`${base}/logical-devices?storeId=${storeId}`))
      .logicalDeviceId;
    const device = (await first(`${base}/physical-devices?logicalDeviceId=${logicalDeviceId}`))
      .physicalDeviceId;
    const till = (await first(`${base}/points-of-sale`)).pointOfSaleId;
    const link = (await first(`${base}/acquirer-links`)).acquirerLinkId;
    const merchant = `/merchants/${merchantId}`;
    const contract = (await first(`${base}${merchant}/acquirer-contracts`)).contractId;
    const people = `/user-management/v2/user-domains/${facts.userDomainId}/users`;
    const person = (await first(`${people}?entityId=${merchantId}`)).userId;
    const service = (await first(`/configuration/v1/stores/${storeId}/services`)).serviceId;
    const record = (await first('/audit/v1/records')).sequence;
    const application = `/applications/${facts.applications['merchant']?.clientId}`;
    await eventually('the payment is reported', async () => {
      const path = `/reporting/v1/transactions/${sale.body.transactionId}`;
      return (await client.call('GET', path, { token })).status === 200;
    });
    return [
      [`/payments/${sale.body.transactionId}`, [...reporting, 'org_operator', 'merchant_dev']],
      ['/merchants/new', admin],
      [merchant, lookers],
      [`${merchant}?tab=stores`, lookers],
      [`${merchant}?tab=devices`, lookers],
      [`${merchant}?tab=contracts`, lookers],
      [`${merchant}?tab=people`, lookers],
      [`${merchant}?tab=settings`, lookers],
      [`${merchant}/edit`, managers, 'axe'],
      [`${merchant}/contracts/new`, admin, 'axe'],
      [`${merchant}/contracts/${contract}`, lookers],
      [`${merchant}/contracts/${contract}/edit`, admin, 'axe'],
      ['/stores/new', managers, 'axe'],
      [`/stores/${storeId}`, lookers],
      [`/stores/${storeId}/edit`, managers, 'axe'],
      [`/places/new?storeId=${storeId}`, managers, 'axe'],
      [`/places/${logicalDeviceId}`, lookers, 'axe'],
      [`/places/${logicalDeviceId}/edit`, managers, 'axe'],
      ['/devices/new', managers, 'axe'],
      [`/devices/${device}`, lookers],
      [`/devices/${device}/edit`, managers, 'axe'],
      [`/points-of-sale/new?storeId=${storeId}`, managers, 'axe'],
      [`/points-of-sale/${till}`, lookers, 'axe'],
      [`/points-of-sale/${till}/edit`, managers, 'axe'],
      ['/imports/new', managers],
      ['/acquirers/new', admin, 'axe'],
      [`/acquirers/${link}`, ofOrganization],
      [`/acquirers/${link}/edit`, admin, 'axe'],
      [`/services/${service}`, managers],
      ['/service-packages', admin],
      [`/users/${person}`, managers, 'axe'],
      [`/configuration?level=stores&entityId=${storeId}&serviceId=${service}`, managers],
      ['/applications/new', developers],
      [application, ofApplications],
      [`${application}/edit`, developers],
      ['/webhooks/deliveries', hookReaders],
      ['/console/events', hookReaders],
      ['/console/errors', hookReaders],
      [`/audit/${record}`, admin, 'axe'],
    ];
  }

  type Walk = {
    readonly page: Page;
    /** Opens the address by its navigation link. */
    follow(address: string): Promise<void>;
    /** Opens the address by client-side navigation, without a reload of the portal. */
    type(address: string): Promise<void>;
    readonly title: () => Promise<string | null>;
    readonly rail: () => Promise<(string | null)[]>;
    /** The error responses and browser problems so far. */
    readonly faults: readonly string[];
  };

  /** Runs all steps in one tab. */
  async function walk(
    context: BrowserContext,
    entry: string,
    steps: (screen: Walk) => Promise<void>,
  ): Promise<void> {
    const page = await context.newPage();
    const problems = recordBrowserProblems(page);
    const faults: string[] = [];
    const underWay = new Set<unknown>();
    page.on('request', (request) => {
      if (request.resourceType() === 'fetch') underWay.add(request);
    });
    page.on('requestfinished', (request) => underWay.delete(request));
    page.on('requestfailed', (request) => underWay.delete(request));
    page.on('response', (response) => {
      if (response.status() < 400) return;
      faults.push(`${new URL(page.url()).pathname}: ${response.status()} of ${response.url()}`);
    });
    /** Waits for the next screen and all its requests. */
    async function next(go: () => Promise<unknown>): Promise<void> {
      await page.evaluate(`document.querySelector('#content h1').dataset.isOld = ''`);
      await go();
      await page.waitForSelector('#content h1:not([data-is-old])');
      await settled();
    }
    const typed = (address: string) =>
      next(() => page.evaluate(`history.pushState({}, '', '/${entry}${address}')`));
    async function settled(): Promise<void> {
      await eventually('nothing is under way', async () => {
        await loaded(page);
        await page.evaluate(
          'new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))',
        );
        return underWay.size === 0;
      });
    }
    try {
      await page.goto(`/${entry}/`);
      await page.waitForSelector('#content h1');
      await settled();
      await steps({
        page,
        follow: (address) =>
          next(() => page.locator(`.sy-rail nav a[href="/${entry}${address}"]`).click()),
        async type(address) {
          const { pathname } = new URL(address, 'https://none.example');
          // Goes to another screen first, because another tab of the same screen gives no sign that
          // it has loaded.
          if (new URL(page.url()).pathname === `/${entry}${pathname}`) await typed('/none');
          await typed(address);
        },
        title: () => page.locator('#content h1').first().textContent(),
        rail: async () => {
          const links = page.locator('.sy-rail nav a');
          const hrefs = await links.evaluateAll((each) => each.map((a) => a.getAttribute('href')));
          return hrefs.map((href) => (href ?? '').slice(entry.length + 1));
        },
        faults,
      });
      assert.deepEqual(problems, []);
    } finally {
      await page.close();
    }
  }

  const noPermission = 'No permission for this page';

  /** Asserts that the screen opened, and that no request was refused. */
  async function assertOpen({ page, title, faults }: Walk, address: string): Promise<void> {
    const pageTitle = await title();
    assert.notEqual(pageTitle, noPermission, address);
    assert.notEqual(pageTitle, 'Page not found', address);
    assert.deepEqual(faults, [], address);
    const alerts = await page.locator('#content [role="alert"]').allTextContents();
    assert.deepEqual(alerts, [], address);
  }

  async function assertUsable({ page }: Walk, address: string): Promise<void> {
    await assertAccessible(page, address);
    await page.setViewportSize(wide);
  }

  async function assertShut({ title, type, faults }: Walk, address: string): Promise<void> {
    await type(address);
    assert.equal(await title(), noPermission, address);
    assert.deepEqual(faults, [], 'a closed screen sends no requests');
  }

  /** Opens the address as a link in a mail, which loads the whole portal. */
  async function assertShutFromOutside({ page, title }: Walk, role: Role): Promise<void> {
    const [address] = rail.find(([, roles]) => !roles.includes(role)) ?? [];
    await page.goto(`/portal${address}`);
    await page.waitForSelector('#content h1');
    assert.equal(await title(), noPermission, address);
  }

  /** Opens all screens of the role, and checks that all others stay closed. */
  async function walkAs(role: Role): Promise<void> {
    const context = await stage.signedIn(users[role], { isTourOver: true });
    const isAdmin = role === 'org_admin';
    await walk(context, 'portal', async (screen) => {
      const expectedScreens = screensOf(role);
      assert.deepEqual(await screen.rail(), expectedScreens);
      await assertOpen(screen, '/');
      for (const address of expectedScreens.slice(1)) {
        await screen.follow(address);
        await assertOpen(screen, address);
        if (isAdmin && forAxe.has(address)) await assertUsable(screen, address);
      }
      for (const [address, roles, isForAxe] of inner) {
        if (!roles.includes(role)) continue;
        await screen.type(address);
        await assertOpen(screen, address);
        if (isAdmin && isForAxe === 'axe') await assertUsable(screen, address);
      }
      for (const [address, roles] of [...rail, ...inner]) {
        if (!roles.includes(role)) await assertShut(screen, address);
      }
      await assertShutFromOutside(screen, role);
    });
    const asProvider = providerRails[role];
    if (asProvider !== undefined) await walkAsProvider(context, asProvider);
    await context.close();
  }

  test('the administrator of an organisation', () => walkAs('org_admin'));
  test('customer care', () => walkAs('org_custcare'));
  test('the operator of the fleet', () => walkAs('org_dfo'));
  test('a developer', () => walkAs('org_dev'));
  test('the manager of a merchant', () => walkAs('merchant_manager'));
  test('the developer of a merchant', () => walkAs('merchant_dev'));
  test('the supervisor of a merchant', () => walkAs('org_supervisor'));
  test('the operator of a merchant', () => walkAs('org_operator'));

  /** Opens the screens of the service provider portal. */
  async function walkAsProvider(
    context: BrowserContext,
    expectedScreens: readonly string[],
  ): Promise<void> {
    await walk(context, 'provider-portal', async (screen) => {
      assert.deepEqual(await screen.rail(), expectedScreens);
      await assertOpen(screen, '/');
      for (const address of expectedScreens.slice(1)) {
        await screen.follow(address);
        await assertOpen(screen, address);
      }
      for (const address of providerRail.filter((each) => !expectedScreens.includes(each))) {
        await assertShut(screen, address);
      }
      await screen.type('/payments');
      assert.equal(await screen.title(), 'Page not found', 'it is of the other portal');
    });
  }

  test('the administrator of a service provider', async () => {
    const context = await stage.signedIn('provider', { isTourOver: true });
    await walkAsProvider(context, providerRail);
    await context.close();
  });

  test('an open page closes and its link disappears when the permission is removed', async () => {
    const { client, facts } = stage;
    const token = await stage.tokenOf('acquirer');
    const { entityId } = facts.users.find(({ username }) => username === 'other-manager') ?? {};
    const people = `/user-management/v2/user-domains/${facts.userDomainId}/users`;
    const context = await stage.signedIn('other-manager', { isTourOver: true });
    await walk(context, 'portal', async (screen) => {
      await screen.follow('/users');
      const { body } = await client.call('GET', `${people}?entityId=${entityId}`, { token });
      const [user] = body.items;
      const changed = await client.call('PUT', `${people}/${user.userId}`, {
        token,
        body: { ...user, groups: [`${entityId}_org_supervisor`] },
      });
      assert.equal(changed.status, 200, changed.text);
      await screen.page.getByRole('button', { name: 'Refresh' }).click();
      await screen.page.getByRole('heading', { name: noPermission }).waitFor();
      assert.deepEqual(await screen.rail(), screensOf('org_supervisor'));
      assert.ok(
        screen.faults.length > 0 && screen.faults.every((each) => / 403 of .*\/users\b/.test(each)),
      );
    });
    await context.close();
  });
});
