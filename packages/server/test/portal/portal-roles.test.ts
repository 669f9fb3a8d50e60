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
  openPortal,
  recordBrowserProblems,
  type TestPortal,
  wide,
} from './portal-in-chromium.ts';
import { innerScreens, type Role, type RoleScreen, rail, users } from './role-screens.ts';

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

describe('the portal in each role', { skip: chromiumSkipReason }, () => {
  let setup: TestPortal;
  let inner: readonly RoleScreen[];
  /** A closed screen is opened in the browser once; a test of the portal has all roles and screens. */
  const checkedClosed = new Set<string>();

  before(async () => {
    setup = await openPortal('portal-roles');
    const token = await setup.tokenOf('merchant');
    await waitForLink(setup.client, token);
    inner = await addInnerAddresses(token);
  });
  after(() => setup?.close());

  /** The detail screens with data of the demo merchant. */
  async function addInnerAddresses(token: string): Promise<RoleScreen[]> {
    const { client, facts } = setup;
    const acquirer = await setup.tokenOf('acquirer');
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
    const { merchantId, clientId } = facts.applications['merchant'] ?? {};
    const base = '/provisioning/v2';
    const { storeId } = await first(`${base}/stores?merchantId=${merchantId}`);
    const { logicalDeviceId } = await first(`${base}/logical-devices?storeId=${storeId}`);
    const hardware = `${base}/physical-devices?logicalDeviceId=${logicalDeviceId}`;
    const people = `/user-management/v2/user-domains/${facts.userDomainId}/users`;
    const services = `/configuration/v1/stores/${storeId}/services`;
    const { transactionId } = sale.body;
    const identifiers: Record<string, unknown> = {
      transactionId,
      merchantId,
      clientId,
      storeId,
      logicalDeviceId,
      physicalDeviceId: (await first(hardware)).physicalDeviceId,
      pointOfSaleId: (await first(`${base}/points-of-sale`)).pointOfSaleId,
      acquirerLinkId: (await first(`${base}/acquirer-links`)).acquirerLinkId,
      contractId: (await first(`${base}/merchants/${merchantId}/acquirer-contracts`)).contractId,
      userId: (await first(`${people}?entityId=${merchantId}`)).userId,
      serviceId: (await first(services)).serviceId,
      sequence: (await first('/audit/v1/records')).sequence,
    };
    await eventually('the payment is reported', async () => {
      const path = `/reporting/v1/transactions/${transactionId}`;
      return (await client.call('GET', path, { token })).status === 200;
    });
    return innerScreens.map(([path, ...more]) => {
      const address = path.replaceAll(/\$(\w+)/g, (_, name: string) => String(identifiers[name]));
      return [address, ...more];
    });
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

  /** Opens all screens of the role, and checks that the others are closed. */
  async function walkAs(role: Role): Promise<void> {
    const context = await setup.signedIn(users[role], { isTourOver: true });
    await walk(context, 'portal', async (screen) => {
      const expectedScreens = screensOf(role);
      assert.deepEqual(await screen.rail(), expectedScreens);
      await assertOpen(screen, '/');
      for (const [address, roles, isForAxe] of [...rail.slice(1), ...inner]) {
        if (roles.includes(role)) {
          if (expectedScreens.includes(address)) await screen.follow(address);
          else await screen.type(address);
          await assertOpen(screen, address);
          if (role === 'org_admin' && isForAxe === 'axe') await assertUsable(screen, address);
        } else if (!checkedClosed.has(address)) {
          await assertShut(screen, address);
          checkedClosed.add(address);
        }
      }
      await assertShutFromOutside(screen, role);
    });
    const asProvider = providerRails[role];
    if (asProvider !== undefined) await walkAsProvider(context, asProvider);
    await context.close();
  }

  // Spec: RIGHT-1 RIGHT-2 RIGHT-3 RIGHT-5 RIGHT-9 RIGHT-10 RIGHT-11 RIGHT-12 RIGHT-13 RIGHT-14 RIGHT-15 RIGHT-16 RIGHT-18
  test('the administrator of an organisation', () => walkAs('org_admin'));
  // Spec: RIGHT-1 RIGHT-2 RIGHT-18
  test('customer care', () => walkAs('org_custcare'));
  // Spec: RIGHT-2 RIGHT-4 RIGHT-18
  test('the operator of the fleet', () => walkAs('org_dfo'));
  // Spec: RIGHT-11 RIGHT-14 RIGHT-18
  test('a developer', () => walkAs('org_dev'));
  // Spec: RIGHT-1 RIGHT-2 RIGHT-3 RIGHT-5 RIGHT-7 RIGHT-8 RIGHT-9 RIGHT-12 RIGHT-18
  test('the manager of a merchant', () => walkAs('merchant_manager'));
  test('the developer of a merchant', () => walkAs('merchant_dev'));
  // Spec: RIGHT-1 RIGHT-2 RIGHT-7 RIGHT-18
  test('the supervisor of a merchant', () => walkAs('org_supervisor'));
  // Spec: RIGHT-8 RIGHT-17 RIGHT-18
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

  // Spec: RIGHT-14
  test('the administrator of a service provider', async () => {
    const context = await setup.signedIn('provider', { isTourOver: true });
    await walkAsProvider(context, providerRail);
    await context.close();
  });

  // Spec: RIGHT-9
  test('an open page closes and its link disappears when the permission is removed', async () => {
    const { client, facts } = setup;
    const token = await setup.tokenOf('acquirer');
    const { entityId } = facts.users.find(({ username }) => username === 'other-manager') ?? {};
    const people = `/user-management/v2/user-domains/${facts.userDomainId}/users`;
    const context = await setup.signedIn('other-manager', { isTourOver: true });
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
