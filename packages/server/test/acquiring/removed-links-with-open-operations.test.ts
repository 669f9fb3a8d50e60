// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// A disabled or removed link accepts no sale, and completes its open operations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAcquirerRelay } from '../support/acquirers/acquirer-relay.ts';
import { assertProblem } from '../support/assert-problem-response.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { testPlatform } from '../support/test-platform.ts';
import { until } from '../support/wait-for-result.ts';

/** The host does not answer the first two reversals of this card. */
const silentCard = { card: { number: '4000000000004202', expiryMonth: 12, expiryYear: 2030 } };

const sell = (setup: TestOrganization, members: Record<string, unknown> = {}) =>
  setup.client.call('POST', '/payment/v1/transactions/process', {
    token: setup.merchant.token,
    body: keyedSale(members),
  });

const stateOf = async (setup: TestOrganization, id: string) => {
  const path = `/payment/v1/transactions/${id}`;
  return (await setup.client.call('GET', path, { token: setup.merchant.token })).body.state;
};

/** The availability for the organisation itself and for a till of the merchant. */
async function availableLinks(setup: TestOrganization): Promise<unknown[]> {
  const path = '/payment/v1/transactions/technical/isAvailable';
  const entity = { entityType: 'tenant', entityId: setup.organizationId } as const;
  const watcher = await setup.tokenFor({ name: 'watcher', ...entity, roles: ['MerchantReadOnly'] });
  const answers = [watcher, setup.merchant.token].map((each) =>
    setup.client.call('GET', path, { token: each }),
  );
  return (await Promise.all(answers)).map(({ body }) => body);
}

// Spec: CARD-49
test('a disabled and removed link stays open until its reversal has a response', async (t) => {
  const relay = await startAcquirerRelay((await testPlatform()).host.port);
  t.after(relay.close);
  const setup = await createTestOrganization({}, { acquirerPort: relay.port });
  const { acquirerLinks, acquirerContracts } = setup.platform.provisioning;
  const scope = { organizationId: setup.organizationId };
  const open = { available: true, offlineAdvised: false };
  const { view } = await acquirerLinks.get(scope, setup.linkId);
  const links = [{ name: view.name, available: true }];
  assert.deepEqual(await availableLinks(setup), [
    { ...open, links },
    { ...open, links },
  ]);
  const { body, text } = await sell(setup, { amount: 9091, instrument: silentCard });
  assert.equal(body.state, 'Reversing', text);
  // The relay holds the response until the test has checked the state.
  relay.holdResponses();

  const { name, host, port, tls, institutionId } = view;
  const disabled = { name, host, port, tls, institutionId, status: 'Disabled' };
  await acquirerLinks.replace(scope, setup.linkId, disabled);
  await setup.platform.openLinks();
  assertProblem(await sell(setup), { code: 'no_acquirer_for_merchant' });
  const unavailable = { available: false, offlineAdvised: true, links: [] };
  assert.deepEqual(
    await availableLinks(setup),
    [unavailable, unavailable],
    'it is open, and takes no sale',
  );
  for (const { contractId } of [setup.merchant, setup.otherMerchant]) {
    await acquirerContracts.remove(scope, contractId);
  }
  await acquirerLinks.remove(scope, setup.linkId);
  await setup.platform.openLinks();
  assert.equal(await stateOf(setup, body.transactionId), 'Reversing');
  relay.releaseResponses();

  const reversed = async () => (await stateOf(setup, body.transactionId)) === 'Reversed';
  await until(reversed, 'the reversal to be answered', 60_000);
  await setup.platform.openLinks();
  await until(() => relay.connections() === 0, 'the link to close');
});
