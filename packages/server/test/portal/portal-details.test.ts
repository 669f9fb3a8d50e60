// Whole run: pages in a browser.
// Details of the portal in a real browser: lost responses, file links, long lists.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { waitForLink } from '../faults/load-during-faults.ts';
import { chromiumSkipReason } from '../support/browser/chromium.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { openPortal, type TestPortal } from './portal-in-chromium.ts';

const day = '2026-03-01';
/** Requests that a test sends in place of the page do not trust the certificate of the demo. */
const ownAnswers = { isTourOver: true, ignoreHTTPSErrors: true } as const;

describe('details of the portal', { skip: chromiumSkipReason }, () => {
  let setup: TestPortal;
  let admin: BrowserContext;
  let token: string;

  before(async () => {
    setup = await openPortal('portal-details');
    token = await setup.tokenOf('acquirer');
    admin = await setup.signedIn('admin', ownAnswers);
  });
  after(() => setup?.close());

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const call = (method: string, path: string, more: object = {}) =>
    setup.client.call(method, path, { token, ...more });

  // Spec: IDEM-13
  test('after a lost response, the second attempt registers no second application', async () => {
    const name = `Lost ${randomUUID().slice(0, 8)}`;
    await setup.visitScreen(admin, '/portal/applications/new', async (page) => {
      let lost = 0;
      await page.route('**/user-domains/*/applications', async (route) => {
        if (route.request().method() !== 'POST' || lost > 0) return route.continue();
        lost += 1;
        assert.equal((await route.fetch()).status(), 201);
        return route.abort('connectionreset');
      });
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
      await button(page, 'Register').click();
      await page.getByText('The platform does not respond', { exact: true }).waitFor();
      await button(page, 'Register').click();
      await page.getByText('Client secret', { exact: true }).waitFor();
      assert.equal(lost, 1);
    });
    const { userDomainId } = setup.facts;
    const path = `/application-management/v1/user-domains/${userDomainId}/applications`;
    const { body } = await call('GET', `${path}?limit=200`);
    const made = body.items.filter((each: { name: string }) => each.name === name);
    assert.equal(made.length, 1);
  });

  // Spec: REP-11
  test('the browser downloads an export itself', async () => {
    const merchant = await setup.tokenOf('merchant');
    await waitForLink(setup.client, merchant);
    const sale = await call('POST', '/payment/v1/transactions/process', {
      token: merchant,
      body: keyedSale(),
    });
    assert.equal(sale.status, 200, sale.text);
    await eventually('the payment is reported', async () => {
      const { body } = await call('GET', '/reporting/v1/transactions?limit=200');
      const ids = body.items.map((each: { transactionId: string }) => each.transactionId);
      return ids.includes(sale.body.transactionId);
    });
    const ordered = await call('POST', '/reporting/v1/exports', {
      body: { format: 'JsonLines', transactions: {} },
    });
    assert.equal(ordered.status, 202, ordered.text);
    const path = `/reporting/v1/exports/${ordered.body.exportId}`;
    await eventually('the export is written', async () => {
      return (await call('GET', path)).body.state === 'Completed';
    });
    await setup.visitScreen(admin, '/portal/exports', async (page) => {
      const begun = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download' }).first().click();
      const download = await begun;
      assert.equal(download.suggestedFilename(), ordered.body.fileName);
      const whole = await call('GET', `${path}/content`);
      assert.equal(await readFile(await download.path(), 'utf8'), whole.text);
      assert.match(whole.text, new RegExp(sale.body.transactionId));
    });
  });

  test('a finished export is reported as ready, because the download may fail', async () => {
    await setup.visitScreen(admin, '/portal/payments', async (page) => {
      const begun = page.waitForEvent('download');
      await button(page, 'Export').click();
      await page.getByRole('menuitem', { name: 'CSV' }).click();
      await button(page, 'Start the export').click();
      await page.getByText('The export is ready. If the download does not start, open').waitFor();
      assert.equal(await page.getByText(/keeps the file|saved|downloaded/i).count(), 0);
      const download = await begun;
      await download.cancel();
    });
  });

  // Spec: QRPROV-44
  test('the request log shows application requests, and page requests on demand', async () => {
    const { headers } = await call('GET', '/provisioning/v2/stores');
    await eventually('the request is kept', async () => {
      const query = `?requestId=${headers['x-request-id']}`;
      return (await call('GET', `/logs/v1/requests${query}`)).body.items.length === 1;
    });
    await setup.visitScreen(admin, '/portal/logs', async (page) => {
      await page.getByText('/provisioning/v2/stores').first().waitFor();
      assert.equal(await page.getByText('switchyard-portal').count(), 0);
      await page.getByRole('combobox', { name: 'Source' }).click();
      await page.getByRole('option', { name: 'Portal pages' }).click();
      await page.waitForURL('**/portal/logs?source=Portal');
      await page.getByText('switchyard-portal').first().waitFor();
    });
    const ofPage = (await call('GET', '/logs/v1/requests?source=Portal')).body.items[0];
    for (const query of [`requestId=${ofPage.requestId}`, 'clientId=switchyard-portal']) {
      await setup.visitScreen(admin, `/portal/logs?${query}`, async (page) => {
        await page.getByText('switchyard-portal').first().waitFor();
      });
    }
    const all = (await call('GET', '/logs/v1/requests?limit=200')).body.items;
    for (const { source, clientId } of all) {
      assert.equal(source, clientId === 'switchyard-portal' ? 'Portal' : 'Api');
    }
    for (const source of ['Api', 'Portal']) {
      const { items } = (await call('GET', `/logs/v1/requests?source=${source}`)).body;
      assert.ok(items.length > 0);
      assert.ok(items.every((each: { source: string }) => each.source === source));
    }
  });

  test('reconciliations and imports are accessible, wide and narrow, light and dark', async () => {
    const link = (await call('GET', '/provisioning/v2/acquirer-links')).body.items[0]
      .acquirerLinkId;
    const head =
      'type,acquirerMerchantId,retrievalReferenceNumber,terminalId,amount,currency,settlementDate';
    const sent = await call(
      'POST',
      `/reporting/v1/reconciliations?acquirerLinkId=${link}&from=${day}&to=${day}`,
      {
        raw: `${head}\nCapture,M1,606012000017,10000001,1250,EUR,${day}\n`,
        headers: { 'content-type': 'text/csv' },
      },
    );
    assert.equal(sent.status, 202, sent.text);
    const { reconciliationId } = sent.body;
    await eventually('the file is compared', async () => {
      const path = `/reporting/v1/reconciliations/${reconciliationId}`;
      return (await call('GET', path)).body.state === 'Completed';
    });
    await setup.usable(admin, `/portal/reconciliations/${reconciliationId}`, async (page) => {
      await page.getByText('606012000017').waitFor();
    });
    const bulkId = `details-${randomUUID()}`;
    const merchant = {
      externalId: bulkId.slice(0, 30),
      name: 'Lumière',
      country: 'FR',
      mcc: '5814',
    };
    const lines = [
      { type: 'merchant', data: { ...merchant, timeZone: 'Europe/Paris' } },
      { type: 'store', data: { merchantExternalId: 'none', externalId: 'S1', name: 'Canal' } },
    ];
    const imported = await call('POST', `/provisioning/v2/bulk?bulkId=${bulkId}`, {
      raw: lines.map((line) => JSON.stringify(line)).join('\n'),
      headers: { 'content-type': 'application/jsonl' },
    });
    assert.equal(imported.status, 200, imported.text);
    await setup.usable(admin, `/portal/imports/${bulkId}`);
  });

  test('a user of a merchant pages through a long catalogue', async () => {
    const manager = await setup.signedIn('manager', ownAnswers);
    await setup.visitScreen(manager, '/portal/', async (page) => {
      const requestedUrls = new Set<string>();
      await page.route('**/service-catalog/v1/services?*', async (route) => {
        const headers = { ...route.request().headers(), 'sec-fetch-site': 'same-origin' };
        const answer = await route.fetch({ headers });
        const [first] = (await answer.json()).items;
        const items = Array.from({ length: 45 }, (_, at) => ({
          ...first,
          serviceId: randomUUID(),
          name: `Service ${String(at).padStart(2, '0')}`,
        }));
        await route.fulfill({ response: answer, json: { items, nextCursor: null } });
      });
      await page.route('**/service-catalog/v1/services/*/states?*', async (route) => {
        requestedUrls.add(route.request().url());
        await route.fulfill({ json: { items: [], nextCursor: null, above: [] } });
      });
      const cards = page.locator('.sy-service-card');
      await page.evaluate(`history.pushState({}, '', '/portal/services')`);
      await page.getByRole('link', { name: 'Service 39' }).waitFor();
      await eventually('the whole page is requested', () => requestedUrls.size >= 40);
      assert.deepEqual([await cards.count(), requestedUrls.size], [40, 40]);
      await button(page, 'Show more services').click();
      await page.waitForURL('**/portal/services?pages=2');
      await page.getByRole('link', { name: 'Service 44' }).waitFor();
      await eventually('the rest is requested', async () => requestedUrls.size === 45);
      assert.equal(await cards.count(), 45);
      assert.equal(await button(page, 'Show more services').count(), 0);
      await page.getByRole('searchbox').fill('Service 44');
      await page.getByRole('link', { name: 'Service 43' }).waitFor({ state: 'detached' });
      assert.equal(await cards.count(), 1);
      assert.equal(new URL(page.url()).search, '?text=Service+44');
    });
    await manager.close();
  });

  test('an inherited boolean has three choices, and the request contains the chosen one', async () => {
    const store = setup.facts.merchants[0]?.stores[0]?.storeId ?? '';
    const services = `/configuration/v1/stores/${store}/services`;
    const [{ serviceId }] = (await call('GET', services)).body.items;
    const name = 'printsLogo';
    const sent: (boolean | undefined)[] = [];
    const query = new URLSearchParams({ level: 'stores', entityId: store, serviceId, tab: 'own' });
    const schema = `**/service-catalog/v1/services/${serviceId}`;
    await admin.route(schema, async (route) => {
      const headers = { ...route.request().headers(), 'sec-fetch-site': 'same-origin' };
      const answer = await route.fetch({ headers });
      const service = await answer.json();
      const parameterSchema = { type: 'object', properties: { [name]: { type: 'boolean' } } };
      await route.fulfill({ response: answer, json: { ...service, parameterSchema } });
    });
    await setup.usable(admin, `/portal/configuration?${query}`, async (page) => {
      await page.route(`**${services}/${serviceId}`, async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        sent.push(route.request().postDataJSON().values[name]);
        return route.fulfill({ status: 503, json: { code: 'overloaded', title: 'Busy' } });
      });
      const ways = page.getByRole('radiogroup', { name: 'Prints logo' });
      assert.equal(await ways.getByRole('radio', { name: 'Inherit' }).isChecked(), true);
      for (const way of ['Yes', 'No', 'Inherit']) {
        const before = sent.length;
        await ways.getByRole('radio', { name: way }).check();
        await button(page, 'Save').click();
        await eventually('it is sent', async () => sent.length > before);
      }
    });
    assert.deepEqual(sent, [true, false, undefined]);
    await admin.unroute(schema);
  });
});
