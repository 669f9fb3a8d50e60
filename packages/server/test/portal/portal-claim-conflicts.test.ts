// Whole run: pages in a browser.
// The operator settles conflicts about terminals in the portal, on the platform as users start it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { ClaimConflict } from '@switchyard/contract';
import type { BrowserContext } from 'playwright-core';
import { chromiumSkipReason } from '../support/browser/chromium.ts';
import { createClient } from '../support/https-client.ts';
import { createCertificateRequest } from '../support/provisioning/test-devices.ts';
import { merchantBody } from '../support/provisioning/test-provisioning.ts';
import { openPortal, type TestPortal, wide } from './portal-in-chromium.ts';

const base = '/provisioning/v2';
const claimCode = 'K7QM-2F9X';
const path = '/portal/claim-conflicts';

describe('the page of terminal conflicts', { skip: chromiumSkipReason }, () => {
  let setup: TestPortal;
  let admin: BrowserContext;
  let token: string;

  before(async () => {
    setup = await openPortal('portal-claim-conflicts');
    token = await tokenOfSecondOrganization();
    admin = await setup.signedIn('admin', { isTourOver: true });
  });
  after(() => setup?.close());

  async function tokenOfSecondOrganization(): Promise<string> {
    const { client } = setup;
    token = await setup.tokenOf('acquirer');
    const userDomainId = `s${randomUUID().slice(0, 13)}`;
    const second = { name: 'Second acquirer', userDomainId };
    const { organizationId } = await made(`${base}/organizations`, second);
    const applications = `/application-management/v1/user-domains/${userDomainId}/applications`;
    const { clientId, clientSecret } = await made(
      `${applications}?organizationId=${organizationId}`,
      {
        name: 'Operations',
        roles: ['AcquirerAdministrator'],
        securityFlows: ['ClientCredentials'],
        entityId: organizationId,
      },
    );
    return client.token(userDomainId, clientId, clientSecret);
  }

  async function made(at: string, body: object, method = 'POST') {
    const answer = await setup.client.call(method, at, { token, body });
    assert.ok(answer.status < 300, `${at}: ${answer.text}`);
    return answer.body;
  }

  /** A second organisation proves by a code that it has a terminal that the demo has claimed. */
  async function openConflict(tsn: string): Promise<{ physicalDeviceId: string }> {
    const family = setup.facts.devices.find((each) => each.tsn === tsn)?.family;
    const [, make, model, serialNumber] = /^([^_]+)_([^-]+)-(.+)$/.exec(tsn) ?? [];
    const { merchantId } = await made(`${base}/merchants`, merchantBody(`Shop of ${tsn}`));
    const { storeId } = await made(`${base}/stores`, { merchantId, name: 'S' });
    const till = { storeId, name: 'Till' };
    const { logicalDeviceId } = await made(`${base}/logical-devices`, till);
    const hardware = { serialNumber, make, model, family, merchantId };
    const { physicalDeviceId } = await made(`${base}/physical-devices`, hardware);
    const links = `${base}/logical-devices/${logicalDeviceId}/physical-devices`;
    await made(links, { physicalDeviceIds: [physicalDeviceId] }, 'PUT');
    const { key, csr } = await createCertificateRequest();
    const device = `${base}/physical-devices/${physicalDeviceId}`;
    const certificateInput = { certificateRequest: csr };
    const { certificateChain: cert } = await made(`${device}/certificates`, certificateInput);
    const { deviceAuthUrl, caFile } = setup.facts;
    const terminal = createClient(deviceAuthUrl, await readFile(caFile, 'utf8'), { cert, key });
    const sent = await terminal.call('POST', '/oauth2-mtls/v1/claims', { body: { claimCode } });
    terminal.close();
    assert.deepEqual(sent.body, { claimStatus: 'Unclaimed' }, sent.text);
    const entered = await setup.client.call('POST', `${device}/claim`, {
      token,
      body: { claimCode },
    });
    assert.equal(entered.body.code, 'claim_code_invalid', entered.text);
    return { physicalDeviceId };
  }

  const tsnAt = (at: number): string =>
    setup.facts.devices[at]?.tsn ?? assert.fail(`the demo has no device ${at}`);

  async function claimStatusOf({ physicalDeviceId }: { physicalDeviceId: string }) {
    const at = `${base}/physical-devices/${physicalDeviceId}`;
    return (await setup.client.call('GET', at, { token })).body.claimStatus;
  }

  // Spec: PROV-12 RIGHT-16
  test('the operator decides once, and both decisions take effect', async () => {
    const rejectedClaim = await openConflict(tsnAt(0));
    const releasedClaim = await openConflict(tsnAt(1));
    await setup.visitScreen(admin, path, async (page) => {
      for (const [tsn, label, state] of [
        [tsnAt(0), / keeps the terminal$/, 'Holder keeps the terminal'],
        [tsnAt(1), /^Second acquirer gets the terminal$/, 'Second organisation gets the terminal'],
      ] as const) {
        await page.getByRole('button', { name: `Decide on ${tsn}` }).click();
        const dialogue = page.getByRole('dialog', { name: `Decide on ${tsn}` });
        await dialogue.getByText('Second acquirer (claim code)').waitFor();
        const save = dialogue.getByRole('button', { name: 'Save the decision' });
        assert.equal(await save.isDisabled(), true, 'no decision is the default');
        await dialogue.getByRole('radio', { name: label }).check();
        await save.dblclick();
        await dialogue.waitFor({ state: 'detached' });
        const row = page.getByRole('row').filter({ hasText: tsn });
        await row.getByText(state).waitFor();
        assert.equal(await row.getByRole('button').count(), 0, 'a decision is final');
      }
    });
    assert.deepEqual(
      [await claimStatusOf(rejectedClaim), await claimStatusOf(releasedClaim)],
      ['Unclaimed', 'Claimed'],
    );
    await setup.visitScreen(admin, `${path}?status=Open`, async (page) => {
      await page.getByText('No conflicts').waitFor();
    });
  });

  test('a decision on an already decided conflict shows an error', async () => {
    const { client } = setup;
    await openConflict(tsnAt(2));
    const answer = await client.call('GET', `${base}/claim-conflicts?status=Open`, {
      token: await setup.tokenOf('operator'),
    });
    const [conflict] = answer.body.items as ClaimConflict[];
    assert.equal(conflict?.tsn, tsnAt(2), answer.text);
    await setup.visitScreen(admin, path, async (page) => {
      await page.getByRole('button', { name: `Decide on ${tsnAt(2)}` }).click();
      const dialogue = page.getByRole('dialog');
      const settle = `${base}/claim-conflicts/${conflict?.conflictId}/settle`;
      await client.call('POST', settle, {
        token: await setup.tokenOf('operator'),
        body: { decision: 'KeepHolder' },
      });
      await dialogue.getByRole('radio', { name: /^Second acquirer gets/ }).check();
      await dialogue.getByRole('button', { name: 'Save the decision' }).click();
      await dialogue.getByRole('alert').waitFor();
    });
  });

  test('the page and its dialog are accessible', async () => {
    const physicalDevice = await openConflict(tsnAt(3));
    await setup.usable(admin, path);
    await setup.usable(admin, path, async (page) => {
      await page.setViewportSize(wide);
      await page.getByRole('button', { name: /^Decide on/ }).click();
      await page.getByRole('dialog').getByRole('radio').first().waitFor();
    });
    assert.equal(await claimStatusOf(physicalDevice), 'Unclaimed');
  });
});
