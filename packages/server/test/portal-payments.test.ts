// The payments of the portal in a real browser, against the platform as it is started: seen by everybody, refunded once.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { assertAccessible } from './accessible.ts';
import { openChromium, withoutChromium } from './chromium.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { linkIsUp } from './load.ts';
import { freePorts, type ServerProcess, serverProcess } from './server-process.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const waitLimitMs = 45_000;
const buildLimitMs = 300_000;
const wide = { width: 1440, height: 900 };
const narrow = { width: 390, height: 844 };
/** What a store may be called: a script, and a word without an end. */
const hostileName = `<img src=x onerror="document.title='owned'">${'W'.repeat(40)}`;

type User = { username: string; password: string; otpSecret?: string; groups: string[] };

describe('the payments of the portal', { skip: withoutChromium }, () => {
  let server: ServerProcess;
  let client: Client;
  let chromium: Browser;
  let context: BrowserContext;
  let dataDir: string;
  let token: string;
  let base: string;

  before(async () => {
    const build = [join(root, 'tools/build-portal.ts')];
    await promisify(execFile)(process.execPath, build, { timeout: buildLimitMs });
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-portal-payments-'));
    const [port, devicePort, acquirerPort, metricsPort] = await freePorts(4);
    server = serverProcess({
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_PORT: String(port),
      SWITCHYARD_DEVICE_PORT: String(devicePort),
      SWITCHYARD_ACQUIRER_PORT: String(acquirerPort),
      SWITCHYARD_METRICS_PORT: String(metricsPort),
    });
    await server.start();
    client = await server.client();
    const facts = await server.facts();
    base = facts.baseUrl;
    const { clientId = '', clientSecret = '' } = facts.applications['merchant'] ?? {};
    token = await client.token(facts.userDomainId, clientId, clientSecret);
    await linkIsUp(client, token);
    chromium = await openChromium({
      certificate: await readFile(join(dataDir, 'tls/server.pem'), 'utf8'),
    });
    context = await chromium.newContext({ baseURL: base, locale: 'en-GB', viewport: wide });
    context.setDefaultTimeout(waitLimitMs);
    await signIn();
  });
  after(async () => {
    await chromium?.close();
    await server?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** The merchant manager of the demo who has no one-time password. */
  async function signIn(): Promise<void> {
    const facts = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as {
      userDomainId: string;
      users: User[];
    };
    const user = facts.users.find(({ otpSecret }) => otpSecret === undefined);
    assert.ok(user !== undefined);
    const page = await context.newPage();
    await page.goto(`/portal/sign-in?domain=${facts.userDomainId}&to=/portal/`);
    await page.fill('#username', user.username);
    await page.fill('#password', user.password);
    await page.click('main button.primary');
    await page.waitForSelector('#content h1');
    await page.evaluate(`localStorage.setItem('switchyard-language', 'en')`);
    await page.close();
  }

  async function sell(amount: number, members: Record<string, unknown> = {}): Promise<string> {
    const { status, body } = await client.call('POST', '/payment/v1/transactions/process', {
      token,
      body: {
        ...{ clientTransactionId: randomUUID(), amount, currency: 'EUR', entryMode: 'Keyed' },
        instrument: {
          card: { number: '4111111111111111', expiryMonth: 12, expiryYear: 2030 },
        },
        ...members,
      },
    });
    assert.equal(status, 200, JSON.stringify(body));
    return body.transactionId;
  }

  const read = async (id: string) =>
    (await client.call('GET', `/payment/v1/transactions/${id}`, { token })).body;

  /** Opens a screen in a tab of its own, and looks at what the browser complained of. */
  async function look(path: string, steps: (page: Page) => Promise<void>): Promise<void> {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (/Content Security Policy|not assignable|React/i.test(message.text())) {
        complaints.push(message.text());
      }
    });
    page.on('pageerror', (fault) => complaints.push(String(fault)));
    try {
      await page.goto(path);
      await page.waitForSelector('#content h1');
      await steps(page);
      assert.deepEqual(complaints, []);
    } finally {
      await page.close();
    }
  }

  /** What lies behind it cannot be reached, and is dimmed. Expects axe in the page. */
  async function assertDialogAccessible(page: Page, name: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations, passes } = (await page.evaluate(`axe.run('[role="dialog"]')`)) as {
        violations: { id: string }[];
        passes: unknown[];
      };
      assert.ok(passes.length > 5, `${name}: axe saw it`);
      assert.deepEqual(
        violations.map(({ id }) => id),
        [],
        `${name} in ${colorScheme}`,
      );
    }
  }

  test('every screen can be used by everybody, wide and narrow, light and dark', async () => {
    const id = await sell(1050, { captureMode: 'Deferred' });
    await sell(9_051);
    const settlements = async () =>
      (await client.call('GET', '/reporting/v1/settlements?limit=1', { token })).body.items[0];
    await sell(2_599);
    await eventually('a settlement', async () => (await settlements()) !== undefined);
    const { settlementId } = await settlements();
    for (const path of [
      '/portal/',
      '/portal/payments',
      '/portal/payments?state=Expired',
      `/portal/payments/${id}`,
      '/portal/qr-payments',
      '/portal/analytics',
      '/portal/settlements',
      `/portal/settlements/${settlementId}`,
      '/portal/virtual-terminal',
      '/portal/users/none-of-ours',
    ]) {
      await look(path, async (page) => {
        await page.waitForSelector('[aria-busy="true"]', { state: 'detached' });
        for (const size of [wide, narrow]) {
          await page.setViewportSize(size);
          const overflow = await page.evaluate(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          );
          assert.equal(overflow, 0, `${path} at ${size.width}`);
        }
        await assertAccessible(page, path);
      });
    }
  });

  test('what opens over a screen can be used by everybody, too', async () => {
    const id = await sell(2_000);
    await look(`/portal/payments/${id}`, async (page) => {
      await page.locator('.sy-user').click();
      await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
      await assertAccessible(page, 'the menu of the user');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Refund', exact: true }).click();
      await page.getByRole('dialog').getByRole('textbox', { name: 'Amount' }).waitFor();
      await assertDialogAccessible(page, 'the dialogue of a refund');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder(/^Screen/).waitFor();
      await assertDialogAccessible(page, 'the palette');
    });
  });

  test('a refund that is pressed twice is made once', async () => {
    const id = await sell(5_000);
    await look(`/portal/payments/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Refund', exact: true }).click();
      await page.getByRole('textbox', { name: 'Amount' }).fill('12.34');
      await page.getByRole('button', { name: /^Refund EUR/ }).dblclick();
      await page.getByText('Partly refunded').first().waitFor();
      const { operations, refundedAmount } = await read(id);
      assert.equal(refundedAmount, 1_234);
      assert.equal(operations.length, 1);
    });
  });

  test('more than is left is refused before it is sent, and the platform’s own words are shown', async () => {
    const id = await sell(2_000);
    await look(`/portal/payments/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Refund', exact: true }).click();
      await page.getByRole('textbox', { name: 'Amount' }).fill('20.01');
      await page.getByText(/No more than/).waitFor();
      const send = page.getByRole('button', { name: /^Refund EUR/ });
      assert.equal(await send.isDisabled(), true);
      await page.getByRole('textbox', { name: 'Amount' }).fill('15');
      // Somebody else is quicker.
      const other = await client.call('POST', `/payment/v1/transactions/${id}/refund`, {
        token,
        body: { amount: 1_000 },
      });
      assert.equal(other.status, 200);
      await send.click();
      await page.getByRole('dialog').getByRole('alert').waitFor();
      assert.equal((await read(id)).refundedAmount, 1_000);
    });
  });

  test('what may not be done now says why', async () => {
    const id = await sell(9_051);
    await look(`/portal/payments/${id}`, async (page) => {
      await page.getByText('The payment was declined.').first().waitFor();
      const refund = page.getByRole('button', { name: 'Refund', exact: true });
      assert.equal(await refund.isDisabled(), true);
    });
  });

  test('filters stand in the address, and a reference finds its payment', async () => {
    const clientTransactionId = `till-9:${randomUUID().slice(0, 8)}`;
    await sell(3_300, { clientTransactionId });
    await eventually('the search finds it', async () => {
      const path = `/reporting/v1/transactions?text=${clientTransactionId}`;
      return (await client.call('GET', path, { token })).body.items.length === 1;
    });
    await look('/portal/payments', async (page) => {
      await page.getByRole('searchbox').fill(clientTransactionId);
      await page.waitForURL((url) => url.searchParams.get('text') === clientTransactionId);
      await page.getByText('1 row', { exact: true }).waitFor();
      await page.reload();
      await page.getByText('1 row', { exact: true }).waitFor();
      await page.locator('.sy-table-link').first().focus();
      await page.keyboard.press('Enter');
      await page.getByText('EUR 33.00').first().waitFor();
      await page.goBack();
      await page.waitForURL((url) => url.searchParams.get('text') === clientTransactionId);
    });
  });

  test('Ctrl+K works while something is typed, and leads to a screen', async () => {
    await look('/portal/payments', async (page) => {
      await page.getByRole('searchbox').focus();
      await page.keyboard.press('Control+K');
      await page.getByPlaceholder(/^Screen/).fill('Analyt');
      await page.locator('[data-action][data-selected]').getByText('Analytics').waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL('**/portal/analytics');
    });
  });

  test('a lost connection is told for as long as it lasts', async () => {
    await look('/portal/payments', async (page) => {
      await context.setOffline(true);
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByText(/The platform does not answer\./).waitFor();
      await context.setOffline(false);
      await page.getByText(/The platform does not answer\./).waitFor({ state: 'detached' });
    });
  });

  test('the virtual terminal takes a card, and its payment is there', async () => {
    await look('/portal/virtual-terminal', async (page) => {
      await page.getByRole('button', { name: 'Take the payment' }).dblclick();
      await page.getByText('Approved', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Look at this payment' }).click();
      await page.getByText('EUR 12.50').first().waitFor();
    });
  });

  test('a hostile name runs no script, and the layout holds', async () => {
    const facts = await server.facts();
    const { clientId = '', clientSecret = '', merchantId } = facts.applications['acquirer'] ?? {};
    assert.equal(merchantId, undefined);
    const admin = await client.token(facts.userDomainId, clientId, clientSecret);
    const path = `/provisioning/v2/stores/${facts.merchants[0]?.stores[0]?.storeId}`;
    const { body, headers } = await client.call('GET', path, { token: admin });
    const renamed = await client.call('PUT', path, {
      token: admin,
      headers: { 'if-match': String(headers['etag']) },
      body: { ...body, name: hostileName },
    });
    assert.equal(renamed.status, 200, renamed.text);
    await look('/portal/payments', async (page) => {
      await page.getByText('<img src=x').first().waitFor();
      assert.notEqual(await page.title(), 'owned');
      for (const size of [wide, narrow]) {
        await page.setViewportSize(size);
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        assert.equal(overflow, 0);
      }
    });
  });
});
