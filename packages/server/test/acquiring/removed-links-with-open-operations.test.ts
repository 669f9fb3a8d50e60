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

const sell = (on: TestOrganization, members: Record<string, unknown> = {}) =>
  on.client.call('POST', '/payment/v1/transactions/process', {
    token: on.merchant.token,
    body: keyedSale(members),
  });

const stateOf = async (on: TestOrganization, id: string) => {
  const path = `/payment/v1/transactions/${id}`;
  return (await on.client.call('GET', path, { token: on.merchant.token })).body.state;
};

/** The availability for the organisation itself and for a till of the merchant. */
async function availableTo(on: TestOrganization): Promise<unknown[]> {
  const path = '/payment/v1/transactions/technical/isAvailable';
  const entity = { entityType: 'tenant', entityId: on.organizationId } as const;
  const watcher = await on.tokenFor({ name: 'watcher', ...entity, roles: ['MerchantReadOnly'] });
  const answers = [watcher, on.merchant.token].map((each) =>
    on.client.call('GET', path, { token: each }),
  );
  return (await Promise.all(answers)).map(({ body }) => body);
}

test('a link that is disabled, then removed, stays until its reversal is answered', async (t) => {
  const tap = await startAcquirerRelay((await testPlatform()).host.port);
  t.after(tap.close);
  const on = await createTestOrganization({}, { acquirerPort: tap.port });
  const { acquirerLinks, acquirerContracts } = on.platform.provisioning;
  const scope = { organizationId: on.organizationId };
  const open = { available: true, offlineAdvised: false };
  const { view } = await acquirerLinks.get(scope, on.linkId);
  const links = [{ name: view.name, available: true }];
  assert.deepEqual(await availableTo(on), [
    { ...open, links },
    { ...open, links },
  ]);
  const { body, text } = await sell(on, { amount: 9091, instrument: silentCard });
  assert.equal(body.state, 'Reversing', text);
  // The relay holds the response until the test has checked the state.
  tap.holdResponses();

  const { name, host, port, tls, institutionId } = view;
  const disabled = { name, host, port, tls, institutionId, status: 'Disabled' };
  await acquirerLinks.replace(scope, on.linkId, disabled);
  await on.platform.openLinks();
  assertProblem(await sell(on), { code: 'no_acquirer_for_merchant' });
  const none = { available: false, offlineAdvised: true, links: [] };
  assert.deepEqual(await availableTo(on), [none, none], 'it is open, and takes no sale');
  for (const { contractId } of [on.merchant, on.otherMerchant]) {
    await acquirerContracts.remove(scope, contractId);
  }
  await acquirerLinks.remove(scope, on.linkId);
  await on.platform.openLinks();
  assert.equal(await stateOf(on, body.transactionId), 'Reversing');
  tap.releaseResponses();

  const reversed = async () => (await stateOf(on, body.transactionId)) === 'Reversed';
  await until(reversed, 'the reversal to be answered', 60_000);
  await on.platform.openLinks();
  await until(() => tap.connections() === 0, 'the link to close');
});
