// Whole run: pages in a browser.
// The payments screens of the portal in a real browser: accessible, and each refund is sent once,
// on the platform as users start it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { waitForLink } from '../faults/load-during-faults.ts';
import { assertAccessible, setColorScheme } from '../support/browser/accessibility-check.ts';
import { chromiumSkipReason } from '../support/browser/chromium.ts';
import type { Client } from '../support/https-client.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { assertFits, hostileName, openPortal, type TestPortal } from './portal-in-chromium.ts';

describe('the payments of the portal', { skip: chromiumSkipReason }, () => {
  let setup: TestPortal;
  let client: Client;
  let context: BrowserContext;
  let token: string;

  before(async () => {
    setup = await openPortal('portal-payments');
    client = setup.client;
    token = await setup.tokenOf('merchant');
    await waitForLink(client, token);
    context = await setup.signedIn('demo');
  });
  after(() => setup?.close());

  const visitScreen = (path: string, steps: (page: Page) => Promise<void>) =>
    setup.visitScreen(context, path, steps);

  async function sell(amount: number, members: Record<string, unknown> = {}): Promise<string> {
    const { status, body } = await client.call('POST', '/payment/v1/transactions/process', {
      token,
      body: {
        clientTransactionId: randomUUID(),
        amount,
        currency: 'EUR',
        entryMode: 'Keyed',
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

  /**
   * Checks only the dialog, because the page behind it is inert and dimmed. Expects axe in the
   * page.
   */
  async function assertDialogAccessible(page: Page, name: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await setColorScheme(page, name, colorScheme);
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

  // Spec: RIGHT-1
  test('every screen is accessible, wide and narrow, light and dark', async () => {
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
      await setup.usable(context, path);
    }
  });

  test('menus, dialogs and the command palette are accessible', async () => {
    const id = await sell(2_000);
    await visitScreen(`/portal/payments/${id}`, async (page) => {
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
      await page.getByPlaceholder(/^Page name/).waitFor();
      await assertDialogAccessible(page, 'the palette');
    });
  });

  // Spec: RIGHT-6
  test('a refund that is clicked twice is made once', async () => {
    const id = await sell(5_000);
    await visitScreen(`/portal/payments/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Refund', exact: true }).click();
      await page.getByRole('textbox', { name: 'Amount' }).fill('12.34');
      await page.getByRole('button', { name: /^Refund EUR/ }).dblclick();
      await page.getByText('Partially refunded').first().waitFor();
      const { operations, refundedAmount } = await read(id);
      assert.equal(refundedAmount, 1_234);
      assert.equal(operations.length, 1);
    });
  });

  test('an amount above the remaining amount is rejected before sending, and a platform error is shown', async () => {
    const id = await sell(2_000);
    await visitScreen(`/portal/payments/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Refund', exact: true }).click();
      await page.getByRole('textbox', { name: 'Amount' }).fill('20.01');
      await page.getByText(/higher than the remaining/).waitFor();
      const send = page.getByRole('button', { name: /^Refund EUR/ });
      assert.equal(await send.isDisabled(), true);
      await page.getByRole('textbox', { name: 'Amount' }).fill('15');
      // Another client refunds first.
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

  // Spec: RIGHT-6
  test('an unavailable action shows the reason', async () => {
    const id = await sell(9_051);
    await visitScreen(`/portal/payments/${id}`, async (page) => {
      await page.getByText('The payment was declined.').first().waitFor();
      const refund = page.getByRole('button', { name: 'Refund', exact: true });
      assert.equal(await refund.isDisabled(), true);
    });
  });

  test('the page address contains the filters, and a reference finds its payment', async () => {
    const clientTransactionId = `till-9:${randomUUID().slice(0, 8)}`;
    await sell(3_300, { clientTransactionId });
    await eventually('the search finds it', async () => {
      const path = `/reporting/v1/transactions?text=${clientTransactionId}`;
      return (await client.call('GET', path, { token })).body.items.length === 1;
    });
    await visitScreen('/portal/payments', async (page) => {
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

  test('Ctrl+K works in an input and opens a screen', async () => {
    await visitScreen('/portal/payments', async (page) => {
      await page.getByRole('searchbox').focus();
      await page.keyboard.press('Control+K');
      await page.getByPlaceholder(/^Page name/).fill('Analyt');
      await page.locator('[data-action][data-selected]').getByText('Analytics').waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL('**/portal/analytics');
    });
  });

  test('a lost connection shows a banner until it is back', async () => {
    await visitScreen('/portal/payments', async (page) => {
      await context.setOffline(true);
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByText(/The platform does not respond\./).waitFor();
      await context.setOffline(false);
      await page.getByText(/The platform does not respond\./).waitFor({ state: 'detached' });
    });
  });

  // Spec: RIGHT-8
  test('the virtual terminal takes a card payment and links to it', async () => {
    await visitScreen('/portal/virtual-terminal', async (page) => {
      await page.getByRole('button', { name: 'Take the payment' }).dblclick();
      const terminal = page.getByRole('region', { name: 'Terminal', exact: true });
      await terminal.getByText('Approved', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'View this payment' }).click();
      await page.getByText('EUR 12.50').first().waitFor();
    });
  });

  test('a hostile name runs no script and does not break the page layout', async () => {
    const { facts } = setup;
    assert.equal(facts.applications['acquirer']?.merchantId, undefined);
    const admin = await setup.tokenOf('acquirer');
    const path = `/provisioning/v2/stores/${facts.merchants[0]?.stores[0]?.storeId}`;
    const { body, headers } = await client.call('GET', path, { token: admin });
    const renamed = await client.call('PUT', path, {
      token: admin,
      headers: { 'if-match': String(headers['etag']) },
      body: { ...body, name: hostileName },
    });
    assert.equal(renamed.status, 200, renamed.text);
    await visitScreen('/portal/payments', async (page) => {
      await page.getByText('<img src=x').first().waitFor();
      assert.notEqual(await page.title(), 'owned');
      await assertFits(page, 'payments');
    });
  });
});
