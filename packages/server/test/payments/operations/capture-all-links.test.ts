// A batch capture over two acquirer links: a link that is down delays only its own items.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAcquirerRelay } from '../../support/acquirers/acquirer-relay.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { testPlatform } from '../../support/test-platform.ts';
import { until } from '../../support/wait-for-result.ts';
import { assertAgreement } from '../ledger/ledger-invariants.ts';

const base = '/payment/v1/transactions';
const each = 40;

async function sell(setup: TestOrganization): Promise<string[]> {
  const sales = Array.from({ length: each }, async () => {
    const body = keyedSale({ amount: 700, captureMode: 'Deferred' });
    const answer = await setup.client.call('POST', `${base}/process`, {
      token: setup.merchant.token,
      body,
    });
    assert.equal(answer.body.state, 'Authorized', answer.text);
    return answer.body.transactionId as string;
  });
  return Promise.all(sales);
}

/** Waits until this number of links of the organisation is available. */
function waitForOpenLinks(setup: TestOrganization, count: number): Promise<true> {
  return until(async () => {
    const path = '/payment/v1/acquirer-links';
    const { body } = await setup.client.call('GET', path, { token: setup.acquirerToken });
    const open = body.items.filter(({ available }: { available: boolean }) => available);
    return open.length === count || undefined;
  }, `${count} open links`);
}

/** Moves the merchant's sales to another link and disables the contract of the first one. */
async function moveLinkTo(setup: TestOrganization, port: number): Promise<void> {
  const { platform, merchant, organizationId, client, acquirerToken } = setup;
  const scope = { organizationId };
  const link = await platform.provisioning.acquirerLinks.create(scope, {
    name: 'the other one',
    host: '127.0.0.1',
    port,
    tls: false,
    institutionId: '654321',
  });
  await platform.openLinks();
  const contracts = `/provisioning/v2/merchants/${merchant.merchantId}/acquirer-contracts`;
  const path = `${contracts}/${merchant.contractId}`;
  const { body: first } = await client.call('GET', path, { token: acquirerToken });
  const disableResponse = await client.call('PUT', path, {
    token: acquirerToken,
    body: { ...first, status: 'Disabled' },
  });
  assert.equal(disableResponse.status, 200, disableResponse.text);
  const readOnlyMembers = [
    'contractId',
    'organizationId',
    'merchantId',
    'createdAt',
    'updatedAt',
    'version',
  ];
  const terms = Object.entries(first).filter(([name]) => !readOnlyMembers.includes(name));
  const made = await client.call('POST', contracts, {
    token: acquirerToken,
    body: {
      ...Object.fromEntries(terms),
      // Both links lead to one host, which distinguishes terminals by the merchant number.
      acquirerMerchantId: `N${merchant.merchantNumber.slice(1)}`,
      acquirerLink: link.view.acquirerLinkId,
    },
  });
  assert.equal(made.status, 201, made.text);
  await waitForOpenLinks(setup, 2);
}

// Spec: CARD-41
test('an unavailable acquirer delays only its own items', async (t) => {
  const { host } = await testPlatform();
  const relay = await startAcquirerRelay(host.port);
  t.after(relay.close);
  const setup = await createTestOrganization({}, { acquirerPort: relay.port });
  const first = await sell(setup);
  await moveLinkTo(setup, host.port);
  const second = await sell(setup);
  await relay.close();
  await waitForOpenLinks(setup, 1);

  const batch = await setup.client.call('POST', `${base}/captureall`, {
    token: setup.merchant.token,
    body: {},
  });
  assert.equal(batch.status, 202, batch.text);
  const path = `${base}/captureall/${batch.body.batchId}?limit=200`;
  const readBatch = async () =>
    (await setup.client.call('GET', path, { token: setup.merchant.token })).body;
  const half = await until(async () => {
    const now = await readBatch();
    return now.succeeded === each ? now : undefined;
  }, 'the captures of the other link');
  assert.equal(half.state, 'Running');
  const statuses = new Map<string, string>(
    half.items.map((item: Record<string, string>) => [item['transactionId'], item['status']]),
  );
  assert.ok(second.every((id) => statuses.get(id) === 'Succeeded'));
  assert.ok(first.every((id) => statuses.get(id) === 'Pending'));

  await relay.startListening();
  const done = await until(
    async () => {
      const now = await readBatch();
      return now.state === 'Completed' ? now : undefined;
    },
    'the rest',
    60_000,
  );
  assert.deepEqual([done.succeeded, done.failed], [2 * each, 0]);
  await assertAgreement(setup);
});
