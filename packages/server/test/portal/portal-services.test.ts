// Whole run: pages in a browser.
// Services in a real browser on the platform as users start it: a provider declares one, an
// acquirer uses it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { assertAccessible } from '../support/browser/accessibility-check.ts';
import { chromiumSkipReason } from '../support/browser/chromium.ts';
import { otpCodeAt } from '../support/identity/test-users.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  assertFits,
  hostileName,
  openPortal,
  type PortalDemoFacts,
  type TestPortal,
  wide,
} from './portal-in-chromium.ts';

const waitLimitMs = 90_000;
const catalogue = '/service-catalog/v1';

describe('the services of the portals', { skip: chromiumSkipReason }, () => {
  let setup: TestPortal;
  let visitScreen: TestPortal['visitScreen'];
  let provider: BrowserContext;
  let acquirer: BrowserContext;
  let facts: PortalDemoFacts;

  before(async () => {
    setup = await openPortal('portal-services');
    ({ facts, visitScreen } = setup);
    acquirer = await setup.signedIn('admin', { isTourOver: true });
    provider = await setup.signedIn('provider', { isTourOver: true });
  });
  after(() => setup?.close());

  /** Sends a request as a script of the page does. */
  const fetchJson = (page: Page, path: string) =>
    page.evaluate(
      `fetch('${path}', { headers: { 'x-switchyard-portal': '1' } }).then((answer) => answer.json())`,
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
    ) as Promise<any>;

  const ownId = (name: string): string =>
    facts.serviceProvider.services.find((each) => each.name === name)?.serviceId ?? '';

  // Spec: SVC-37
  test('a user of a provider is redirected to the provider portal', async () => {
    await visitScreen(provider, '/portal/', async (page) => {
      await page.waitForURL('**/provider-portal/');
      await page.getByText(facts.serviceProvider.name).first().waitFor();
      const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
      const names = await links.allTextContents();
      assert.ok(names.includes('Your services') && !names.includes('Analytics'), names.join());
    });
    await visitScreen(provider, '/portal/services', async (page) => {
      await page.getByText('Go to the portal for service providers').waitFor();
    });
  });

  test('a step of the home screen links to its screen only if the user may open it', async () => {
    const linkOf = (page: Page, name: string) => page.getByRole('main').getByRole('link', { name });
    await visitScreen(acquirer, '/portal/', async (page) => {
      const merchant = linkOf(page, 'A merchant');
      await merchant.waitFor();
      assert.equal(await merchant.getAttribute('href'), '/portal/merchants');
      await page.getByText('The first payment', { exact: true }).waitFor();
      assert.equal(await linkOf(page, 'The first payment').count(), 0, 'it needs pay.sale');
    });
  });

  test('every screen is accessible, wide and narrow, light and dark', async () => {
    const paths = {
      provider: [
        '/',
        '/own-services',
        '/own-services/new',
        '/own-payments',
        `/own-services/${ownId('Lumen QR')}`,
        `/own-services/${ownId('Lumen QR')}?tab=uses`,
        `/own-services/${ownId('Lumen QR')}?tab=health`,
        `/own-services/${ownId('Lumen QR')}?tab=keys`,
        `/own-services/${ownId('Lumen Points')}/edit`,
        '/own-services/none-of-ours',
      ],
      acquirer: [
        '/services',
        '/services?standing=Retired',
        '/service-packages',
        '/sign-ups',
        '/claim-conflicts',
        `/services/${ownId('Lumen QR')}`,
        `/services/${ownId('Lumen Points')}`,
        '/services/none-of-ours',
      ],
    };
    for (const path of paths.provider) await setup.usable(provider, `/provider-portal${path}`);
    for (const path of paths.acquirer) await setup.usable(acquirer, `/portal${path}`);
  });

  // Spec: RIGHT-14
  test('repeated clicks declare a service once, and its secret is shown once', async () => {
    await visitScreen(provider, '/provider-portal/own-services/new', async (page) => {
      await page.getByLabel('Name').fill('Receipts by mail');
      await page.getByLabel('Category').fill('Receipts');
      await page.getByLabel('URL of your server').fill('https://10.0.0.1/spi');
      const save = page.getByRole('button', { name: 'Save the draft' });
      await save.click();
      const address = page.getByLabel('URL of your server');
      await page.locator('.mantine-TextInput-error').first().waitFor();
      assert.equal(await address.getAttribute('aria-invalid'), 'true', 'in the platform’s words');
      await address.fill('');
      await page.getByRole('button', { name: 'Use an example: Activation' }).click();
      await page.getByLabel('Your account with us').waitFor();
      await save.dblclick();
      const secret = page.getByRole('dialog', { name: 'Your signing keys' });
      await secret.getByText(/^whsec_/).waitFor();
      await secret.getByText(/^whpk_/).waitFor();
      await secret.getByRole('button', { name: 'I have stored it' }).click();
      await page.getByRole('heading', { name: 'Receipts by mail' }).waitFor();
      assert.equal(await page.getByText(/whsec_/).count(), 0);
      const { organizationId } = facts.serviceProvider;
      const path = `${catalogue}/services?providerId=${organizationId}&status=Draft`;
      const { items } = await fetchJson(page, path);
      const made = items.filter(({ name }: { name: string }) => name === 'Receipts by mail');
      assert.equal(made.length, 1);
    });
  });

  // Spec: RIGHT-14
  test('a draft is published, changed and retired; others see the published version', async () => {
    let address = '';
    await visitScreen(provider, '/provider-portal/own-services', async (page) => {
      await page.getByRole('link', { name: 'Lumen Later' }).click();
      await page.getByRole('button', { name: 'Publish' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).dblclick();
      await page.getByText('Release 1', { exact: true }).waitFor();
      address = new URL(page.url()).pathname;
      await page.getByRole('link', { name: 'Edit' }).click();
      await page.getByLabel('Description').fill('In three parts, without interest.');
      await page.getByRole('button', { name: 'Save the draft' }).click();
      await page.getByText('Unpublished changes').waitFor();
    });
    const serviceId = address.split('/').at(-1);
    await visitScreen(acquirer, `/portal/services/${serviceId}`, async (page) => {
      await page.getByText('Payment in three instalments').waitFor();
    });
    await visitScreen(provider, address, async (page) => {
      await page.getByRole('button', { name: 'Publish' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
      await page.getByText('Release 2', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: 'Retire' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Retire' }).click();
      await page.getByText('Retired', { exact: true }).first().waitFor();
      assert.equal(await page.getByRole('link', { name: 'Edit' }).count(), 0);
    });
    await visitScreen(acquirer, '/portal/services?standing=Retired', async (page) => {
      await page.getByRole('link', { name: 'Lumen Later' }).waitFor();
    });
  });

  // Spec: RIGHT-13
  test('an acquirer subscribes, activates with parameters, and deactivates for one merchant', async () => {
    const path = `/portal/services/${ownId('Lumen Points')}`;
    await visitScreen(acquirer, '/portal/services', async (page) => {
      await page.getByRole('searchbox').fill('points');
      await page.waitForURL((url) => url.searchParams.get('text') === 'points');
      await page.getByRole('link', { name: 'Lumen Points' }).click();
      await page.getByRole('button', { name: 'Subscribe' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Subscribe' }).dblclick();
      await page.getByText('Subscribed', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Activate at this level', exact: true }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Activate', exact: true }).click();
      await dialog.getByRole('alert').waitFor();
      await dialog.getByLabel('Name of the programme').fill('Morning coffee');
      await dialog.getByLabel('Key of your account with Lumen').fill('never-shown-again');
      await dialog.getByRole('button', { name: 'Activate', exact: true }).click();
      await page.getByText('Active', { exact: true }).first().waitFor();
      await page.getByText('Secret, never displayed').waitFor();
      assert.equal(await page.getByText('never-shown-again').count(), 0);
      const deactivateButton = page.getByRole('button', { name: 'Deactivate for Harbour & Pine' });
      await deactivateButton.click();
      await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).dblclick();
      await page
        .getByRole('button', { name: 'Activate for Harbour & Pine', exact: true })
        .waitFor();
    });
    await visitScreen(acquirer, path, async (page) => {
      await page.getByRole('link', { name: 'Harbour & Pine' }).click();
      await page.waitForURL((url) => url.searchParams.has('merchantId'));
      await page.getByText('Active, but a higher level is inactive').first().waitFor();
      await page.getByRole('link', { name: 'Herengracht' }).click();
      await page.waitForURL((url) => url.searchParams.has('storeId'));
      await page.getByRole('button', { name: 'Deactivate for Till 1' }).waitFor();
      await page.reload();
      await page.getByRole('button', { name: 'Deactivate for Till 1' }).waitFor();
    });
  });

  // Spec: RIGHT-13
  test('a subscription in use cannot be ended, and the platform error is shown', async () => {
    await visitScreen(acquirer, '/portal/service-packages', async (page) => {
      const lumen = page.getByRole('region', { name: 'Lumen', exact: true });
      await lumen.getByRole('button', { name: 'Actions' }).click();
      await page.getByRole('menuitem', { name: 'End subscription' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'End subscription' }).click();
      await dialog.getByText(/has_dependants/).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'New package' }).click();
      await dialog.getByLabel('Name').fill('Both of them');
      await dialog.getByLabel('Services').click();
      await page.getByRole('option', { name: 'Lumen QR' }).click();
      await page.keyboard.press('Tab');
      await dialog.getByRole('button', { name: 'Save' }).dblclick();
      await page.getByRole('region', { name: 'Both of them' }).waitFor();
      assert.equal(await page.getByRole('region', { name: 'Both of them' }).count(), 1);
    });
  });

  // Spec: RIGHT-14
  test('the provider sees the customers and the health of its server', async () => {
    await visitScreen(
      provider,
      `/provider-portal/own-services/${ownId('Lumen QR')}`,
      async (page) => {
        await page.getByRole('tab', { name: 'In use by' }).click();
        await page.getByText('Northgate Acquiring').waitFor();
        await page.waitForURL((url) => url.searchParams.get('tab') === 'uses');
      },
    );
    // The reference provider gets this activation request and accepts it.
    await visitScreen(acquirer, `/portal/services/${ownId('Lumen QR')}`, async (page) => {
      await page.getByRole('button', { name: 'Deactivate for Café Lumière' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
      await page.getByRole('button', { name: 'Activate for Café Lumière', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Activate', exact: true }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    });
    await visitScreen(
      provider,
      `/provider-portal/own-services/${ownId('Lumen QR')}?tab=health`,
      async (page) => {
        await eventually('its calls are counted', async () => {
          const { calls } = await fetchJson(
            page,
            `${catalogue}/services/${ownId('Lumen QR')}/calls`,
          );
          return calls.some(({ call }: { call: string }) => call === 'activation');
        });
        await page.reload();
        await page.getByRole('row', { name: /^Activation/ }).waitFor();
        await page.getByText('Available', { exact: true }).first().waitFor();
      },
    );
  });

  // Spec: RIGHT-14
  test('the provider sees a QR payment that its own server reported', async () => {
    const cashier = await setup.signedIn('demo', { isTourOver: true });
    await visitScreen(cashier, '/portal/', async (page) => {
      const request = {
        paymentType: facts.serviceProvider.paymentType,
        paymentScenario: 'consumerscan',
        clientTransactionId: randomUUID(),
        paymentAmount: { amount: 1250, currency: 'EUR' },
      };
      const headers = {
        'content-type': 'application/json',
        'x-switchyard-portal': '1',
        'x-switchyard-device': facts.devices[0]?.logicalDeviceId,
      };
      const sent = { method: 'POST', headers, body: JSON.stringify(request) };
      const status = await page.evaluate(
        `fetch('/qrcode-payment/v1/transactions', ${JSON.stringify(sent)}).then((answer) => answer.status)`,
      );
      assert.equal(status, 200);
    });
    await cashier.close();
    await visitScreen(provider, '/provider-portal/own-payments', async (page) => {
      await eventually('the server has reported it', async () => {
        const { items } = await fetchJson(page, '/qrcode-payment/v1/provider-transactions');
        return items[0]?.status === 'Completed';
      });
      await page.reload();
      const row = page.getByRole('row').filter({ hasText: 'EUR 12.50' });
      await row.getByText('Completed').waitFor();
      await row.getByText('Lumen QR').waitFor();
    });
  });

  test('a signing secret is rotated once and shown once', async () => {
    await visitScreen(
      provider,
      `/provider-portal/own-services/${ownId('Lumen Points')}?tab=keys`,
      async (page) => {
        await page.getByRole('button', { name: 'Rotate secret' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).dblclick();
        await page
          .getByRole('dialog', { name: 'Your signing keys' })
          .getByText(/^whsec_/)
          .waitFor();
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        assert.equal(await page.getByText(/whsec_/).count(), 0);
      },
    );
  });

  test('a name with HTML code runs no script, and the page layout stays intact', async () => {
    await visitScreen(provider, '/provider-portal/own-services/new', async (page) => {
      await page.getByLabel('Name').fill(hostileName);
      await page.getByLabel('Category').fill('Hostile');
      await page.getByRole('button', { name: 'Save the draft' }).click();
      await page.getByRole('button', { name: 'I have stored it' }).click();
      await page.getByRole('button', { name: 'Publish' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
      await page.getByText('Release 1', { exact: true }).waitFor();
    });
    await visitScreen(acquirer, '/portal/services?domain=Hostile', async (page) => {
      await page.getByText('<img src=x').first().waitFor();
      await assertFits(page, 'services');
      await page.getByRole('link', { name: /<img src=x/ }).click();
      await page.getByRole('heading', { name: /<img src=x/ }).waitFor();
      assert.doesNotMatch(await page.title(), /^owned/);
    });
  });

  test('the tour works by keyboard, ends, and starts again from the menu', async () => {
    await visitScreen(acquirer, '/portal/', async (page) => {
      await page.evaluate(`localStorage.removeItem('switchyard-tour')`);
      await page.reload();
      await page.getByRole('button', { name: 'Start the tour' }).press('Enter');
      const card = page.getByRole('dialog', { name: 'Home page' });
      await card.waitFor();
      await assertAccessible(page, 'the tour');
      await page.setViewportSize(wide);
      await card.focus();
      await page.keyboard.press('ArrowRight');
      await page.waitForURL((url) => url.pathname !== '/portal/');
      const second = page.locator('.sy-tour');
      await second.getByText(/^Step 2 of/).waitFor();
      await eventually('the card has the focus', async () =>
        Boolean(await page.evaluate(`document.activeElement?.classList.contains('sy-tour')`)),
      );
      await page.reload();
      await second.getByText(/^Step 2 of/).waitFor();
      await second.focus();
      await page.keyboard.press('Escape');
      await second.waitFor({ state: 'detached' });
      await page.goto('/portal/');
      await page.waitForSelector('#content h1');
      assert.equal(await page.getByRole('button', { name: 'Start the tour' }).count(), 0);
      await page.locator('.sy-user').click();
      await page.getByRole('menuitem', { name: 'Tour of the demo' }).click();
      await page.getByRole('dialog', { name: 'Home page' }).waitFor();
      await page.getByRole('button', { name: 'End the tour' }).click();
    });
  });

  // Spec: SVC-40 RIGHT-15
  test('a sign-up leads to the portal: form, approval, email, password, one-time code', async () => {
    const signedOutContext = await setup.chromium.newContext({
      baseURL: facts.baseUrl,
      locale: 'de-DE',
    });
    signedOutContext.setDefaultTimeout(waitLimitMs);
    const page = await signedOutContext.newPage();
    await page.goto('/sign-up');
    await page.getByRole('heading', { name: 'Organisation registrieren' }).waitFor();
    await assertAccessible(page, 'the sign-up');
    await page.fill('#organizationName', 'Brightwave Wallets');
    await page.selectOption('#persona', 'ServiceProvider');
    await page.selectOption('#country', 'DE');
    await page.fill('#givenName', 'Berta');
    await page.fill('#familyName', 'Kern');
    await page.fill('#email', 'berta@brightwave.example');
    await page.click('main button.primary');
    await page.getByRole('heading', { name: 'Prüfen Sie Ihre E-Mails' }).waitFor();
    await visitScreen(acquirer, '/portal/sign-ups', async (tab) => {
      await tab.getByRole('button', { name: 'Approve Brightwave Wallets' }).click();
      await tab.getByRole('dialog').getByRole('button', { name: 'Approve' }).dblclick();
      await tab.getByText('Approved. The email is being sent.').waitFor();
    });
    let link: string | undefined;
    await eventually('the mail', async () => {
      link = await linkTo('berta@brightwave.example');
      return link !== undefined;
    });
    await page.goto(link ?? '');
    const password = 'neun Kassen unter einem langen Dach';
    await page.fill('#password', password);
    await page.fill('#repeated', password);
    await page.click('main button.primary');
    const key = ((await page.locator('code.key').textContent()) ?? '').replaceAll(/\s/g, '');
    await page.fill('#code', otpCodeAt(key, Date.now()));
    await page.click('main button.primary');
    await page.check('#saved');
    await page.click('main button.primary');
    await page.getByRole('link', { name: 'Zum Portal' }).click();
    await page.waitForSelector('#username');
    assert.match(
      page.url(),
      /\/auth\/realms\/brightwave-wallets\//,
      'the portal does not ask for the domain',
    );
    await signedOutContext.close();
  });

  /** The link in the newest mail to an address. */
  async function linkTo(address: string): Promise<string | undefined> {
    const names = (await readdir(facts.mailDir)).filter((name) => name.endsWith('.eml')).sort();
    for (const name of names.reverse()) {
      const mail = await readFile(join(facts.mailDir, name), 'utf8');
      if (!mail.includes(address)) continue;
      const plain = mail.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=');
      const [link] = /https:\/\/[^\s"<>]+\/links\/[\w-]+/.exec(plain) ?? [];
      if (link !== undefined) return link;
    }
    return undefined;
  }
});
