// Whole run: pages in a browser.
// The estate screens of the portal in a real browser: claim, move, import and connect terminals, on
// the platform as users start it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { connectorPaths } from '@switchyard/contract';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { WebSocket } from 'ws';
import { type Line, lineOf } from '../connector/test-connector.ts';
import { bearerHeaders } from '../support/bearer-headers.ts';
import { assertAccessible } from '../support/browser/accessibility-check.ts';
import { chromiumSkipReason } from '../support/browser/chromium.ts';
import { freePorts } from '../support/free-ports.ts';
import type { Client } from '../support/https-client.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  assertFits,
  hostileName,
  openPortal,
  type PortalDemoFacts,
  type TestPortal,
} from './portal-in-chromium.ts';

const base = '/provisioning/v2';

describe('the estate of the portal', { skip: chromiumSkipReason }, () => {
  let setup: TestPortal;
  let client: Client;
  let context: BrowserContext;
  let token: string;
  let facts: PortalDemoFacts;

  before(async () => {
    setup = await openPortal('portal-estate');
    ({ client, facts } = setup);
    token = await setup.tokenOf('acquirer');
    context = await setup.signedIn('admin', { acceptDownloads: true });
  });
  after(() => setup?.close());

  const visitScreen = (
    path: string,
    steps: (page: Page) => Promise<void>,
    browserContext = context,
  ) => setup.visitScreen(browserContext, path, steps);
  const usable = (path: string, browserContext = context) => setup.usable(browserContext, path);

  const api = async (method: string, path: string, body?: unknown) => {
    const options = body === undefined ? { token } : { token, body };
    return client.call(method, path, options);
  };
  async function made(path: string, body: unknown): Promise<Record<string, string>> {
    const answer = await api('POST', `${base}${path}`, body);
    assert.equal(answer.status, 201, answer.text);
    return answer.body;
  }
  const merchantOf = (name: string) => ({
    name,
    country: 'FR',
    mcc: '5814',
    timeZone: 'Europe/Paris',
  });
  let serials = 70_000_000;
  const hardware = () => {
    serials += 1;
    return { serialNumber: String(serials), make: 'AXIUM', model: 'DX8000', family: 'axium' };
  };

  /** The input element of a text field or a select. */
  const field = (scope: Page | Locator, label: string): Locator =>
    scope
      .locator('input:not([type="radio"], [type="checkbox"])')
      .and(scope.getByLabel(new RegExp(`^${label.replaceAll(/[()]/g, '.')}( \\*)?$`)))
      .first();

  async function choose(page: Page, label: string, text: string, option = text): Promise<void> {
    await field(page, label).fill(text);
    await page.getByRole('option', { name: option }).first().click();
  }

  // Spec: RIGHT-2
  test('merchant and contract screens are accessible, wide and narrow, light and dark', async () => {
    const { merchantId = '' } = facts.applications['merchant'] ?? {};
    const contracts = (await api('GET', `${base}/merchants/${merchantId}/acquirer-contracts`)).body;
    const merchant = `/portal/merchants/${merchantId}`;
    await usable('/portal/merchants?status=Disabled');
    await usable('/portal/merchants/new');
    await usable(merchant);
    await usable(`${merchant}/contracts/${contracts.items[0].contractId}`);
  });

  // Spec: RIGHT-2
  test('store, device and point-of-sale screens are accessible, wide and narrow, light and dark', async () => {
    const { storeId, logicalDeviceId } = facts.devices[0] ?? {};
    const hardwareOf = `${base}/physical-devices?logicalDeviceId=${logicalDeviceId}`;
    const { physicalDeviceId } = (await api('GET', hardwareOf)).body.items[0];
    await usable(`/portal/stores/${storeId}?tab=places`);
    await usable('/portal/devices');
    await usable(`/portal/devices/${physicalDeviceId}`);
    await usable('/portal/points-of-sale');
  });

  // Spec: RIGHT-2
  test('acquirer link and import screens are accessible, wide and narrow, light and dark', async () => {
    const links = (await api('GET', `${base}/acquirer-links`)).body.items;
    await usable('/portal/acquirers');
    await usable(`/portal/acquirers/${links[0].acquirerLinkId}`);
    await usable('/portal/imports/new');
    await usable('/portal/stores/none-of-ours');
  });

  // Spec: RIGHT-3
  test('a new merchant shows field errors, is created once, and is found', async () => {
    const name = `Brasserie ${randomUUID().slice(0, 8)}`;
    await visitScreen('/portal/merchants', async (page) => {
      await page.getByRole('link', { name: 'New merchant' }).click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
      await choose(page, 'Country', 'Fra', 'France (FR)');
      await field(page, 'Merchant category code (MCC)').fill('58a4');
      await field(page, 'External ID').fill('B-1');
      const create = page.getByRole('button', { name: 'Create' });
      await create.click();
      await page.getByRole('alert').first().waitFor();
      assert.equal(
        await field(page, 'Merchant category code (MCC)').getAttribute('aria-invalid'),
        'true',
      );
      await field(page, 'Merchant category code (MCC)').fill('5814');
      await create.dblclick();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.waitForURL(/\/merchants\/[0-9a-f-]{36}$/);
      const query = `name=${encodeURIComponent(name)}`;
      const listResponse = await api('GET', `${base}/merchants?${query}`);
      assert.equal(listResponse.body.items.length, 1, 'however often it is pressed');
      await page.getByRole('link', { name: 'Merchants' }).first().click();
      await page.getByRole('searchbox').fill(name);
      await page.waitForURL((url) => url.searchParams.get('name') === name);
      await page.getByText('1 row', { exact: true }).waitFor();
      await page.reload();
      await page.getByText('1 row', { exact: true }).waitFor();
    });
  });

  test('a concurrent change by another user is not overwritten', async () => {
    const { merchantId } = await made('/merchants', merchantOf('Two at once'));
    await visitScreen(`/portal/merchants/${merchantId}/edit`, async (page) => {
      const field = page.getByRole('textbox', { name: 'Name', exact: true });
      await field.fill('Mine');
      const path = `${base}/merchants/${merchantId}`;
      await api('PUT', path, merchantOf('Theirs'));
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Another user has changed this.').waitFor();
      await page.getByRole('button', { name: 'Reload the latest version' }).click();
      await eventually('the latest version', async () => (await field.inputValue()) === 'Theirs');
      await field.fill('Ours');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { level: 1, name: 'Ours' }).waitFor();
      assert.equal((await api('GET', path)).body.name, 'Ours');
    });
  });

  test('a store is disabled and deleted, and its logical devices prevent the deletion', async () => {
    const { merchantId } = await made('/merchants', merchantOf('Short-lived'));
    const { storeId } = await made('/stores', { merchantId, name: 'Corner' });
    const logicalDevice = await made('/logical-devices', { storeId, name: 'Counter 1' });
    await visitScreen(`/portal/stores/${storeId}`, async (page) => {
      const more = async (item: string) => {
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: item }).click();
        await page.getByRole('dialog').getByRole('button', { name: item }).click();
      };
      await more('Disable');
      await page.getByRole('heading', { level: 1 }).locator('..').getByText('Disabled').waitFor();
      await more('Delete');
      await page.getByRole('dialog').getByText('Other entities depend on it').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
      await api('DELETE', `${base}/logical-devices/${logicalDevice['logicalDeviceId']}`);
      await more('Delete');
      await page.waitForURL('**/portal/stores');
      assert.equal((await api('GET', `${base}/stores/${storeId}`)).status, 404);
    });
  });

  // Spec: RIGHT-3
  test('a device is registered, moved to a logical device, and then to another merchant', async () => {
    const ownMerchant = await made('/merchants', merchantOf(`Mine ${randomUUID().slice(0, 6)}`));
    const sourceStore = await made('/stores', {
      merchantId: ownMerchant['merchantId'],
      name: 'Moving from',
    });
    const from = await made('/logical-devices', { storeId: sourceStore['storeId'], name: 'Bar' });
    const yours = await made('/merchants', merchantOf(`Yours ${randomUUID().slice(0, 6)}`));
    const targetStore = await made('/stores', {
      merchantId: yours['merchantId'],
      name: 'Moving to',
    });
    const to = await made('/logical-devices', { storeId: targetStore['storeId'], name: 'Terrace' });
    const { serialNumber } = hardware();
    await visitScreen('/portal/devices/new', async (page) => {
      for (const [label, text] of [
        ['Serial number', serialNumber],
        ['Manufacturer', 'AXIUM'],
        ['Model', 'DX8000'],
        ['Family', 'axium'],
      ] as const) {
        await page.getByRole('textbox', { name: label }).fill(text);
      }
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByText('In stock: not assigned to a store.').waitFor();
      for (const [store, deviceName] of [
        ['Moving from', 'Bar'],
        ['Moving to', 'Terrace'],
      ] as const) {
        await page.getByRole('button', { name: 'Move', exact: true }).click();
        const dialogue = page.getByRole('dialog');
        await field(dialogue, 'Store').fill(store);
        await page.getByRole('option', { name: store }).click();
        await field(dialogue, 'Logical device').click();
        await page.getByRole('option', { name: deviceName }).click();
        await dialogue.getByRole('button', { name: 'Move', exact: true }).dblclick();
        await page.getByRole('link', { name: deviceName }).waitFor();
      }
      const idsAt = async (id = '') =>
        (await api('GET', `${base}/logical-devices/${id}`)).body.physicalDeviceIds.length;
      assert.equal(await idsAt(from['logicalDeviceId']), 0);
      assert.equal(await idsAt(to['logicalDeviceId']), 1);
    });
  });

  /** Registers and keeps its connection open, as a terminal of the demo does. */
  async function connect(tsn: string): Promise<Line> {
    const { clientId, clientSecret } = facts.applications['cloud'] ?? {};
    const ca = await readFile(facts.caFile, 'utf8');
    const open = async (address: string, bearer?: string): Promise<Line> => {
      const headers = bearerHeaders(bearer);
      const socket = new WebSocket(address, { ca, headers });
      const line = lineOf(socket);
      await new Promise((resolve, reject) => {
        socket.once('open', resolve);
        socket.once('error', reject);
      });
      return line;
    };
    const address = `${facts.baseUrl.replace(/^http/, 'ws')}${connectorPaths.deviceListener}`;
    const listener = await open(address);
    listener.send({ type: 'register', tsn, client_id: clientId, client_secret: clientSecret });
    const registered = await listener.next();
    assert.ok(registered['connectionUrl'], JSON.stringify(registered));
    return open(registered['connectionUrl'], registered['token']);
  }

  // Spec: RIGHT-4
  test('the device list shows connections and disconnections live', async () => {
    const { tsn = '' } = facts.devices[0] ?? {};
    await visitScreen(`/portal/devices?q=${tsn}`, async (page) => {
      await page.getByText('1 row', { exact: true }).waitFor();
      const row = page.locator('.sy-table tbody tr').first();
      await row.getByText(/Never connected|Offline/).waitFor();
      const line = await connect(tsn);
      await row.getByText('Online').waitFor();
      line.close();
      await row.getByText('Offline').waitFor();
      await page.getByRole('link', { name: /^In stock/ }).click();
      await page.waitForURL((url) => url.searchParams.get('attention') === 'InStock');
    });
  });

  test('a point of sale shows its credentials once, and a rotated secret ends the old one', async () => {
    const { storeId } = facts.merchants[0]?.stores[0] ?? {};
    const name = `Till ${randomUUID().slice(0, 8)}`;
    await visitScreen(`/portal/points-of-sale/new?storeId=${storeId}`, async (page) => {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
      await page.getByRole('button', { name: 'Create' }).click();
      const dialogue = page.getByRole('dialog');
      await dialogue.getByText('Client secret').waitFor();
      const [clientId = '', secret = ''] = await dialogue.locator('.sy-mono').allInnerTexts();
      assert.ok(await client.token(facts.userDomainId, clientId, secret));
      await dialogue.getByRole('button').last().click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      assert.equal(await page.getByText(secret).count(), 0);
      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
      await dialogue.getByRole('button', { name: 'Rotate secret' }).click();
      await dialogue.getByText('Client secret').waitFor();
      const [, renewed = ''] = await dialogue.locator('.sy-mono').allInnerTexts();
      assert.notEqual(renewed, secret);
      await assert.rejects(client.token(facts.userDomainId, clientId, secret));
      assert.ok(await client.token(facts.userDomainId, clientId, renewed));
    });
  });

  // Spec: RIGHT-3
  test('an import file is checked, shows errors by line, is corrected and imported, and its results are downloaded', async () => {
    const suffix = randomUUID().slice(0, 8);
    const table = (country: string) =>
      [
        'type;externalId;merchantExternalId;storeExternalId;name;country;mcc;timeZone',
        `merchant;M-${suffix};;;Imported ${suffix};${country};5814;Europe/Paris`,
        `store;S-${suffix};M-${suffix};;"Rue de l’Été; left";;;`,
        `pointOfSale;P-${suffix};;S-${suffix};Till 1;;;`,
      ].join('\r\n');
    const file = (country: string) => ({
      name: `Estate ${suffix}.csv`,
      mimeType: 'text/csv',
      buffer: Buffer.from(table(country)),
    });
    await visitScreen('/portal/imports/new', async (page) => {
      const input = page.locator('input[type="file"]');
      await input.setInputFiles(file('Frankreich'));
      await page.getByText('They are sent as commas').waitFor();
      await page.getByRole('button', { name: 'Check', exact: true }).click();
      await page.getByText('Result of the check').waitFor();
      const answers = page.getByRole('table', { name: 'Results by line' });
      await answers.getByText('/country').waitFor();
      assert.equal(
        (await api('GET', `${base}/merchants?externalId=M-${suffix}`)).body.items.length,
        0,
      );
      await assertAccessible(page, 'an import that was tried');
      await input.setInputFiles(file('FR'));
      await page.getByRole('button', { name: 'Import', exact: true }).dblclick();
      await page.getByText('The import is complete').waitFor();
      await page.getByText('The results contain their secrets').waitFor();
      const coming = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download results' }).click();
      const saved = await readFile(await (await coming).path(), 'utf8');
      assert.match(saved, /created,pointOfSale,.*pos-/);
      assert.equal(saved.trimEnd().split('\r\n').length, 4);
      await page.getByRole('link', { name: 'Open the import' }).click();
      await page.waitForURL(`**/portal/imports/Estate-${suffix}-*`);
      await page.getByText('3 rows', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Imports' }).first().click();
      await page.getByText(`Estate-${suffix}`).first().waitFor();
    });
    const stores = await api('GET', `${base}/stores?externalId=S-${suffix}`);
    assert.equal(stores.body.items[0].name, 'Rue de l’Été; left');
  });

  test('an unreachable link shows its status, and a contract can use it', async () => {
    const name = `South ${randomUUID().slice(0, 8)}`;
    const [port] = await freePorts(1);
    const { merchantId } = await made('/merchants', merchantOf('With a contract'));
    await visitScreen('/portal/acquirers/new', async (page) => {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
      await field(page, 'Host').fill('127.0.0.1');
      await field(page, 'Port').fill('none');
      await field(page, 'Institution').fill('100009');
      await page.getByRole('switch', { name: 'Use TLS' }).click();
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('alert').first().waitFor();
      await field(page, 'Port').fill(String(port));
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.getByText('Not reachable').first().waitFor();
    });
    await visitScreen(`/portal/merchants/${merchantId}/contracts/new`, async (page) => {
      await choose(page, 'Acquirer link', name);
      await field(page, 'Acquirer’s merchant ID').fill('100000000000077');
      await field(page, 'First terminal ID').fill('ESTA0001');
      await field(page, 'Last terminal ID').fill('ESTA0099');
      await field(page, 'Currencies').fill('EUR');
      await field(page, 'Currencies').press('Enter');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { level: 1, name: '100000000000077' }).waitFor();
      await page.getByText('No routing rules').waitFor();
    });
  });

  // Spec: RIGHT-4
  test('a device fleet operator sees the devices without changes, a manager only the own merchant', async () => {
    const operator = await setup.signedIn('fleet');
    await visitScreen(
      '/portal/devices',
      async (page) => {
        await page.getByRole('link', { name: /^Online/ }).waitFor();
        assert.equal(await page.getByRole('link', { name: 'Register a device' }).count(), 0);
        await page.goto('/portal/imports');
        await page.getByText('No permission for this page').first().waitFor();
      },
      operator,
    );
    await operator.close();
    const manager = await setup.signedIn('manager');
    await visitScreen(
      '/portal/merchants',
      async (page) => {
        await page.getByText('1 row', { exact: true }).waitFor();
        assert.equal(await page.getByRole('link', { name: 'New merchant' }).count(), 0);
        assert.equal(await page.getByRole('link', { name: 'Acquirer links' }).count(), 0);
      },
      manager,
    );
    await usable('/portal/devices', manager);
    await manager.close();
  });

  test('a name with HTML code runs no script, and the page layout stays intact', async () => {
    const { merchantId } = await made('/merchants', merchantOf(hostileName));
    const { storeId } = await made('/stores', { merchantId, name: hostileName });
    for (const path of [
      `/portal/merchants?name=${encodeURIComponent('<img')}`,
      `/portal/merchants/${merchantId}`,
      `/portal/stores/${storeId}`,
      `/portal/merchants/${merchantId}?tab=stores`,
    ]) {
      await visitScreen(path, async (page) => {
        await page.getByText('<img src=x').first().waitFor();
        assert.notEqual(await page.title(), 'owned');
        await assertFits(page, path);
      });
    }
  });
});
