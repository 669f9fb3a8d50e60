// Whole run: pages in a browser.
// The developer screens of the portal in a real browser, on the platform as users start it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { waitForLink } from '../faults/load-during-faults.ts';
import { chromiumSkipReason } from '../support/browser/chromium.ts';
import type { Client } from '../support/https-client.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  accept,
  answerWith,
  assertGenuine,
  type Receiver,
  receiver,
} from '../webhooks/webhook-receiver.ts';
import {
  hostileName,
  openPortal,
  type PortalDemoFacts,
  type TestPortal,
} from './portal-in-chromium.ts';

describe('the portal for developers', { skip: chromiumSkipReason }, () => {
  let setup: TestPortal;
  let client: Client;
  let facts: PortalDemoFacts;
  let context: BrowserContext;
  /** The tokens of the merchant and of the acquirer's own application. */
  let token: string;
  let admin: string;
  let hooks: Receiver;

  before(async () => {
    setup = await openPortal('portal-developers');
    ({ client, facts } = setup);
    token = await setup.tokenOf('merchant');
    admin = await setup.tokenOf('acquirer');
    await waitForLink(client, token);
    hooks = await receiver();
    context = await setup.signedIn('admin');
  });
  after(async () => {
    await hooks?.stop();
    await setup?.close();
  });

  const visitScreen = (
    path: string,
    steps: (page: Page) => Promise<void>,
    browserContext = context,
  ) => setup.visitScreen(browserContext, path, steps);

  const dialog = (page: Page) => page.getByRole('dialog');
  const button = (page: Page, name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' });

  async function choose(page: Page, name: string): Promise<void> {
    await button(page, 'Actions').click();
    await page.getByRole('menuitem', { name, exact: true }).click();
  }

  /** The value in the dialog that shows a secret once. */
  async function readOneTimeValue(page: Page, label: string): Promise<string> {
    const line = dialog(page).locator('dl > div').filter({ hasText: label }).locator('.sy-mono');
    return (await line.first().textContent()) ?? '';
  }

  async function sell(amount: number, members: Record<string, unknown> = {}) {
    const { status, body, text } = await client.call('POST', '/payment/v1/transactions/process', {
      token,
      body: {
        clientTransactionId: randomUUID(),
        amount,
        currency: 'EUR',
        entryMode: 'Keyed',
        instrument: { card: { number: '4111111111111111', expiryMonth: 12, expiryYear: 2030 } },
        ...members,
      },
    });
    assert.equal(status, 200, text);
    return body;
  }

  /** Creates an endpoint at the receiver of the test by the API. */
  async function endpoint(members: Record<string, unknown> = {}) {
    const { status, body, text } = await client.call('POST', '/webhooks/v1/endpoints', {
      token: admin,
      body: { url: hooks.url, eventTypes: ['*'], ...members },
    });
    assert.equal(status, 201, text);
    return body as { endpointId: string; secret: string };
  }

  async function forget(endpointId: string): Promise<void> {
    await client.call('DELETE', `/webhooks/v1/endpoints/${endpointId}`, { token: admin });
  }

  test('every screen is accessible, wide and narrow, light and dark', async () => {
    const { endpointId } = await endpoint({ description: hostileName });
    await sell(1_050);
    const deliveries = `/webhooks/v1/deliveries?endpointId=${endpointId}&status=Delivered`;
    const first = async () =>
      (await client.call('GET', deliveries, { token: admin })).body.items[0];
    await eventually('something is delivered', async () => (await first()) !== undefined);
    const { deliveryId, position } = await first();
    const { clientId } = facts.applications['acquirer'] ?? {};
    for (const path of [
      '/portal/applications',
      '/portal/applications?status=Disabled&name=none',
      '/portal/applications/new',
      `/portal/applications/${clientId}`,
      `/portal/applications/${clientId}/edit`,
      '/portal/webhooks',
      `/portal/webhooks/${endpointId}`,
      '/portal/webhooks/deliveries',
      `/portal/webhooks/deliveries/${deliveryId}`,
      '/portal/events',
      `/portal/events/${position}`,
      '/portal/events/999999999',
    ]) {
      await setup.usable(context, path, async (page) => {
        assert.notEqual(await page.title(), 'owned');
      });
    }
    await forget(endpointId);
  });

  test('the API reference and the configuration are accessible, wide and narrow, light and dark', async () => {
    const store = facts.merchants[0]?.stores[0]?.storeId;
    const services = `/configuration/v1/stores/${store}/services`;
    const { body } = await client.call('GET', services, { token: admin });
    const { serviceId } = body.items[0];
    for (const path of [
      '/portal/console',
      '/portal/console/events?text=captured',
      '/portal/console/errors?text=amount',
      '/portal/test-cards',
      '/portal/configuration',
      `/portal/configuration?level=stores&entityId=${store}&serviceId=${serviceId}`,
      `/portal/configuration?level=stores&entityId=${store}&serviceId=${serviceId}&tab=own`,
      `/portal/configuration?level=stores&entityId=${store}&serviceId=${serviceId}&tab=versions`,
    ]) {
      await setup.usable(context, path);
    }
  });

  test('only the tab of the open part of the API reference is the current one', async () => {
    await visitScreen('/portal/console/errors?text=amount', async (page) => {
      const current = page.getByRole('navigation', { name: 'API' }).locator('[aria-current]');
      assert.deepEqual(await current.allInnerTexts(), ['Errors']);
    });
  });

  // Spec: ONB-19 RIGHT-11
  test('a registered application shows its secret once, rotates it, and gets tokens', async () => {
    const name = `${hostileName.slice(0, 44)} ${randomUUID().slice(0, 8)}`;
    await visitScreen('/portal/applications/new', async (page) => {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
      await page.locator('.mantine-MultiSelect-input').click();
      await page.getByRole('option', { name: 'Merchant (read only)' }).click();
      await button(page, 'Register').dblclick();
      const clientId = await readOneTimeValue(page, 'Client ID');
      const secret = await readOneTimeValue(page, 'Client secret');
      const signsIn = (clientSecret: string) =>
        client.call('POST', `/oauth2/v1/${facts.userDomainId}/token`, {
          raw: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: clientId,
            client_secret: clientSecret,
          }).toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        });
      await page.keyboard.press('Escape');
      assert.equal(await dialog(page).isVisible(), true, 'it goes when it is kept, and not before');
      await button(page, 'I have stored it').click();
      await page.waitForURL(`**/applications/${clientId}`);
      await page.getByText(secret).waitFor({ state: 'detached' });
      await page.getByText('Never', { exact: true }).waitFor();
      assert.equal((await signsIn(secret)).status, 200);
      await page.reload();
      await page.getByRole('heading', { name }).waitFor();
      await eventually('its use is shown', async () => {
        await page.reload();
        await page.getByText('Last used').waitFor();
        return (await page.getByText('Never', { exact: true }).count()) === 0;
      });
      await choose(page, 'Rotate secret');
      await dialog(page).getByRole('button', { name: 'Rotate secret' }).click();
      await button(page, 'I have stored it').waitFor();
      const renewed = await readOneTimeValue(page, 'Client secret');
      assert.notEqual(renewed, secret);
      await button(page, 'I have stored it').click();
      assert.equal((await signsIn(secret)).status, 401, 'the old one is dead');
      assert.equal((await signsIn(renewed)).status, 200);
      await choose(page, 'Disable');
      await dialog(page).getByRole('button', { name: 'Disable' }).click();
      await page.getByText('Disabled', { exact: true }).first().waitFor();
      assert.equal((await signsIn(renewed)).status, 401);
      await choose(page, 'Delete');
      await dialog(page).getByRole('button', { name: 'Delete' }).click();
      await page.waitForURL('**/portal/applications');
      const path = `/application-management/v1/user-domains/${facts.userDomainId}/applications`;
      const deletedResponse = await client.call('GET', `${path}/${clientId}`, { token: admin });
      assert.equal(deletedResponse.status, 404);
    });
  });

  test('a manager of a merchant approves an application of the merchant', async () => {
    const applications = `/application-management/v1/user-domains/${facts.userDomainId}/applications`;
    const name = `Shop server ${randomUUID().slice(0, 8)}`;
    const { body, text } = await client.call('POST', applications, {
      token: await setup.tokenOf('merchantDeveloper'),
      body: { name, roles: ['Merchant'] },
    });
    assert.equal(body.status, 'PendingApproval', text);
    const manager = await setup.signedIn('manager', { isTourOver: true });
    const path = '/portal/applications?status=PendingApproval';
    const steps = async (page: Page) => {
      await page.getByRole('link', { name }).click();
      await page.getByText('Waiting for approval').first().waitFor();
      await choose(page, 'Approve');
      await button(page, 'Approve').click();
      await page.getByText('Enabled', { exact: true }).waitFor();
    };
    await visitScreen(path, steps, manager);
    const { clientId, clientSecret } = body;
    await client.token(facts.userDomainId, clientId, clientSecret);
    await manager.close();
  });

  test('an invalid application value shows the platform’s error at its field', async () => {
    await visitScreen('/portal/applications/new', async (page) => {
      await page.getByRole('radio', { name: 'Web site' }).click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Shop');
      const address = page.getByRole('textbox', { name: 'Redirect URIs' });
      await address.fill('https://shop.example/cb\nhttp://shop.example/cb');
      await page.getByRole('textbox', { name: 'Web origins' }).fill('https://shop.example/path');
      await button(page, 'Register').click();
      await page.getByText(/^2: uses http with a host other than localhost/).waitFor();
      await page.getByText(/^1: is not an exact origin/).waitFor();
      assert.equal(await address.inputValue(), 'https://shop.example/cb\nhttp://shop.example/cb');
    });
  });

  // Spec: ONB-19
  test('concurrent changes of an application do not overwrite each other', async () => {
    const path = `/application-management/v1/user-domains/${facts.userDomainId}/applications`;
    const made = await client.call('POST', path, { token: admin, body: { name: 'Shared' } });
    const { clientId } = made.body;
    await visitScreen(`/portal/applications/${clientId}/edit`, async (page) => {
      const description = page.getByRole('textbox', { name: 'Description' });
      await description.fill('Mine');
      await client.call('PUT', `${path}/${clientId}`, {
        token: admin,
        body: { name: 'Shared', description: 'Theirs' },
      });
      await button(page, 'Save').click();
      await page.getByText('Another user has changed this application.').waitFor();
      assert.equal(await description.inputValue(), 'Mine', 'the typed text is still there');
      await button(page, 'Reload the latest version').click();
      await eventually('theirs', async () => (await description.inputValue()) === 'Theirs');
      await description.fill('Both');
      await button(page, 'Save').click();
      await page.waitForURL(`**/applications/${clientId}`);
      await page.getByText('Both').waitFor();
    });
  });

  // Spec: QRPROV-42
  test('an endpoint is created and tested, and a delivery is sent again', async () => {
    hooks.answer(accept);
    await visitScreen('/portal/webhooks', async (page) => {
      await button(page, 'Add an endpoint').first().click();
      await dialog(page).getByRole('textbox', { name: 'URL' }).fill('http://10.0.0.1/hooks');
      await dialog(page).getByRole('button', { name: 'Add', exact: true }).click();
      await dialog(page).getByRole('alert').waitFor();
      await dialog(page).getByRole('textbox', { name: 'URL' }).fill(hooks.url);
      await dialog(page).getByRole('button', { name: 'Add', exact: true }).dblclick();
      const secret = await readOneTimeValue(page, 'Signing secret');
      assert.match(secret, /^whsec_/);
      await button(page, 'I have stored it').click();
      await page.waitForURL(/\/webhooks\/[\da-f-]{36}$/);
      const endpointId = page.url().split('/').at(-1) ?? '';
      const already = hooks.received.length;
      await button(page, 'Send a test event').click();
      await dialog(page).getByRole('button', { name: 'Send', exact: true }).click();
      await page.waitForURL('**/webhooks/deliveries/*');
      await page.getByText('Delivered', { exact: true }).waitFor();
      await page.getByText('204').first().waitFor();
      const sent = hooks.received.slice(already).find(({ body }) => body.includes('endpoint.test'));
      assert.ok(sent !== undefined);
      assertGenuine(sent, secret);
      await button(page, 'Send again').click();
      await dialog(page).getByRole('button', { name: 'Send again' }).click();
      await eventually('the same bytes come again', () => {
        const same = hooks.received.filter(({ id }) => id === sent.id);
        return same.length === 2 && same.every(({ body }) => body === sent.body);
      });
      await page.goto(`/portal/webhooks/deliveries?endpointId=${endpointId}&status=Delivered`);
      await page.getByText('endpoint.test').first().waitFor();
      await forget(endpointId);
    });
  });

  // Spec: QRPROV-42
  test('a failed delivery shows the response, and an enabled endpoint gets its missed events', async () => {
    const { endpointId } = await endpoint({ eventTypes: ['transaction.*'] });
    hooks.answer(answerWith(410, { 'content-type': 'text/plain' }, 'moved away'));
    await sell(2_100);
    await visitScreen(`/portal/webhooks/${endpointId}`, async (page) => {
      await eventually('it is given up', async () => {
        await page.reload();
        await page.getByText('Last deliveries').waitFor();
        return (await page.getByText('Removed (410)', { exact: true }).count()) > 0;
      });
      await page.getByRole('link', { name: 'transaction.captured' }).first().click();
      await page.getByText('moved away').waitFor();
      await page.goBack();
      hooks.answer(accept);
      const already = hooks.received.length;
      await choose(page, 'Enable');
      await dialog(page).getByRole('checkbox', { name: 'Send the missed events' }).check();
      await dialog(page).getByRole('button', { name: 'Enable' }).click();
      await page.getByText('Working', { exact: true }).waitFor();
      await eventually('the missed event arrives', () =>
        hooks.received.slice(already).some(({ body }) => body.includes('transaction.captured')),
      );
    });
    await forget(endpointId);
  });

  test('events are filtered by type in the page address and link to the payment', async () => {
    const { transactionId } = await sell(3_300);
    await eventually('the event arrives', async () => {
      const path = '/events/v1?before=0&types=transaction.captured&limit=1';
      const { body } = await client.call('GET', path, { token: admin });
      return body.items[0]?.data.transactionId === transactionId;
    });
    await visitScreen('/portal/events?types=transaction.captured', async (page) => {
      await page.locator('.sy-table-link').first().click();
      await page.waitForURL(/\/events\/\d+$/);
      await page.getByText(transactionId).first().waitFor();
      await page.getByRole('link', { name: 'Related object' }).click();
      await page.waitForURL(`**/payments/${transactionId}`);
    });
  });

  /** Opens the API reference by the portal and shows an operation, ready to be tried. */
  async function tryOperation(
    operationId: string,
    steps: (page: Page, operation: Locator) => Promise<void>,
  ): Promise<void> {
    await visitScreen('/portal/console', async (page) => {
      const opened = page.waitForEvent('popup');
      await page.getByRole('link', { name: 'Open the API reference' }).click();
      const reference = await opened;
      await reference.getByPlaceholder('Filter by tag').fill(operationId);
      const operation = reference.locator('.opblock').filter({
        has: reference.getByText(operationId, { exact: true }),
      });
      await eventually('only this operation is listed', async () => {
        const count = await reference.locator('.opblock').count();
        return count === 1 && (await operation.count()) === 1;
      });
      await operation.locator('.opblock-summary-control').click();
      await operation.getByRole('button', { name: 'Try it out' }).click();
      await steps(reference, operation);
      await reference.close();
    });
  }

  const answerOf = (operation: Locator) => operation.locator('.live-responses-table');
  const execute = (operation: Locator) =>
    operation.getByRole('button', { name: 'Execute' }).click();

  // Spec: LIST-10
  test('the API reference sends requests with the session, without a token, and shows the response', async () => {
    const authorizedUrls: string[] = [];
    await tryOperation('listWebhookEndpoints', async (page, operation) => {
      page.on('request', (request) => {
        if ('authorization' in request.headers()) authorizedUrls.push(request.url());
      });
      assert.equal(await page.getByRole('button', { name: /authorize/i }).count(), 0);
      await operation.getByPlaceholder('limit').fill('1');
      await execute(operation);
      await answerOf(operation).getByText('200', { exact: true }).first().waitFor();
      await answerOf(operation).getByText('"nextCursor"').waitFor();
      assert.deepEqual(authorizedUrls, []);
    });
  });

  // Spec: LIST-10
  test('the API reference asks for confirmation before a change, and sends nothing without it', async () => {
    const name = `Pressed ${randomUUID().slice(0, 8)}`;
    const path = `/application-management/v1/user-domains/${facts.userDomainId}/applications`;
    const countByName = async () => {
      const query = new URLSearchParams({ name });
      const { body } = await client.call('GET', `${path}?${query}`, { token: admin });
      return body.items.length;
    };
    await tryOperation('createApplication', async (page, operation) => {
      const domain = operation.getByPlaceholder('userDomainId');
      assert.equal(await domain.inputValue(), facts.userDomainId, 'the session knows it');
      await operation.locator('textarea.body-param__text').fill(JSON.stringify({ name }));
      const questions: string[] = [];
      page.once('dialog', (question) => {
        questions.push(question.message());
        void question.dismiss();
      });
      await execute(operation);
      await answerOf(operation).getByText('The request was not sent.').waitFor();
      assert.match(questions[0] ?? '', /^Send POST \/application-management.*\nIt changes data/);
      assert.equal(await countByName(), 0);
      page.once('dialog', (question) => void question.accept());
      await execute(operation);
      await answerOf(operation).getByText('201', { exact: true }).first().waitFor();
      assert.equal(await countByName(), 1);
    });
  });

  test('the API reference sends more headers, but no typed token header', async () => {
    await tryOperation('listCountries', async (page, operation) => {
      const headers = page.getByRole('textbox', { name: 'More headers' });
      const sent: string[] = [];
      page.on('request', (request) => sent.push(request.headers()['x-own'] ?? ''));
      await headers.fill('Authorization: Bearer x');
      await execute(operation);
      await answerOf(operation)
        .getByText(/cannot be sent from here/)
        .waitFor();
      assert.deepEqual(sent, []);
      await headers.fill('X-Own: 1');
      await execute(operation);
      await answerOf(operation).getByText('200', { exact: true }).first().waitFor();
      assert.deepEqual(sent, ['1']);
    });
  });

  test('the API reference opened without the portal does not use the session', async () => {
    const page = await context.newPage();
    const headers: string[] = [];
    page.on('request', (request) => headers.push(...Object.keys(request.headers())));
    await page.goto('/docs/api');
    await page.locator('.opblock').first().waitFor();
    assert.equal(await page.getByRole('button', { name: 'Authorize' }).count(), 1);
    assert.equal(await page.locator('#session').isVisible(), false);
    assert.ok(!headers.includes('x-switchyard-portal'));
    await page.close();
  });

  // Spec: RIGHT-17
  test('the test amounts give the described results', async () => {
    await visitScreen('/portal/test-cards', async (page) => {
      const declined = page.getByRole('region', { name: 'Declined' });
      const codes = await declined.locator('tbody code').allTextContents();
      assert.ok(codes.length >= 10);
      for (const code of codes) {
        const amount = Number(code.slice(1));
        const { approved, response } = await sell(amount);
        assert.deepEqual([approved, response.code], [false, String(amount).slice(-2)], code);
      }
      const approved = page.getByRole('region', { name: 'Approved' });
      await approved.getByText('…9011').waitFor();
      assert.equal((await sell(9_011)).approved, true);
    });
  });

  // Spec: RIGHT-12
  test('a store sets its own value, and each value shows its level', async () => {
    const store = facts.merchants[0]?.stores[0]?.storeId ?? '';
    const services = `/configuration/v1/stores/${store}/services`;
    const { body } = await client.call('GET', services, { token: admin });
    const { serviceId } = body.items.find(({ name }: { name: string }) => name.includes('EMV'));
    const query = new URLSearchParams({ level: 'stores', entityId: store, serviceId, tab: 'own' });
    const before = (await client.call('GET', `${services}/${serviceId}`, { token: admin })).body;
    await visitScreen(`/portal/configuration?${query}`, async (page) => {
      const manner = page.getByRole('radiogroup', { name: 'Edit as' });
      await manner.getByText('JSON', { exact: true }).click();
      const field = page.getByRole('textbox', { name: 'JSON' });
      await field.fill('{ "terminal": { "countryCode": 7 } }');
      await button(page, 'Save').click();
      await page.getByRole('alert').waitFor();
      const values = {
        ...before.values,
        terminal: { ...before.values.terminal, countryCode: '276' },
      };
      await field.fill(JSON.stringify(values));
      await button(page, 'Save').dblclick();
      await page.getByText('The configuration is saved.').waitFor();
      await page.getByRole('tab', { name: 'Effective values' }).click();
      await page.getByRole('searchbox', { name: 'Search values' }).fill('countryCode');
      const line = page.getByRole('row', { name: /countryCode/ });
      await line.getByText('276').waitFor();
      await line.getByText('Set here').waitFor();
      await page.getByRole('tab', { name: 'Versions' }).click();
      await page.getByText(`Version ${before.version + 1}`).waitFor();
    });
    const { effective } = (await client.call('GET', `${services}/${serviceId}`, { token: admin }))
      .body;
    assert.equal(effective.values.terminal.countryCode, '276');
  });

  test('a user without permission sees a message at the address and no link to it', async () => {
    const operator = await setup.signedIn('operator');
    await visitScreen(
      '/portal/applications',
      async (page) => {
        await page.getByRole('heading', { name: 'No permission for this page' }).waitFor();
        assert.equal(await page.getByRole('table').count(), 0);
        const rail = page.locator('.sy-rail');
        assert.equal(await rail.getByRole('link', { name: 'Applications' }).count(), 0);
        assert.equal(await rail.getByRole('link', { name: 'Test cards' }).count(), 1);
      },
      operator,
    );
    await operator.close();
  });
});
